package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"piworkflows/clock"
	"piworkflows/workflow"
)

const (
	// leastLabel is how much of a label is shown at least, in cells.
	leastLabel = 16
	// maxReport bounds a report, in characters.
	maxReport = 4000
	// overall is the key of the track that stands for all of them.
	overall = "overall"
)

// ProgressLine tells on one line where a track stands and, while its run goes on,
// when it will be done. The label gives way if the line would be too long.
func ProgressLine(t Track, now time.Time, running bool, s Style) string {
	parts := progressParts(t, now, running)
	rest := strings.Join(parts, " · ")
	label := Plain(cmp.Or(t.last().Label, t.Key))
	if rest == "" {
		return s.fit(label, s.width())
	}
	rest = " · " + rest
	label = s.fit(label, max(s.width()-Width(rest), leastLabel))
	return s.fit(label+rest, s.width())
}

// progressParts are what follows the label.
func progressParts(t Track, now time.Time, running bool) []string {
	last, e := t.last(), t.Estimate(now)
	parts := []string{count(last)}
	if last.Completed != nil && last.Status.Over() {
		parts = append(parts, string(last.Status))
	}
	if phase := Plain(last.Phase); phase != "" {
		parts = append(parts, phase)
		if running {
			parts = append(parts, "elapsed "+roundedUp(e.Elapsed))
		}
	}
	if eta := e.text(now, last); eta != "" && running {
		parts = append(parts, eta)
	}
	return parts
}

// count is how much is completed, or the status of what counts nothing.
func count(s Sample) string {
	switch unit := Plain(s.Unit); {
	case s.Completed != nil && s.Total != nil:
		return number(*s.Completed) + "/" + number(*s.Total) + " " + unit
	case s.Completed != nil:
		return number(*s.Completed) + " " + unit
	default:
		return string(s.Status)
	}
}

// text is the estimate for people; empty if the track is over.
func (e *Estimate) text(now time.Time, last Sample) string {
	switch {
	case last.Status.Over():
		return ""
	case !e.SourceFinishAt.IsZero():
		return "source ETA " + roundedUp(e.SourceFinishAt.Sub(now))
	case e.Known && e.High-e.Low >= time.Second:
		return "ETA " + roundedUp(e.Low) + "–" + roundedUp(e.High)
	case e.Known:
		return "ETA " + roundedUp(e.Median)
	case last.Phase == "":
		return "ETA unavailable (" + e.Reason + ")"
	default:
		return ""
	}
}

// ProgressReport tells where all tracks stand, the ones that need somebody
// first, in at most 4,000 characters. What does not fit is counted. The time of
// the next look is told unless it is zero.
func ProgressReport(tracks []Track, now, next time.Time) string {
	sorted := byUrgency(tracks)
	tail := ""
	if !next.IsZero() {
		tail = "next check at " + clock.Format(next) + "\n"
	}
	var b strings.Builder
	for i, t := range sorted {
		line := ProgressLine(t, now, true, Style{}) + "\n"
		left := len(sorted) - i
		if utf8.RuneCountInString(b.String()+line+omitted(left-1)+tail) > maxReport {
			b.WriteString(omitted(left))
			break
		}
		b.WriteString(line)
	}
	return b.String() + tail
}

// omitted counts the tracks that do not fit.
func omitted(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("… and %d more\n", n)
}

// byUrgency returns the tracks with those first that need somebody.
func byUrgency(tracks []Track) []Track {
	sorted := slices.Clone(tracks)
	slices.SortStableFunc(sorted, func(a, b Track) int { return cmp.Compare(urgency(a), urgency(b)) })
	return sorted
}

// urgency is how early a track is shown.
func urgency(t Track) int {
	switch status := t.last().Status; {
	case t.Key == overall:
		return 0
	case status == workflow.ProgressFailed || status == workflow.ProgressBlocked:
		return 1
	case status == workflow.ProgressWaiting:
		return 2
	default:
		return 3
	}
}

// roundedUp writes a time that is still to come, rounded up so that nobody waits
// longer than he is told: seconds, minutes, hours with one decimal below ten, days
// with one decimal.
func roundedUp(d time.Duration) string {
	seconds := int64(math.Ceil(max(0, d).Seconds()))
	minutes := (seconds + 59) / 60
	hours := float64(seconds) / 3600
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case minutes < 60:
		return fmt.Sprintf("%dm", minutes)
	case hours < 9.95:
		return fmt.Sprintf("%.1fh", hours)
	case hours < 23.5:
		return fmt.Sprintf("%.0fh", hours)
	default:
		return fmt.Sprintf("%.1fd", hours/24)
	}
}

// number writes a count with a comma at each thousand and at most two decimals.
func number(n float64) string {
	text := strconv.FormatFloat(n, 'f', 2, 64)
	whole, decimals, _ := strings.Cut(text, ".")
	for at := len(whole) - 3; at > 0 && whole[at-1] != '-'; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if decimals = strings.TrimRight(decimals, "0"); decimals != "" {
		return whole + "." + decimals
	}
	return whole
}

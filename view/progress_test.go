package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"piworkflows/runbundle"
	"piworkflows/view"
	"piworkflows/workflow"
)

// published is the event of an update, at its number in seconds.
func published(t *testing.T, seq int64, u workflow.Update) runbundle.Event {
	t.Helper()
	payload, err := json.Marshal(runbundle.UpdatePublished{UpdateID: fmt.Sprint("upd_", seq), Kind: u.Type, Key: u.Key, Data: u.Data})
	if err != nil {
		t.Fatal(err)
	}
	return runbundle.Event{
		Seq: seq, At: runbundle.At(start.Add(time.Duration(seq) * time.Second)), RunID: "r", Type: runbundle.EventUpdatePublished,
		NodeID: "a", AttemptID: "x", Payload: payload,
	}
}

func counted(t *testing.T, seq int64, key string, completed float64) runbundle.Event {
	t.Helper()
	u, err := workflow.Progress{Status: workflow.ProgressRunning, Completed: &completed, Unit: "files"}.Update(key)
	if err != nil {
		t.Fatal(err)
	}
	return published(t, seq, u)
}

// told writes tracks as key, first time and completed.
func told(tracks *view.Tracks) []string {
	var list []string
	for _, track := range tracks.List() {
		var counts []float64
		for _, s := range track.Samples {
			counts = append(counts, *s.Completed)
		}
		list = append(list, fmt.Sprintf("%s since %d: %v", track.Key, int(track.Since.Sub(start).Seconds()), counts))
	}
	return list
}

func TestTracks(t *testing.T) {
	t.Parallel()
	var tracks view.Tracks
	for seq := range int64(12) {
		tracks.Add(counted(t, seq, "a", float64(seq)))
	}
	tracks.Add(counted(t, 12, "b", 1))
	tracks.Add(published(t, 13, workflow.Update{Type: "note", Key: "a", Data: json.RawMessage(`{}`)}))
	tracks.Add(published(t, 14, workflow.Update{Type: "progress", Key: "a", Data: json.RawMessage(`{"status":"on"}`)}))
	tracks.Add(runbundle.Event{Type: runbundle.EventUpdatePublished, Payload: json.RawMessage(`[]`)})
	tracks.Add(runbundle.Event{Type: runbundle.EventNodeStarted, Payload: json.RawMessage(`{}`)})
	want := []string{"a since 0: [3 4 5 6 7 8 9 10 11]", "b since 12: [1]"}
	if diff := cmp.Diff(want, told(&tracks)); diff != "" {
		t.Error(diff)
	}
	if _, found := tracks.Track("c"); found {
		t.Error("a track that nobody published")
	}
	if track, found := tracks.Track("b"); !found || track.Key != "b" || len(track.Samples) != 1 {
		t.Errorf("%+v", track)
	}
}

func TestTracksAreBounded(t *testing.T) {
	t.Parallel()
	var tracks view.Tracks
	for seq := range int64(1000) {
		tracks.Add(counted(t, seq, fmt.Sprint("k", seq%600), float64(seq)))
	}
	list := tracks.List()
	kept := 0
	for _, track := range list {
		kept += len(track.Samples)
		for _, s := range track.Samples {
			if *s.Completed < 1000-576 {
				t.Errorf("%s keeps %v", track.Key, *s.Completed)
			}
		}
	}
	if kept != 576 || len(list) != 576 {
		t.Errorf("%d samples of %d tracks", kept, len(list))
	}
}

func TestProgressLine(t *testing.T) {
	t.Parallel()
	labelled := func(track view.Track, label string) view.Track {
		return last(track, func(s *view.Sample) { s.Label = label })
	}
	tests := []struct {
		name    string
		track   view.Track
		now     int
		running bool
		want    string
	}{
		{"count and ETA", labelled(paced(1, 2, 3), "Tests"), 30, true, "Tests · 60/100 files · ETA 16s–27s"},
		{"no label", paced(1, 1, 1, 1, 1), 60, true, "k · 50/100 files · ETA 50s"},
		{"run is over", paced(1, 2, 3), 30, false, "k · 60/100 files"},
		{"phase", last(paced(1), func(s *view.Sample) { s.Phase = "unit" }), 95, true, "k · 10/100 files · unit · elapsed 2m"},
		{"phase and run is over", last(paced(1), func(s *view.Sample) { s.Phase = "unit" }), 95, false, "k · 10/100 files · unit"},
		{"no estimate", paced(), 0, true, "k · 0/100 files · ETA unavailable (needs another progress sample)"},
		{"no total", last(paced(), func(s *view.Sample) { s.Total = nil }), 0, true, "k · 0 files · ETA unavailable (total is unknown)"},
		{"status alone", last(paced(), func(s *view.Sample) { s.Total, s.Completed = nil, nil }), 0, true, "k · running · ETA unavailable (total is unknown)"},
		{"failed", last(paced(1), func(s *view.Sample) { s.Status = workflow.ProgressFailed }), 10, true, "k · 10/100 files · failed"},
		{"failed without count", last(paced(), func(s *view.Sample) { s.Status, s.Completed = workflow.ProgressFailed, nil }), 10, true, "k · failed"},
		{
			"source", last(paced(1), func(s *view.Sample) { s.SourceEstimatedFinishAt = start.Add(5 * time.Minute) }), 10, true,
			"k · 10/100 files · source ETA 5m",
		},
		{
			"source of a phase", last(paced(1), func(s *view.Sample) {
				s.Phase, s.SourceEstimatedFinishAt = "unit", start.Add(5*time.Hour)
			}), 10, true, "k · 10/100 files · unit · elapsed 10s · source ETA 5.0h",
		},
		{
			"large numbers", last(paced(), func(s *view.Sample) { *s.Completed, *s.Total = 1234567.891, 2000000 }), 0, false,
			"k · 1,234,567.89/2,000,000 files",
		},
		{
			"what commands a terminal", last(paced(), func(s *view.Sample) { s.Label, s.Unit = "\x1b[31mred\x1b[0m", "a\nb" }), 0, false,
			"red · 0/100 a b",
		},
		{
			"the label gives way", labelled(paced(1, 2, 3), strings.Repeat("abcde ", 30)), 30, true,
			strings.Repeat("abcde ", 8) + "ab… · 60/100 files · ETA 16s–27s",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := view.ProgressLine(test.track, start.Add(time.Duration(test.now)*time.Second), test.running, view.Style{})
			if got != test.want {
				t.Errorf("\n%q, want\n%q", got, test.want)
			}
			if view.Width(got) > 80 {
				t.Errorf("%d cells", view.Width(got))
			}
		})
	}
}

func TestProgressLineFits(t *testing.T) {
	t.Parallel()
	track := last(paced(1, 2, 3), func(s *view.Sample) {
		s.Label, s.Phase, s.Unit = strings.Repeat("界", 200), strings.Repeat("p", 128), strings.Repeat("u", 32)
	})
	for _, width := range []int{0, 20, 40, 100} {
		got := view.ProgressLine(track, start, true, view.Style{Width: width})
		if width == 0 {
			width = 80
		}
		if view.Width(got) > width {
			t.Errorf("%d cells of %d: %s", view.Width(got), width, got)
		}
	}
}

func TestTimesToCome(t *testing.T) {
	t.Parallel()
	tests := map[time.Duration]string{
		0: "0s", time.Millisecond: "1s", time.Second: "1s", 1001 * time.Millisecond: "2s", 59 * time.Second: "59s",
		59*time.Second + 1: "1m", 60 * time.Second: "1m", 61 * time.Second: "2m", 59 * time.Minute: "59m", 59*time.Minute + 1: "1.0h",
		90 * time.Minute: "1.5h", 9*time.Hour + 56*time.Minute: "9.9h", 9*time.Hour + 57*time.Minute: "10h", 23 * time.Hour: "23h",
		23*time.Hour + 30*time.Minute: "1.0d", 36 * time.Hour: "1.5d", 1000 * 24 * time.Hour: "1000.0d", -time.Second: "0s",
	}
	for d, want := range tests {
		track := last(paced(), func(s *view.Sample) { s.Phase, s.SourceEstimatedFinishAt = "p", start.Add(d) })
		track.Since = start.Add(-max(d, 0))
		got := view.ProgressLine(track, start, true, view.Style{})
		if wanted := "k · 0/100 files · p · elapsed " + want; !strings.HasPrefix(got, wanted) {
			t.Errorf("%s: %q, want %q", d, got, wanted)
		}
	}
}

func TestProgressReport(t *testing.T) {
	t.Parallel()
	track := func(key string, status workflow.ProgressStatus) view.Track {
		s := last(paced(), func(s *view.Sample) { s.Status, s.Completed, s.Total = status, nil, nil })
		s.Key = key
		return s
	}
	got := view.ProgressReport([]view.Track{
		track("a", workflow.ProgressRunning), track("b", workflow.ProgressWaiting), track("c", workflow.ProgressBlocked),
		track("overall", workflow.ProgressCompleted), track("d", workflow.ProgressFailed), track("e", workflow.ProgressPending),
	}, start, start.Add(time.Minute))
	want := `overall · completed
c · blocked · ETA unavailable (progress is blocked)
d · failed
b · waiting · ETA unavailable (progress is waiting)
a · running · ETA unavailable (total is unknown)
e · pending · ETA unavailable (total is unknown)
next check at 2027-01-05T08:16:00.000Z
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := view.ProgressReport(nil, start, time.Time{}); got != "" {
		t.Errorf("nothing: %q", got)
	}
}

func TestProgressReportIsBounded(t *testing.T) {
	t.Parallel()
	var tracks []view.Track
	for i := range 500 {
		track := paced(1)
		track.Key = fmt.Sprintf("k%03d", i)
		tracks = append(tracks, track)
	}
	got := view.ProgressReport(tracks, start, start)
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	shown := len(lines) - 2
	if n := utf8.RuneCountInString(got); n > 4000 || n < 3900 || lines[shown] != fmt.Sprintf("… and %d more", 500-shown) {
		t.Errorf("%d characters, %d lines, then %q", n, shown, lines[shown:])
	}
}

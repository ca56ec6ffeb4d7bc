package view

import (
	"math"
	"slices"
	"time"

	"piworkflows/workflow"
)

// maxIntervals bounds the intervals from which a rate is taken: work changes its
// pace.
const maxIntervals = maxSamples - 1

// Confidence says how much the pace of a track varied.
type Confidence string

// The confidences of an estimate.
const (
	ConfidenceLow    Confidence = "low"
	ConfidenceMedium Confidence = "medium"
	ConfidenceHigh   Confidence = "high"
)

// Estimate is when a track will be done.
//
// Spec: workflow engine, Tracks, history and estimates.
type Estimate struct {
	// Elapsed is the time since the track was first heard of, until now or, if it
	// is over, until it was last heard of.
	Elapsed time.Duration
	// SourceFinishAt is the estimate of the source itself; zero if it has none that
	// still means something. It is better than ours.
	SourceFinishAt time.Time
	// Known says that Median, Low, Confidence, Intervals and Delta are set. High is
	// zero if no pace is slow enough to bound it.
	Known             bool
	Median, Low, High time.Duration
	Confidence        Confidence
	// Intervals are what the pace was taken from, Delta is what the last of them
	// added to completed.
	Intervals int
	Delta     float64
	// Reason says why there is no estimate; empty if there is one, or if the track
	// is over.
	Reason string
}

// Estimate returns when the track will be done, as far as it can be known now.
func (t Track) Estimate(now time.Time) Estimate {
	last := t.last()
	if last.Status.Over() {
		return Estimate{Elapsed: max(0, last.At.Sub(t.Since))}
	}
	e := Estimate{Elapsed: max(0, now.Sub(t.Since)), SourceFinishAt: last.sourceFinish(now)}
	e.Reason = e.compute(last, t.epoch())
	if !e.SourceFinishAt.IsZero() {
		e.Reason = ""
	}
	return e
}

// sourceFinish returns the estimate of the source unless it is in the past of
// the source or of ours.
func (s Sample) sourceFinish(now time.Time) time.Time {
	told := s.SourceUpdatedAt
	if told.IsZero() {
		told = s.At
	}
	if finish := s.SourceEstimatedFinishAt; finish.After(told) && finish.After(now) {
		return finish
	}
	return time.Time{}
}

// epoch returns the samples since the count began anew.
func (t Track) epoch() []Sample {
	for i := len(t.Samples) - 1; i > 0; i-- {
		if resets(t.Samples[i-1], t.Samples[i]) {
			return t.Samples[i:]
		}
	}
	return t.Samples
}

// resets reports whether b counts something else than a.
func resets(a, b Sample) bool {
	return a.Phase != b.Phase || a.Unit != b.Unit || !equal(a.Total, b.Total) ||
		a.Completed != nil && b.Completed != nil && *b.Completed < *a.Completed ||
		a.Status.Over() && !b.Status.Over()
}

func equal(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// compute fills in our own estimate, or says why there is none.
func (e *Estimate) compute(last Sample, epoch []Sample) (reason string) {
	switch {
	case last.Status == workflow.ProgressWaiting || last.Status == workflow.ProgressBlocked:
		return "progress is " + string(last.Status)
	case last.Completed == nil || last.Total == nil:
		return "total is unknown"
	}
	rates := e.rates(epoch)
	if len(rates) == 0 {
		return "needs another progress sample"
	}
	slices.Sort(rates)
	p25, median, p75 := quantile(rates, 0.25), quantile(rates, 0.5), quantile(rates, 0.75)
	if median <= 0 {
		return "no positive progress rate"
	}
	rest := max(0, *last.Total-*last.Completed)
	e.Known, e.Intervals = true, len(rates)
	e.Median, e.Low = lasts(rest, median), lasts(rest, p75)
	if p25 > 0 {
		e.High = lasts(rest, p25)
	}
	e.Confidence = confidence(len(rates), (p75-p25)/median)
	return ""
}

// rates returns how much was completed in a second of each of the last intervals.
func (e *Estimate) rates(epoch []Sample) (rates []float64) {
	epoch = epoch[max(0, len(epoch)-1-maxIntervals):]
	for i := 1; i < len(epoch); i++ {
		a, b := epoch[i-1], epoch[i]
		took := b.At.Sub(a.At).Seconds()
		if took <= 0 || a.Completed == nil || b.Completed == nil {
			continue
		}
		e.Delta = *b.Completed - *a.Completed
		rates = append(rates, e.Delta/took)
	}
	return rates
}

// quantile interpolates between sorted values.
func quantile(sorted []float64, p float64) float64 {
	at := float64(len(sorted)-1) * p
	below := math.Floor(at)
	above := min(int(below)+1, len(sorted)-1)
	return sorted[int(below)] + (at-below)*(sorted[above]-sorted[int(below)])
}

// longest is far more than anybody waits, and far less than a duration holds.
const longest = 100 * 365 * day

// lasts returns how long the rest takes at a rate in units a second, which is
// above zero.
func lasts(rest, rate float64) time.Duration {
	seconds := rest / rate
	if seconds >= longest.Seconds() {
		return longest
	}
	return time.Duration(seconds * float64(time.Second))
}

func confidence(intervals int, spread float64) Confidence {
	switch {
	case intervals >= 5 && spread <= 0.25:
		return ConfidenceHigh
	case intervals >= 2 && spread <= 0.5:
		return ConfidenceMedium
	default:
		return ConfidenceLow
	}
}

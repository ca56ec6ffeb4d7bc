package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/view"
	"piworkflows/workflow"
)

var start = time.Date(2027, 1, 5, 8, 15, 0, 0, time.UTC)

// sample is what was told at a second: completed of 100 files.
func sample(second int, completed float64) view.Sample {
	total := 100.0
	return view.Sample{At: start.Add(time.Duration(second) * time.Second), Progress: workflow.Progress{
		Status: workflow.ProgressRunning, Completed: &completed, Total: &total, Unit: "files",
	}}
}

// paced is a track with one sample each ten seconds, from zero on; each rate is
// in files a second.
func paced(rates ...float64) view.Track {
	t := view.Track{Key: "k", Since: start, Samples: []view.Sample{sample(0, 0)}}
	done := 0.0
	for i, rate := range rates {
		done += 10 * rate
		t.Samples = append(t.Samples, sample(10*(i+1), done))
	}
	return t
}

// last changes the newest sample of a track.
func last(t view.Track, change func(s *view.Sample)) view.Track {
	change(&t.Samples[len(t.Samples)-1])
	return t
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	sec := time.Second
	many := paced(5, 5, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1) // the last eight count: 28 of 100 after them
	for i := range many.Samples {
		*many.Samples[i].Completed /= 10
	}
	tests := []struct {
		name  string
		track view.Track
		now   int
		want  view.Estimate
	}{
		{
			"steady", paced(1, 1, 1, 1, 1), 60, // 50 left at 1/s
			view.Estimate{Elapsed: 60 * sec, Known: true, Median: 50 * sec, Low: 50 * sec, High: 50 * sec, Confidence: "high", Intervals: 5, Delta: 10},
		},
		{
			"one interval", paced(2), 10, // 80 left at 2/s
			view.Estimate{Elapsed: 10 * sec, Known: true, Median: 40 * sec, Low: 40 * sec, High: 40 * sec, Confidence: "low", Intervals: 1, Delta: 20},
		},
		{
			"quartiles are interpolated", paced(1, 2, 3), 30, // 40 left at 1.5, 2 and 2.5/s; spread 0.5
			view.Estimate{Elapsed: 30 * sec, Known: true, Median: 20 * sec, Low: 16 * sec, High: 26_666_666_666, Confidence: "medium", Intervals: 3, Delta: 30},
		},
		{
			"two paces", paced(1, 4), 20, // 50 left at 1.75, 2.5 and 3.25/s; spread 0.6
			view.Estimate{Elapsed: 20 * sec, Known: true, Median: 20 * sec, Low: 15_384_615_384, High: 28_571_428_571, Confidence: "low", Intervals: 2, Delta: 40},
		},
		{
			"spread of a quarter", paced(1.75, 2, 2.25, 1, 2.5), 50, // 5 left; sorted 1, 1.75, 2, 2.25, 2.5
			view.Estimate{Elapsed: 50 * sec, Known: true, Median: 2500 * time.Millisecond, Low: 2_222_222_222, High: 2_857_142_857, Confidence: "high", Intervals: 5, Delta: 25},
		},
		{
			"spread of a half", paced(1.5, 2, 2.5, 1, 2.5), 50, // 5 left
			view.Estimate{Elapsed: 50 * sec, Known: true, Median: 2500 * time.Millisecond, Low: 2 * sec, High: 3_333_333_333, Confidence: "medium", Intervals: 5, Delta: 25},
		},
		{
			"spread of more", paced(1.25, 2, 2.5, 1, 2.5), 50, // 7.5 left
			view.Estimate{Elapsed: 50 * sec, Known: true, Median: 3750 * time.Millisecond, Low: 3 * sec, High: 6 * sec, Confidence: "low", Intervals: 5, Delta: 25},
		},
		{
			"slowest pace bounds nothing", paced(0, 0, 1, 1, 1), 50, // 70 left at 0, 1 and 1/s
			view.Estimate{Elapsed: 50 * sec, Known: true, Median: 70 * sec, Low: 70 * sec, Confidence: "low", Intervals: 5, Delta: 10},
		},
		{
			"standstill", paced(1, 0, 0), 30,
			view.Estimate{Elapsed: 30 * sec, Reason: "no positive progress rate"},
		},
		{
			"done but for its status", paced(10), 10,
			view.Estimate{Elapsed: 10 * sec, Known: true, Confidence: "low", Intervals: 1, Delta: 100},
		},
		{
			"the last eight intervals", many, 120, // 72 left at 0.1/s
			view.Estimate{Elapsed: 120 * sec, Known: true, Median: 720 * sec, Low: 720 * sec, High: 720 * sec, Confidence: "high", Intervals: 8, Delta: 1},
		},
		{
			"one sample", paced(), 7,
			view.Estimate{Elapsed: 7 * sec, Reason: "needs another progress sample"},
		},
		{
			"the clock went back", paced(1), -20,
			view.Estimate{Known: true, Median: 90 * sec, Low: 90 * sec, High: 90 * sec, Confidence: "low", Intervals: 1, Delta: 10},
		},
		{
			"waiting", last(paced(1, 1), func(s *view.Sample) { s.Status = workflow.ProgressWaiting }), 20,
			view.Estimate{Elapsed: 20 * sec, Reason: "progress is waiting"},
		},
		{
			"blocked", last(paced(1, 1), func(s *view.Sample) { s.Status = workflow.ProgressBlocked }), 20,
			view.Estimate{Elapsed: 20 * sec, Reason: "progress is blocked"},
		},
		{
			"completed", last(paced(1, 1), func(s *view.Sample) { s.Status = workflow.ProgressCompleted }), 500,
			view.Estimate{Elapsed: 20 * sec},
		},
		{
			"total unknown", last(paced(1, 1), func(s *view.Sample) { s.Total = nil }), 20,
			view.Estimate{Elapsed: 20 * sec, Reason: "total is unknown"},
		},
		{
			"completed unknown", last(paced(1, 1), func(s *view.Sample) { s.Completed = nil }), 20,
			view.Estimate{Elapsed: 20 * sec, Reason: "total is unknown"},
		},
		{
			"endless", paced(1e-9), 10,
			view.Estimate{Elapsed: 10 * sec, Known: true, Median: 36500 * 24 * time.Hour, Low: 36500 * 24 * time.Hour, High: 36500 * 24 * time.Hour, Confidence: "low", Intervals: 1, Delta: 1e-8},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := test.track.Estimate(start.Add(time.Duration(test.now) * sec))
			if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What was counted before a reset says nothing about the pace since.
func TestEstimateForgetsWhatWasCountedBefore(t *testing.T) {
	t.Parallel()
	resets := map[string]func(s *view.Sample){
		"phase":     func(s *view.Sample) { s.Phase = "build" },
		"unit":      func(s *view.Sample) { s.Unit = "rows" },
		"total":     func(s *view.Sample) { *s.Total = 50 },
		"no total":  func(s *view.Sample) { s.Total = nil },
		"completed": func(s *view.Sample) { *s.Completed = 95 },
		"ended":     func(s *view.Sample) { s.Status = workflow.ProgressFailed },
	}
	for name, change := range resets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			track := paced(1, 1, 3) // 50 left, the last interval at 3/s
			track.Samples = append(track.Samples, sample(40, 60))
			change(&track.Samples[1])
			got := track.Estimate(start.Add(40 * time.Second))
			// The three samples after the changed one.
			if !got.Known || got.Intervals != 2 {
				t.Errorf("%+v", got)
			}
			if got.Elapsed != 40*time.Second {
				t.Errorf("elapsed %s", got.Elapsed)
			}
		})
	}
	track := paced(1, 1, 1)
	track.Samples[3].Phase = "build"
	if got := track.Estimate(start); got.Reason != "needs another progress sample" {
		t.Errorf("%+v", got)
	}
}

func TestEstimatePassesOverWhatHasNoCount(t *testing.T) {
	t.Parallel()
	track := paced(1, 1, 1, 1)
	track.Samples[1].Completed = nil          // no interval on either side of it
	track.Samples[3].At = track.Samples[2].At // at the same time
	got := track.Estimate(start.Add(40 * time.Second))
	// Only from the fourth to the fifth sample: 10 files in 20 s, 60 left.
	if !got.Known || got.Intervals != 1 || got.Median != 120*time.Second {
		t.Errorf("%+v", got)
	}
}

func TestEstimateOfTheSource(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	tests := []struct {
		name            string
		updated, finish time.Time
		status          workflow.ProgressStatus
		known           bool // ours beside it
		want            time.Time
		reason          string
	}{
		{"in the future", time.Time{}, at(100), workflow.ProgressRunning, true, at(100), ""},
		{"passed", time.Time{}, at(30), workflow.ProgressRunning, true, time.Time{}, ""},
		{"before it was told", at(200), at(100), workflow.ProgressRunning, true, time.Time{}, ""},
		{"told long ago", at(-500), at(100), workflow.ProgressRunning, true, at(100), ""},
		{"while it waits", time.Time{}, at(100), workflow.ProgressWaiting, false, at(100), ""},
		{"passed while it waits", time.Time{}, at(20), workflow.ProgressWaiting, false, time.Time{}, "progress is waiting"},
		{"ended", time.Time{}, at(100), workflow.ProgressFailed, false, time.Time{}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			track := last(paced(1, 1), func(s *view.Sample) {
				s.Status, s.SourceUpdatedAt, s.SourceEstimatedFinishAt = test.status, test.updated, test.finish
			})
			got := track.Estimate(at(40))
			if !got.SourceFinishAt.Equal(test.want) || got.Known != test.known || got.Reason != test.reason {
				t.Errorf("%+v", got)
			}
		})
	}
}

package view

import (
	"slices"
	"time"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// What a display keeps of the progress of a run: enough for an estimate of each
// track, and for a screen of them.
const (
	maxSamples    = 9
	maxAllSamples = 576
)

// Sample is what one update said about a track.
type Sample struct {
	// At is when it was recorded.
	At time.Time
	workflow.Progress

	seq int64
}

// Track is one piece of work of a run, and what was told about it.
type Track struct {
	// Key is that of its updates.
	Key string
	// Since is when it was first heard of.
	Since time.Time
	// Samples are the newest, the oldest of them first; there is at least one.
	Samples []Sample
}

// last is the newest sample.
func (t Track) last() Sample { return t.Samples[len(t.Samples)-1] }

// Tracks follows the progress of a run. The zero value is ready to use. It is not
// safe for concurrent use.
type Tracks struct {
	list []*Track
	kept int
}

// Add takes an event of the run. It passes over events that are not about
// progress, and over progress that cannot be read.
func (t *Tracks) Add(e runbundle.Event) {
	if e.Type != runbundle.EventUpdatePublished {
		return
	}
	payload, err := e.Decode()
	if err != nil {
		return
	}
	u, ok := payload.(runbundle.UpdatePublished)
	if !ok || u.Kind != workflow.UpdateProgress {
		return
	}
	if p, err := workflow.ReadProgress(u.Data); err == nil {
		t.add(u.Key, Sample{At: e.At.Time, Progress: p, seq: e.Seq})
	}
}

func (t *Tracks) add(key string, s Sample) {
	track := t.find(key)
	if track == nil {
		track = &Track{Key: key, Since: s.At}
		t.list = append(t.list, track)
	}
	track.Samples = append(track.Samples, s)
	t.kept++
	if len(track.Samples) > maxSamples {
		track.Samples = slices.Delete(track.Samples, 0, 1)
		t.kept--
	}
	if t.kept > maxAllSamples {
		t.forget()
	}
}

func (t *Tracks) find(key string) *Track {
	i := slices.IndexFunc(t.list, func(known *Track) bool { return known.Key == key })
	if i < 0 {
		return nil
	}
	return t.list[i]
}

// forget drops the oldest sample, and its track if that was all of it.
func (t *Tracks) forget() {
	oldest := 0
	for i, track := range t.list {
		if track.Samples[0].seq < t.list[oldest].Samples[0].seq {
			oldest = i
		}
	}
	t.kept--
	track := t.list[oldest]
	if track.Samples = slices.Delete(track.Samples, 0, 1); len(track.Samples) == 0 {
		t.list = slices.Delete(t.list, oldest, oldest+1)
	}
}

// List returns the tracks in the order in which they were first heard of.
func (t *Tracks) List() []Track {
	list := make([]Track, len(t.list))
	for i, track := range t.list {
		list[i] = Track{Key: track.Key, Since: track.Since, Samples: slices.Clone(track.Samples)}
	}
	return list
}

// Track returns one track.
func (t *Tracks) Track(key string) (Track, bool) {
	track := t.find(key)
	if track == nil {
		return Track{}, false
	}
	return Track{Key: key, Since: track.Since, Samples: slices.Clone(track.Samples)}, true
}

// tracksOf reads the tracks of what was recorded.
func tracksOf(events []runbundle.Event) []Track {
	var t Tracks
	for _, e := range events {
		t.Add(e)
	}
	return t.List()
}

// until returns the events up to the end of an attempt; none if it ended in the
// record of another run.
func until(events []runbundle.Event, attempt string) []runbundle.Event {
	for i, e := range events {
		if e.AttemptID == attempt && (e.Type == runbundle.EventNodeFinished || e.Type == runbundle.EventNodeFailed) {
			return events[:i+1]
		}
	}
	return nil
}

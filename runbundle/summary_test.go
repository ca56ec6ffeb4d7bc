package runbundle_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/runbundle"
)

// summarized compares the two ways to a summary.
func (b *bundle) summarized(t *testing.T, what string) *runbundle.Summary {
	t.Helper()
	got, err := runbundle.Summarize(b.dir())
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(b.read(t).Summary(), got); diff != "" {
		t.Errorf("%s (-of the bundle +alone):\n%s", what, diff)
	}
	return got
}

// A summary tells what the whole bundle does, at each moment of a run and however
// it ends.
func TestSummaryIsThatOfTheBundle(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	w.add(b.init().Started())
	for _, d := range story() {
		w.add(d)
		b.summarized(t, string(d.Payload.Type()))
	}
	if got := b.summarized(t, "the story"); got.Steps != 5 || got.Status != runbundle.Completed {
		t.Errorf("summary %+v", got)
	}
	for _, end := range []runbundle.Payload{
		runbundle.RunEnded{Status: runbundle.Failed, Error: long("e")}, runbundle.RunEnded{Status: runbundle.Cancelled, Error: "stop"},
		runbundle.RunEnded{Status: runbundle.Waiting, WaitingOn: "a"}, runbundle.RunInterrupted{Error: "host stopped"},
	} {
		b := newBundle(t)
		w := b.create(t)
		w.add(b.init().Started())
		w.add(run(end))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := b.summarized(t, string(end.Type()))
		if _, is := end.(runbundle.RunInterrupted); got.Interrupted != is || got.FinishedAt.IsZero() {
			t.Errorf("%s: %+v", end.Type(), got)
		}
	}
	if (*runbundle.Bundle)(nil).Summary() != nil {
		t.Error("no bundle has a summary")
	}
}

// A list looks at no step of a run that has ended, and at what it looks at it tells
// what is wrong.
func TestSummaryOfABrokenBundle(t *testing.T) {
	t.Parallel()
	whole := settled(t)
	steps := whole.copied(t)
	steps.edit(t, "state.json", `"nodeId": "pick"`, `"nodeId": 7`)
	if got, err := runbundle.Summarize(steps.dir()); err != nil || got.Steps != 5 {
		t.Errorf("a broken step: %+v, %v", got, err)
	}
	for name, test := range map[string]struct {
		file, old, replacement string
	}{
		"no JSON":           {"state.json", "{", "["},
		"no end":            {"state.json", `"status": "completed"`, `"status": "running"`},
		"no trace":          {"trace.ndjson", "", ""},
		"a last line":       {"trace.ndjson", `"type":"run_completed"`, `"type":run_completed"`},
		"a broken manifest": {"manifest.json", "{", "["},
	} {
		b := whole.copied(t)
		if test.old == "" {
			if err := os.Remove(b.file(test.file)); err != nil {
				t.Fatal(err)
			}
		} else {
			b.edit(t, test.file, test.old, test.replacement)
		}
		_, err := runbundle.Summarize(b.dir())
		if corrupt := wantErr[*runbundle.CorruptError](t, err); corrupt.Path != b.file(test.file) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := whole.copied(t)
	b.edit(t, "state.json", `.v1"`, `.v9"`)
	_, err := runbundle.Summarize(b.dir())
	wantErr[*runbundle.UnknownSchemaError](t, err)
	if err := os.Remove(b.file("manifest.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := runbundle.Summarize(b.dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no bundle: %v", err)
	}
}

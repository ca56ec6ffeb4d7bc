package runbundle_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/runbundle"
)

// text is what can be seen of a bundle.
func text(t *testing.T, b *runbundle.Bundle) string {
	t.Helper()
	raw, err := json.Marshal([]any{b.Manifest, b.State, b.Events, b.Torn})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func next(t *testing.T, b *runbundle.Bundle) *runbundle.Bundle {
	t.Helper()
	n, err := b.Next()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// After each event the bundle that is followed is the one that is read, and what
// was handed out before stays as it was.
func TestNextIsWhatIsRead(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	followed := b.read(t)
	for i, d := range append([]runbundle.Draft{b.init().Started()}, story()...) {
		before, was := followed, text(t, followed)
		if next(t, followed) != followed {
			t.Fatalf("event %d: nothing was added, and the bundle is another", i)
		}
		w.add(d)
		followed = next(t, followed)
		if diff := cmp.Diff(text(t, b.read(t)), text(t, followed)); diff != "" {
			t.Fatalf("event %d (-read +followed):\n%s", i, diff)
		}
		if text(t, before) != was {
			t.Fatalf("event %d: the bundle before it changed", i)
		}
	}
	if !followed.State.Status.Terminal() || next(t, followed) != followed {
		t.Error("the story does not end")
	}
}

func TestNextTakesSeveralEventsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	first := b.read(t)
	w.tell(story())
	if diff := cmp.Diff(text(t, b.read(t)), text(t, next(t, first))); diff != "" {
		t.Errorf("-read +followed:\n%s", diff)
	}
}

// A line that is being written is left for later.
func TestNextWaitsForTheEndOfALine(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	first := b.read(t)
	w.tell(story())
	trace := b.trace(t)
	end := strings.Index(trace, "\n") + 1
	b.writeTrace(t, trace[:end-1])
	if next(t, first) != first {
		t.Error("a part of a line is taken for an event")
	}
	b.writeTrace(t, trace[:end+7])
	if second := next(t, first); len(second.Events) != 1 || !second.Torn {
		t.Errorf("%d events, want 1 and a torn one", len(second.Events))
	}
}

func (b *bundle) trace(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(b.file("trace.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (b *bundle) writeTrace(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(b.file("trace.ndjson"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Who looks on while the next owner cuts off a torn line sees each event once.
func TestNextGoesOnOverARepair(t *testing.T) {
	t.Parallel()
	b := abandoned(t, story()[:5]...)
	followed := b.read(t)
	if !followed.Torn {
		t.Fatal("no line is torn")
	}
	w, err := runbundle.Open(t.Context(), b.options, b.dir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if next(t, followed) != followed {
		t.Error("a repair is taken for an event")
	}
	owner := &writer{Writer: w, b: b, t: t}
	for _, d := range []runbundle.Draft{run(runbundle.RunResumed{ResumeAt: "10"}), story()[7], story()[8]} {
		owner.add(d)
		followed = next(t, followed)
		if diff := cmp.Diff(text(t, b.read(t)), text(t, followed)); diff != "" {
			t.Fatalf("%s (-read +followed):\n%s", d.Payload.Type(), diff)
		}
	}
}

func TestNextRefusesWhatCannotFollow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(trace string) string{
		"a hole":      func(trace string) string { return trace + `{"seq":7}` + "\n" },
		"no JSON":     func(trace string) string { return trace + "{\n" },
		"fewer lines": func(string) string { return "" },
		"another run": func(trace string) string {
			return trace + strings.NewReplacer(`"seq":1`, `"seq":2`, runID, runID+"x").Replace(trace)
		},
	} {
		b := newBundle(t)
		w := b.create(t)
		w.add(b.init().Started())
		first := b.read(t)
		b.writeTrace(t, change(b.trace(t)))
		_, err := first.Next()
		if corrupt, ok := errors.AsType[*runbundle.CorruptError](err); !ok || !strings.HasSuffix(corrupt.Path, "trace.ndjson") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

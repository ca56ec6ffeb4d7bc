package main

import (
	"encoding/json"
	"strings"
	"testing"

	"piworkflows/examples/internal/try"
)

// waiting starts a run and returns its ID.
func waiting(t *testing.T, p *try.Place) string {
	t.Helper()
	var run struct{ RunID, Status, WaitingOn string }
	if err := json.Unmarshal([]byte(p.Run("run", "release", "--input", `{"version":"1.2.0"}`, "-o", "json")), &run); err != nil {
		t.Fatal(err)
	}
	if run.Status != "waiting" || run.WaitingOn != "approve" {
		t.Fatalf("the run is %+v", run)
	}
	return run.RunID
}

func TestTheAnswerDecides(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"approve":true,"by":"Ada"}`:  "Release 1.2.0 was published by Ada\n",
		`{"approve":false,"by":"Bob"}`: "Release 1.2.0 was dropped by Bob\n",
	} {
		p := try.New(t, program())
		if got := p.Run("answer", waiting(t, p), text); got != want {
			t.Errorf("%s: printed %q, want %q", text, got, want)
		}
	}
}

// What says nothing is no answer, and the run waits on.
func TestAnAnswerThatSaysNothingDoesNotCount(t *testing.T) {
	t.Parallel()
	p := try.New(t, program())
	run := waiting(t, p)
	if _, errs, code := p.Try("", "answer", run, "maybe"); code != 2 || !strings.Contains(errs, "answer who you are") {
		t.Errorf("code %d: %s", code, errs)
	}
	p.Run("answer", run, `{"approve":true,"by":"Ada"}`)
}

func TestARunIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	p := try.New(t, program())
	run := waiting(t, p)
	p.Run("answer", run, `{"approve":false,"by":"Ada"}`)
	_, errs, code := p.Try("", "answer", run, `{"approve":true,"by":"Eve"}`)
	if code != 4 || !strings.Contains(errs, run) {
		t.Errorf("code %d: %s", code, errs)
	}
}

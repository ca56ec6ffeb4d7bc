package main

import (
	"strings"
	"testing"

	"piworkflows/examples/internal/try"
)

func TestEachKindTakesItsBranch(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, input, want string }{
		{"bug", `{"title":"Crash","labels":["ui","bug"]}`, "fix now: Crash"},
		{"feature", `{"title":"Dark mode","labels":["feature"]}`, "plan for later: Dark mode"},
		{"no label", `{"title":"Hm"}`, "ask what is meant: Hm"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := try.New(t, program()).Run("run", "triage", "--input", test.input); got != test.want+"\n" {
				t.Errorf("printed %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnIssueWithoutATitleIsRefused(t *testing.T) {
	t.Parallel()
	p := try.New(t, program())
	_, errs, code := p.Try("", "run", "triage", "--input", `{}`)
	if code != 2 || !strings.Contains(errs, "give an issue with a title") {
		t.Errorf("code %d: %s", code, errs)
	}
	if _, errs, _ := p.Try("", "runs"); !strings.Contains(errs, "no such runs") {
		t.Errorf("something was recorded: %s", errs)
	}
}

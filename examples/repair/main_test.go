package main

import (
	"encoding/json"
	"strings"
	"testing"

	"piworkflows/examples/internal/try"
)

func TestEachTextEndsCompleteOrBlocked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 9) + "text."
	tests := []struct{ name, text, want, why string }{
		{"good", "All is well.", "All is well.", "every rule holds for exactly this text"},
		{"one defect", "No stop", "No stop.", "every rule holds for exactly this text"},
		{"several", "A\t\ttab  and   no stop", "A tab and no stop.", "every rule holds for exactly this text"},
		{"nobody can mend it", long, long, "the repair changed nothing: at most 40 characters"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			input, err := json.Marshal(test.text)
			if err != nil {
				t.Fatal(err)
			}
			var got result
			text := try.New(t, program()).Run("run", "repair", "--input", string(input))
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if want := (result{Text: test.want, Why: test.why}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestTheInnerLoopIsAWorkflowOfItsOwn(t *testing.T) {
	t.Parallel()
	var got progress
	text := try.New(t, program()).Run("run", "verify", "--input", `"tab\there."`)
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if want := (progress{Text: "tab\there.", Broken: "no tabs"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

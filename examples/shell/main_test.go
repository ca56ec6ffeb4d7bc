package main

import (
	"encoding/json"
	"strings"
	"testing"

	"piworkflows/examples/internal/try"
)

func TestACheckThatFailsIsABranch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command string
		passed        bool
		told          string
	}{
		{"passes", `["git","version"]`, true, "git version "},
		{"fails", `["git","no-such-command"]`, false, "exit 1"},
		{"is missing", `["there-is-no-such-program"]`, false, "there-is-no-such-program"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got verdict
			text := try.New(t, program()).Run("run", "check", "--input", `{"command":`+test.command+`}`)
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if got.Passed != test.passed || !strings.Contains(got.Told, test.told) {
				t.Errorf("verdict %+v, want passed %v and a text with %q", got, test.passed, test.told)
			}
		})
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/examples/internal/try"
	"piworkflows/workflow"
)

const open = `{"open":["typo","license"]}`

func blocked(t *testing.T, text string) (b workflow.Blocked) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return b
}

// It may neither say that nothing is open nor mend the same finding once more: the
// script uses up all of its answers, two of which are rejected.
func TestTheAgentIsHeldToTheFacts(t *testing.T) {
	t.Parallel()
	p := try.New(t, program())
	got := blocked(t, p.Run("run", "tidy", "--input", open, "--agent", "script:answers.json"))
	want := workflow.Blocked{
		Blocker:      "only its owner may choose a license",
		Evidence:     []string{"the finding is open after mending"},
		Alternatives: []string{"mend: leaves it as it is"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A person who answers is told why an answer is not accepted.
func TestAPersonIsToldWhatIsOpen(t *testing.T) {
	t.Parallel()
	answers := strings.Join([]string{
		`{"route": "complete", "reason": "it looks good"}`,
		`{"route": "mend", "reason": "it is a typo"}`,
		`{"route": "complete", "reason": "nothing is left"}`,
	}, "\n")
	out, said, code := try.New(t, program()).Try(answers, "run", "tidy", "--input", `{"open":["typo"]}`, "--agent", "ask")
	if code != 0 || out != "nothing is open\n" || !strings.Contains(said, "still open: typo") {
		t.Errorf("ended with code %d and %q:\n%s", code, out, said)
	}
}

func TestAnAgentThatFailsIsABlocker(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(file, []byte(`{"nodes": {"assess": [{"fail": "the model is overloaded"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := blocked(t, try.New(t, program()).Run("run", "tidy", "--input", open, "--agent", "script:"+file))
	if got.Blocker != "no decision could be made" || !strings.Contains(got.Evidence[0], "overloaded") {
		t.Errorf("blocked by %+v", got)
	}
}

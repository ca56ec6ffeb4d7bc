package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newTestSession(t *testing.T) *session {
	t.Helper()
	s, err := newSession(t.TempDir(), t.TempDir(), t.TempDir(), []string{"PI_WORKFLOWS_RUNS_DIR=/x", "GIT_DIR=/y", "KEPT=1"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSessionIsOneTerminal runs commands that lean on each other.
func TestSessionIsOneTerminal(t *testing.T) {
	t.Parallel()
	s := newTestSession(t)
	tests := []struct {
		command string
		want    []string
		status  int
	}{
		{"mkdir sub && cd sub", nil, 0},
		{`export NAME="it's
two lines"`, nil, 0},
		{`basename "$PWD"; echo "$NAME"`, []string{"sub", "it's", "two lines"}, 0},
		{"echo out; echo err >&2", []string{"out", "err"}, 0},
		{"cd /; exit 7", nil, 7},
		{"echo $?; pwd", []string{"7", "/"}, 0},
		{"false", nil, 1},
		{"true", nil, 0},
		{"echo $?", []string{"0"}, 0},
		{"if then", nil, 2},
		{"echo $HOME $TMPDIR", []string{"~ /tmp/docs/tmp"}, 0},
		{"echo $KEPT${PI_WORKFLOWS_RUNS_DIR-}${GIT_DIR-}", []string{"1"}, 0},
		{"git config user.name", []string{"Reader"}, 0},
	}
	for _, test := range tests {
		got, status, err := s.run(t.Context(), test.command)
		if err != nil {
			t.Fatal(err)
		}
		if test.status == 2 {
			got = nil // each shell words a syntax error in its own way
		}
		if diff := cmp.Diff(test.want, got); diff != "" || status != test.status {
			t.Errorf("$ %s\nexit %d, want %d\n%s", test.command, status, test.status, diff)
		}
	}
}

func TestSessionKillsWhatACommandLeaves(t *testing.T) {
	t.Parallel()
	s := newTestSession(t)
	if _, _, err := s.run(t.Context(), "sleep 1000 >/dev/null 2>&1 & echo $! >pid"); err != nil {
		t.Fatal(err)
	}
	// A killed process that nobody has reaped yet is a zombie.
	got, _, err := s.run(t.Context(), `pid=$(cat pid)
state() { sed -n 's/^State:[[:space:]]*//p' /proc/$pid/status || ps -o stat= -p $pid; }
while s=$(state 2>/dev/null) && [ "${s#Z}" = "$s" ]; do :; done; echo gone`)
	if err != nil || strings.Join(got, "") != "gone" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		step   Step
		got    []string
		status int
		want   string
	}{
		{"as documented", Step{Output: []string{"took 5s", "..."}}, []string{"took 7s", "x"}, 0, ""},
		{"another output", Step{Output: []string{"merged"}}, []string{"blocked"}, 0, "but it prints:\nblocked"},
		{"failed", Step{}, []string{"no such file"}, 3, "exit code 3, and the document does not show it"},
		{"failed, and the document shows it", Step{MayFail: true}, nil, 3, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := compare(test.step, test.got, test.status)
			if !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

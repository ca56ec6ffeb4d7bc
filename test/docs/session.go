package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// commandTimeout is for one command of a document; a reader would have
	// given up long before.
	commandTimeout = 5 * time.Minute
	// pipeDelay is how long the output of a command may be held open by what it
	// left behind.
	pipeDelay = 5 * time.Second
)

// memory wraps each command: it starts with the directory, the variables and the
// exit code that the command before left, and leaves its own.
const memory = `. "$SESSION/env"
cd "$(cat "$SESSION/dir")" || exit 125
trap 'last=$?; export -p >"$SESSION/env"; pwd >"$SESSION/dir"; exit $last' EXIT
(exit "$2")
eval "$1"`

// session is a terminal in which the commands of one document run in order.
type session struct {
	base string
	env  []string
	last int
}

// newSession opens a terminal in dir. Everything it needs to remember lies in
// base, and base/home is the reader's home. path comes first in the PATH.
func newSession(base, dir, path string, env []string) (*session, error) {
	home := filepath.Join(base, "home")
	temp := filepath.Join(base, "tmp")
	for _, d := range []string{home, temp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("make a home: %w", err)
		}
	}
	files := map[string]string{
		filepath.Join(base, "env"):        "",
		filepath.Join(base, "dir"):        dir + "\n",
		filepath.Join(home, ".gitconfig"): "[user]\n\tname = Reader\n\temail = reader@example.com\n[init]\n\tdefaultBranch = main\n",
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("make a home: %w", err)
		}
	}
	env = append(readerEnv(env),
		"HOME="+home, "TMPDIR="+temp, "SESSION="+base, "GIT_CONFIG_NOSYSTEM=1", "TZ=UTC", "LC_ALL=C.UTF-8",
		"PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	return &session{base: base, env: env}, nil
}

// readerEnv drops the settings of whoever runs the tests from an environment.
func readerEnv(env []string) []string {
	var kept []string
	for _, e := range env {
		if !strings.HasPrefix(e, "PI_WORKFLOWS_") && !strings.HasPrefix(e, "GIT_") && !strings.HasPrefix(e, "XDG_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// run executes one command and returns its output and exit code. Processes that
// it leaves in its group are killed: a document that starts one has to stop it.
func (s *session) run(ctx context.Context, command string) (lines []string, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", memory, "sh", command, strconv.Itoa(s.last))
	cmd.Env = s.env
	cmd.WaitDelay = pipeDelay
	killGroup := ownGroup(cmd)
	cmd.Cancel = killGroup
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = killGroup()
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return nil, 0, fmt.Errorf("run %q: %w", command, errors.Join(err, ctx.Err()))
	}
	s.last = cmd.ProcessState.ExitCode()
	return s.shown(out), s.last, nil
}

// shown is the output as the reader sees it, from a home of their own.
func (s *session) shown(out []byte) []string {
	out = bytes.ReplaceAll(out, []byte(filepath.Join(s.base, "home")), []byte("~"))
	out = bytes.ReplaceAll(out, []byte(s.base), []byte("/tmp/docs"))
	text := strings.TrimRight(string(out), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"piworkflows/internal/procgroup"
)

// commandTimeout is for one command of a document; a reader would have given up
// long before.
const commandTimeout = 5 * time.Minute

// memory wraps each command: it starts with the directory, the variables and the
// exit code that the command before left, and leaves its own.
const memory = `exec 2>&1
. "$SESSION/env"
cd "$(cat "$SESSION/dir")" || exit 125
trap 'last=$?; export -p >"$SESSION/env"; pwd >"$SESSION/dir"; exit $last' EXIT
(exit "$2")
eval "$1"`

var errKilled = errors.New("the shell was killed by")

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
		"HOME="+home, "TMPDIR="+temp, "SESSION="+base, "GIT_CONFIG_NOSYSTEM=1", "TZ=UTC", "LC_ALL=C.UTF-8", "COLUMNS=80",
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
// it leaves behind are killed: a document that starts one has to stop it.
func (s *session) run(ctx context.Context, command string) (lines []string, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	result, err := procgroup.Run(ctx, procgroup.Spec{
		Command: "sh", Args: []string{"-c", memory, "sh", command, strconv.Itoa(s.last)}, Env: s.env,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("run %q: %w; it printed:\n%s", command, err, result.Stdout)
	}
	if result.ExitCode == nil {
		return nil, 0, fmt.Errorf("run %q: %w %s", command, errKilled, result.Signal)
	}
	s.last = *result.ExitCode
	return s.shown(result.Stdout), s.last, nil
}

// shown is the output as the reader sees it, from a home of their own.
func (s *session) shown(output string) []string {
	output = strings.ReplaceAll(output, filepath.Join(s.base, "home"), "~")
	output = strings.TrimRight(strings.ReplaceAll(output, s.base, "/tmp/docs"), "\n")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}

package cli

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts in testdata/script are stories: each has a project, a store and a
// folder of runs of its own, and runs the program as a process.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PI_WORKFLOWS_CONTROLLER_DIR", filepath.Join(e.WorkDir, "places", "stores"))
			e.Setenv("PI_WORKFLOWS_RUNS_DIR", filepath.Join(e.WorkDir, "places", "runs"))
			e.Setenv("RUNS", filepath.Join(e.WorkDir, "places", "runs"))
			// A program with the race detector sleeps for a second before it ends.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("LONG", strings.Repeat("k", 600))
			return errors.Join(os.Mkdir(filepath.Join(e.WorkDir, "places"), 0o700), listen(e))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "poke": poke, "big": big, "runid": runID, "cursor": cursor, "running": running,
		},
	})
}

// exits runs a program that has to end with an exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	var ended *exec.ExitError
	if !errors.As(err, &ended) || strconv.Itoa(ended.ExitCode()) != args[0] {
		ts.Fatalf("want exit code %s, got %v", args[0], err)
	}
}

// poke overwrites bytes of a file: poke FILE OFFSET HEX.
func poke(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	offset, err := strconv.Atoi(args[1])
	ts.Check(err)
	change, err := hex.DecodeString(args[2])
	ts.Check(err)
	copy(text[offset:], change)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

// big writes a spec with a text of some bytes: big FILE SIZE.
func big(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := `{"text":"` + strings.Repeat("x", size) + `"}`
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// answer runs a command with -o json and decodes its result.
func answer(ts *testscript.TestScript, into any, args ...string) {
	ts.Check(ts.Exec("pi-workflows", append(args, "-o", "json")...))
	ts.Check(json.NewDecoder(strings.NewReader(ts.ReadFile("stdout"))).Decode(into))
}

// runID sets a variable to the newest run: runid NAME FLAGS….
func runID(ts *testscript.TestScript, _ bool, args []string) {
	var r runsResult
	answer(ts, &r, append([]string{"runs"}, args[1:]...)...)
	if len(r.Runs) == 0 {
		ts.Fatalf("there is no run")
	}
	ts.Setenv(args[0], r.Runs[0].RunID)
}

// cursor sets a variable to where an answer of events ends: cursor NAME FLAGS….
func cursor(ts *testscript.TestScript, _ bool, args []string) {
	var r eventsResult
	answer(ts, &r, append([]string{"events"}, args[1:]...)...)
	ts.Setenv(args[0], string(r.Next))
}

// running waits until the node hang is at work: it calls back.
func running(ts *testscript.TestScript, _ bool, _ []string) {
	c, err := ts.Value(callback{}).(net.Listener).Accept()
	ts.Check(err)
	ts.Check(c.Close())
}

// callback is the key of the listener that the node hang calls.
type callback struct{}

func listen(e *testscript.Env) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	e.Values[callback{}] = l
	e.Defer(func() { l.Close() })
	e.Setenv(callbackEnv, l.Addr().String())
	return nil
}

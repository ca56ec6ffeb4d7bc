package sqlite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

// The test binary is another process, named by helperEnv, over the store at
// pathEnv.
const (
	helperEnv = "SQLITE_TEST_HELPER"
	pathEnv   = "SQLITE_TEST_PATH"
)

var helpers = map[string]func(){
	"hold":  func() { help(hold) },
	"write": func() { help(writeOn) },
	"limit": func() { help(runIntoLimit) },
	"log":   func() { help(fillLog) },
}

func help(work func(s *sqlite.Store) error) {
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: os.Getenv(pathEnv), Scope: scope})
	if err == nil {
		err = work(s)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// hold claims a key and a run, and lives until it is killed.
func hold(s *sqlite.Store) error {
	ctx := context.Background()
	c, err := s.Claim(ctx, []string{"c"}, time.Hour)
	if err != nil {
		return err
	}
	run, err := s.ClaimRun(ctx, runqueue.ClaimQuery{}, time.Hour)
	if err != nil {
		return err
	}
	fmt.Println(c.Ref.Key, run.Row.RunID)
	_, err = os.Stdin.Read(make([]byte, 1))
	return err
}

// writeOn puts resources and says so after each, until it is killed.
func writeOn(s *sqlite.Store) error {
	for i := range 1_000_000 {
		p := controller.Put{Ref: ref(strconv.Itoa(i)), Spec: json.RawMessage(`{}`)}
		if _, err := s.Put(context.Background(), p); err != nil {
			return err
		}
		fmt.Println(i)
	}
	return nil
}

// helper starts another process.
func helper(t *testing.T, name, path string) (out *bufio.Reader, kill func()) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), executable)
	child.Env = append(os.Environ(), helperEnv+"="+name, pathEnv+"="+path)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(stdout), func() {
		_ = child.Process.Kill()
		_ = child.Wait() // says that it was killed
		_ = stdin.Close()
	}
}

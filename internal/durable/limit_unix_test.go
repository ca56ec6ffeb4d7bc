//go:build !windows

package durable_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"piworkflows/internal/durable"
)

// limitEnv makes the test binary a process that runs into its file size limit.
const limitEnv = "DURABLE_TEST_LIMIT"

const (
	limitBytes  = 1000
	limitRecord = "a record that does not divide the limit\n"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(limitEnv); root != "" {
		if err := runIntoLimit(root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func runIntoLimit(root string) error {
	limit := syscall.Rlimit{Cur: limitBytes, Max: limitBytes}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	file, err := durable.OS().OpenAppend(filepath.Join(root, "trace"))
	if err != nil {
		return err
	}
	for err == nil {
		err = file.Append([]byte(limitRecord))
	}
	if !durable.IsDiskFull(err) {
		return fmt.Errorf("append: %w", err)
	}
	state := filepath.Join(root, "state")
	if err := durable.OS().Replace(state, []byte("old"), true); err != nil {
		return err
	}
	if err := durable.OS().Replace(state, make([]byte, limitBytes+1), true); !durable.IsDiskFull(err) {
		return fmt.Errorf("replace: %w", err)
	}
	return file.Close()
}

// The operating system itself cuts a write short here.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), executable)
	child.Env = append(os.Environ(), limitEnv+"="+root)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	if err := child.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	wantContent(t, filepath.Join(root, "trace"), strings.Repeat(limitRecord, limitBytes/len(limitRecord)))
	wantContent(t, filepath.Join(root, "state"), "old")
	wantTemporaries(t, root, 0)
}

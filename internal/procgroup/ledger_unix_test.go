//go:build !windows

package procgroup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// owner runs a command that starts others until it is killed: one in the group, and
// one that leaves it.
func owner(ledger string) {
	_, _ = Run(context.Background(), Spec{
		Command: "/bin/sh", Args: []string{"-c", "trap '' HUP; sleep 600 & setsid sleep 600 & echo $$ $!; wait"}, Ledger: ledger,
		OnOutput: func(_ string, chunk []byte) { _, _ = os.Stdout.Write(chunk) },
	})
}

// leave returns the identities of the processes that a killed owner left.
func leave(t *testing.T, ledger string) (left []Identity) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+ledger)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for number := range strings.FieldsSeq(line) {
		pid, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		i, err := Identify(pid)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, i)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed: it is an error, and meant to be
	return left
}

func TestTheCommandsOfAKilledProcessAreEnded(t *testing.T) {
	t.Parallel()
	ledger := filepath.Join(t.TempDir(), "processes")
	left := leave(t, ledger)
	for _, i := range left {
		if !i.Alive() {
			t.Fatalf("%+v ended with its owner: there is nothing to test", i)
		}
	}
	if n, err := Leftovers(ledger); n != 1 || err != nil {
		t.Errorf("Leftovers = %d, %v", n, err)
	}
	ended, err := EndLeftovers(ledger, false)
	if err != nil || ended != 1 {
		t.Fatalf("EndLeftovers = %d, %v", ended, err)
	}
	for n, i := range left {
		if i.Alive() && (n == 0 || runtime.GOOS == "linux") {
			t.Errorf("%+v is left", i)
		}
	}
	wantNotes(t, ledger, 0)
	if ended, err := EndLeftovers(ledger, false); ended != 0 || err != nil {
		t.Errorf("again: %d, %v", ended, err)
	}
}

func wantNotes(t *testing.T, ledger string, want int) {
	t.Helper()
	if entries, err := os.ReadDir(ledger); err != nil || len(entries) != want {
		t.Errorf("notes %v, %v, want %d", entries, err, want)
	}
}

func TestNothingElseIsEnded(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir()
	bystander := exec.CommandContext(t.Context(), "sleep", "600")
	bystander.SysProcAttr = newGroupAttr()
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Wait() }()
	defer func() { _ = bystander.Process.Kill() }()
	there, err := Identify(bystander.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	us, err := ourselves()
	if err != nil {
		t.Fatal(err)
	}
	dead, older, rebooted := us, there, there
	dead.StartTime--
	older.StartTime--
	rebooted.BootID = "another start of the machine"
	for name, n := range map[string]note{
		"the number of another process": {Owner: dead, Leader: older},
		"before the machine started":    {Owner: dead, Leader: rebooted},
		"an owner that lives":           {Owner: us, Leader: there},
		"never started":                 {Owner: dead},
	} {
		n.Marker = newMarker()
		n.path = filepath.Join(ledger, n.Marker+noteSuffix)
		if err := n.write(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"not JSON": "{", "no owner": "{}", "short": `{"owner":{"pid":1},"marker":"short"}`, "large": strings.Repeat(" ", maxNoteBytes+1),
	} {
		if err := os.WriteFile(filepath.Join(ledger, name+noteSuffix), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ended, err := EndLeftovers(ledger, false)
	if err != nil || ended != 3 {
		t.Errorf("EndLeftovers = %d, %v, want the three notes of dead owners", ended, err)
	}
	if !there.Alive() {
		t.Error("a process was ended that nobody had left")
	}
	wantNotes(t, ledger, 1+4)
	if ended, err := EndLeftovers(ledger, true); err != nil || ended != 1 || there.Alive() {
		t.Errorf("our own: %d, %v", ended, err)
	}
}

// A process may be killed while it writes a note.
func TestNotesThatWereBegunAreRemoved(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir()
	us, err := ourselves()
	if err != nil {
		t.Fatal(err)
	}
	dead := us
	dead.StartTime--
	half := func(n note, text string, age time.Duration) string {
		n.Marker = newMarker()
		if text == "" {
			written, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			text = string(written)
		}
		path := filepath.Join(ledger, n.Marker+noteSuffix+halfSuffix)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	removed := []string{half(note{Owner: dead}, "", 0), half(note{}, "{", 2*halfAge)}
	kept := []string{half(note{Owner: us}, "", 2*halfAge), half(note{}, "{", 0), filepath.Join(ledger, "else"+halfSuffix)}
	if err := os.WriteFile(kept[2], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if ended, err := EndLeftovers(ledger, false); err != nil || ended != 0 {
		t.Errorf("EndLeftovers = %d, %v", ended, err)
	}
	for _, path := range removed {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone", path)
		}
	}
}

func TestACommandIsNotedWhileItRuns(t *testing.T) {
	t.Parallel()
	ledger := filepath.Join(t.TempDir(), "processes")
	var noted note
	_, err := Run(t.Context(), Spec{Command: "echo", Args: []string{"x"}, Ledger: ledger, OnStart: func(i Identity) {
		entries, err := os.ReadDir(ledger)
		if err != nil || len(entries) != 1 {
			t.Errorf("notes %v, %v", entries, err)
			return
		}
		text, err := os.ReadFile(filepath.Join(ledger, entries[0].Name()))
		if err = errors.Join(err, json.Unmarshal(text, &noted)); err != nil || noted.Leader != i {
			t.Errorf("%s: %v, want %+v", text, err, i)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantNotes(t, ledger, 0)
	_, err = Run(t.Context(), Spec{Command: "no such command", Ledger: ledger})
	if err == nil {
		t.Error("it started")
	}
	wantNotes(t, ledger, 0)
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Spec{Command: "touch", Args: []string{blocked + "2"}, Ledger: blocked}); err == nil {
		t.Error("a command was started that could not be noted")
	}
}

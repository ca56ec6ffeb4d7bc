package e2e

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDemoEndsAsItShould(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.run("demo", "--dir", h.project)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	mustBePlain(t, "stdout", r.stdout)
	mustBePlain(t, "stderr", r.stderr)
	for _, want := range []string{"verifying: check", "blocked: Conflict", "merging"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("the progress does not show %q:\n%s", want, r.stderr)
		}
	}
	h.mustHaveEnded()

	again := h.run("demo", "--dir", h.project)
	if again.code != 0 || !strings.Contains(again.stderr, "finished") {
		t.Errorf("a finished demo: exit code %d\n%s", again.code, again.stderr)
	}
	h.must("demo", "--dir", h.project, "--fresh")
	h.mustHaveEnded()
}

func TestADemoWithoutAFolderLeavesNothingInTheHome(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	tmp := filepath.Join(h.home, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "TMPDIR="+tmp)
	var made struct{ Project, Store, Runs string }
	h.mustJSON(&made, "demo")
	for _, path := range []string{made.Project, made.Store, made.Runs} {
		if !strings.HasPrefix(path, tmp) {
			t.Errorf("%s is outside of the temporary folder", path)
		}
	}
	if _, err := os.Stat(filepath.Join(h.home, ".pi")); err == nil {
		t.Error("the demo wrote to the home")
	}
}

func TestTheDemoRefusesAFolderThatItDidNotMake(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	precious := filepath.Join(h.project, "precious.txt")
	if err := os.MkdirAll(h.project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"demo", "--dir", h.project}, {"demo", "--dir", h.project, "--fresh"}} {
		r := h.run(args...)
		if r.code != 2 || !strings.Contains(r.stderr, "not made by the demo") {
			t.Errorf("%v: exit code %d, %s", args, r.code, r.stderr)
		}
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "mine" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// A demo that is killed goes on by the host alone, and by the demo.
func TestTheDemoRefusesAnotherProject(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if r := h.run("demo", "--project", h.project); r.code != 2 || !strings.Contains(r.stderr, "--dir") {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
}

func TestAKilledDemoGoesOn(t *testing.T) {
	t.Parallel()
	for name, resume := range map[string][]string{
		"demo": {"demo", "--dir", "PROJECT"},
		"host": {"host", "--once", "--project", "PROJECT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.killDemoWhenItSays("verifying: check")
			for i, arg := range resume {
				resume[i] = strings.ReplaceAll(arg, "PROJECT", h.project)
			}
			h.must(resume...)
			h.mustHaveEnded()
			h.must("demo", "--dir", h.project)
		})
	}
}

// TestAnInterruptedDemoTellsHowItGoesOn interrupts a demo without a folder of
// its own and plays on with the command that it prints.
func TestAnInterruptedDemoTellsHowItGoesOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.env = append(h.env, "TMPDIR="+h.home)
	told := h.endDemoWhenItSays("verifying: check", os.Interrupt, "demo")
	_, again, found := strings.Cut(told, "goes on from here with\n")
	if !found {
		t.Fatalf("it tells nothing:\n%s", told)
	}
	words := strings.Fields(strings.SplitN(again, "\n", 2)[0])
	h.must(words[1:]...)
	if got := h.git(filepath.Join(words[3], "demo.git"), "rev-list", "--count", "--merges", "main"); got != "1" {
		t.Errorf("main has %s merges, want 1", got)
	}
}

// killDemoWhenItSays kills a demo once its progress shows a text.
func (h *house) killDemoWhenItSays(text string) {
	h.t.Helper()
	h.endDemoWhenItSays(text, os.Kill, "demo", "--dir", h.project)
}

// endDemoWhenItSays sends a demo a signal once its progress shows a text, and
// returns what its progress says after that.
func (h *house) endDemoWhenItSays(text string, signal os.Signal, args ...string) string {
	h.t.Helper()
	cmd := h.command(args...)
	progress, err := cmd.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	lines := bufio.NewReader(progress)
	for said := false; !said; {
		line, err := lines.ReadString('\n')
		if err != nil {
			h.t.Fatalf("the demo never said %q", text)
		}
		said = strings.Contains(line, text)
	}
	_ = cmd.Process.Signal(signal)
	rest, _ := io.ReadAll(lines)
	_ = cmd.Wait() // it did not end by itself: it is an error, and meant to be
	return string(rest)
}

package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"piworkflows/internal/repo"
)

// machine is a PATH that holds nothing but what a test puts there.
type machine struct {
	bin string
	log string
}

// newMachine returns a machine with the plain tools that the scripts use. Each
// fake tool is a line of shell; $LOG is where it may leave a note.
func newMachine(t *testing.T, tools map[string]string) machine {
	t.Helper()
	m := machine{bin: t.TempDir(), log: filepath.Join(t.TempDir(), "log")}
	for _, name := range []string{"sh", "mktemp", "rm", "cat", "awk", "chmod"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	// A child forked while the file is open for writing would hold it open, and
	// nobody could execute it until that child has started its own program.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for name, line := range tools {
		if err := os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+line+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// run executes a script of the repository and returns its output and exit code.
func (m machine) run(t *testing.T, script string, args ...string) (string, int) {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", script), args...)
	cmd.Env = []string{"PATH=" + m.bin, "LOG=" + m.log, "BIN=" + m.bin, "TMPDIR=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// notes returns what the fake tools wrote to $LOG.
func (m machine) notes(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(m.log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

const (
	goLinux  = `case $2 in GOOS) echo linux ;; CC) echo gcc -O0 ;; esac`
	goDarwin = `case $2 in GOOS) echo darwin ;; CC) echo clang ;; esac`
	worksCC  = `exit 0`
	brokenCC = `echo stdlib.h: no such file >&2; exit 1`
	asRoot   = `echo 0`
	asUser   = `echo 1000`
	// installs is an apt-get that puts a compiler into the machine.
	installs = `echo apt-get "$@" >>"$LOG"
[ "$1" = update ] || { printf '#!/bin/sh\nexit 0\n' >"$BIN/gcc"; chmod +x "$BIN/gcc"; }`
)

func TestRequireCC(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		tools     map[string]string
		exit      int
		says      string
		installed bool
	}{
		{"there is one", map[string]string{"go": goLinux, "gcc": worksCC}, 0, "", false},
		{"macOS needs none", map[string]string{"go": goDarwin}, 0, "", false},
		{"root with apt-get", map[string]string{"go": goLinux, "id": asRoot, "apt-get": installs}, 0, "installing a C compiler", true},
		{
			"root with half a compiler",
			map[string]string{"go": goLinux, "id": asRoot, "gcc": brokenCC, "apt-get": installs}, 0, "installing a C compiler", true,
		},
		{
			"root without a network",
			map[string]string{"go": goLinux, "id": asRoot, "apt-get": "exit 100"}, 2,
			"Run:\n  apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev\n", false,
		},
		{
			"user with apt-get", map[string]string{"go": goLinux, "id": asUser, "apt-get": installs}, 2,
			"Run:\n  sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev'\n", false,
		},
		{
			"Fedora", map[string]string{"go": goLinux, "id": asRoot, "dnf": installs}, 2,
			"Run:\n  sudo dnf install -y gcc glibc-devel\n", false,
		},
		{"Alpine", map[string]string{"go": goLinux, "apk": installs}, 2, "Run:\n  sudo apk add gcc musl-dev\n", false},
		{"nothing known", map[string]string{"go": goLinux}, 2, "Run:\n  CC=/path/to/cc make test", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, test.tools)
			out, exit := m.run(t, "require-cc.sh")
			if exit != test.exit || !strings.Contains(out, test.says) || (test.says == "" && out != "") {
				t.Errorf("exit %d, want %d; output:\n%s\nwant: %s", exit, test.exit, out, test.says)
			}
			if installed := m.notes(t) != ""; installed != test.installed {
				t.Errorf("installed: %v, want %v", installed, test.installed)
			}
		})
	}
}

func TestMakeAloneShowsWhatThereIs(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", root).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, target := range []string{"demo", "test", "stress", "bench", "lint", "build", "help", "clean"} {
		if !strings.Contains(string(out), "  make "+target+" ") {
			t.Errorf("make %s is not in the list:\n%s", target, out)
		}
	}
}

// fakeGo notes what it is told to fuzz; a target named FuzzBad fails.
const fakeGo = `case "$*" in
*FuzzBad*) exit 1 ;;
*) echo "$*" >>"$LOG" ;;
esac`

// fakeGit finds three fuzz targets in two packages.
func fakeGit(third string) string {
	return `printf 'one/a_test.go:7:func FuzzA(f *testing.F) {\none/b_test.go:9:func FuzzB(f *testing.F) {\n` +
		`two/deep/a_test.go:12:func ` + third + `(f *testing.F) {\n'`
}

func TestFuzzRunsEveryTarget(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": fakeGo, "git": fakeGit("FuzzC")})
	if out, exit := m.run(t, "fuzz.sh", "5s"); exit != 0 {
		t.Fatalf("exit %d: %s", exit, out)
	}
	want := `test -run ^$ -fuzz ^FuzzA$ -fuzztime 5s -fuzzminimizetime 10x ./one
test -run ^$ -fuzz ^FuzzB$ -fuzztime 5s -fuzzminimizetime 10x ./one
test -run ^$ -fuzz ^FuzzC$ -fuzztime 5s -fuzzminimizetime 10x ./two/deep
`
	if got := m.notes(t); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestFuzzFailsWithItsTarget(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": fakeGo, "git": fakeGit("FuzzBad")})
	if out, exit := m.run(t, "fuzz.sh"); exit != 1 {
		t.Fatalf("exit %d: %s", exit, out)
	}
	m = newMachine(t, map[string]string{"go": fakeGo, "git": "exit 1"})
	if out, exit := m.run(t, "fuzz.sh"); exit != 1 || !strings.Contains(out, "no fuzz target") {
		t.Fatalf("exit %d when there is no target: %s", exit, out)
	}
}

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/internal/repo"
)

// norun are the commands that a document may show without a test, each with the
// reason.
var norun = map[string]string{
	"make test":   "runs this test",
	"make demo":   "stands for itself at the top; the tour plays it in a folder",
	"make stress": "runs for hours",
	"make bench":  "measures one machine",
	"make build":  "compiles for five platforms",
	"make lint":   "is a step of make test",

	"pi-workflows host --notify mail=exec:/usr/local/bin/mail-me \\\n" +
		"    --notify pager=https://pager.example.com/in --notify-secret env:PAGER_SECRET \\\n" +
		"    --notify-on effect_in_doubt,deletion_stuck": "tells people at addresses that are examples",
}

// TestDocumentsShowWhatHappens runs every command of README.md and docs/.
func TestDocumentsShowWhatHappens(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	documents := documentsOf(t, root)
	bin := t.TempDir()
	if len(documents) > 0 {
		if _, err := repo.Build(t.Context(), root, bin); err != nil {
			t.Fatal(err)
		}
	}
	goEnv := goEnvironment(t)
	for name, steps := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			clone := filepath.Join(base, "pi-workflows")
			for _, args := range [][]string{
				{"clone", "--quiet", root, clone},
				{"-C", clone, "switch", "--quiet", "--force-create", "main"}, // whatever branch is tested
			} {
				if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
					t.Fatalf("git %s: %v\n%s", args, err, out)
				}
			}
			s, err := newSession(base, clone, bin, append(os.Environ(), goEnv...))
			if err != nil {
				t.Fatal(err)
			}
			tell(t, s, name, steps)
		})
	}
}

// tell runs the steps of a document until one does not do what it says: the
// later ones build on it.
func tell(t *testing.T, s *session, name string, steps []Step) {
	t.Helper()
	for _, step := range steps {
		got, status, err := s.run(t.Context(), step.Command)
		if err != nil {
			t.Fatalf("%s:%d: %v", name, step.Line, err)
		}
		if problem := compare(step, got, status); problem != "" {
			t.Fatalf("%s:%d: $ %s\n%s", name, step.Line, step.Command, problem)
		}
	}
}

// compare says what is wrong with the outcome of a step; nothing if it is as
// documented.
func compare(step Step, got []string, status int) string {
	output := strings.Join(got, "\n")
	if status != 0 && !step.MayFail {
		return fmt.Sprintf("exit code %d, and the document does not show it with `%s`; output:\n%s", status, showStatus, output)
	}
	if !matches(normalize(step.Output), normalize(got)) {
		return fmt.Sprintf("the document says:\n%s\nbut it prints:\n%s\ncompared as:\n%s\nand:\n%s",
			strings.Join(step.Output, "\n"), output,
			strings.Join(normalize(step.Output), "\n"), strings.Join(normalize(got), "\n"))
	}
	return ""
}

// documentsOf returns the steps of README.md and of all documents below docs/
// that have any.
func documentsOf(t *testing.T, root string) map[string][]Step {
	t.Helper()
	names := []string{"README.md"}
	files, err := repo.Files(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f, "docs/") && strings.HasSuffix(f, ".md") {
			names = append(names, f)
		}
	}
	documents := map[string][]Step{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		steps, err := Steps(string(text), norun)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(steps) > 0 {
			documents[name] = steps
		}
	}
	if len(documents["README.md"]) == 0 {
		t.Fatal("README.md shows no command: it needs a ```console block")
	}
	return documents
}

// goEnvironment lets a document call go without filling another cache.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

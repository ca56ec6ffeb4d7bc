package git_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piworkflows/internal/git"
)

func TestCheckBranch(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"main": true, "feature/one": true, "a.b": true, "ünï": true, "@": true, "a@b": true, "-": false,
		"": false, "-x": false, "HEAD": false, "refs/heads/main": false, "a..b": false, "a b": false,
		"a~1": false, "a^": false, "a:b": false, "a?": false, "a*": false, "a[": false, `a\b`: false,
		"/a": false, "a/": false, "a//b": false, ".a": false, "a/.b": false, "a.": false, "a.lock": false,
		"a.lock/b": false, "a@{1}": false, "a\x7f": false, "a\nb": false,
		strings.Repeat("x", 229): true, strings.Repeat("x", 230): false,
	} {
		err := git.CheckBranch(name)
		var refused *git.RefNameError
		if valid && err != nil || !valid && (!errors.As(err, &refused) || refused.Name != name) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}

func TestCheckRef(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"refs/heads/main": true, "refs/pi-workflows/x/candidate": true,
		"": false, "main": false, "HEAD": false, "refs/": false, "refs/heads/": false, "heads/main": false,
	} {
		if err := git.CheckRef(name); (err == nil) != valid {
			t.Errorf("%q: error %v", name, err)
		}
	}
}

// Our rules are those of Git itself.
func TestRefNamesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(
		rapid.SampledFrom([]string{".", "..", "/", "@", "{", "@{", ".lock", "lock", "-", "HEAD", "~", "^", ":", "?", "*", "[", `\`, " ", "\x01", "\x7f", "ü"}),
		rapid.StringMatching(`[a-z]{1,3}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), "")
		theirs := exec.CommandContext(t.Context(), "git", "check-ref-format", "refs/heads/"+name).Run() == nil
		if ours := git.CheckRef("refs/heads/"+name) == nil; ours != theirs {
			t.Fatalf("refs/heads/%q: ours %v, theirs %v", name, ours, theirs)
		}
		if git.CheckBranch(name) == nil && !theirs {
			t.Fatalf("branch %q is accepted", name)
		}
	})
}

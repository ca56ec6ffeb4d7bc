package gitmerge

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"piworkflows/controller"
	"piworkflows/internal/git"
)

// Bounds of a spec.
const (
	// DefaultCheckTimeout is how long a check may run if the spec does not say,
	// MaxCheckTimeout the most that it may say.
	DefaultCheckTimeout = 10 * time.Minute
	MaxCheckTimeout     = 24 * time.Hour
	// MaxCheckArgs bounds the words of a check, MaxCheckBytes their bytes.
	MaxCheckArgs  = 256
	MaxCheckBytes = 32 << 10
	// MaxPathBytes bounds the path of a repository.
	MaxPathBytes = 4096
)

// Spec asks for one commit of a branch to be merged.
type Spec struct {
	// Repository is the absolute path of a local repository, bare or not.
	Repository string `json:"repository"`
	// Branch is merged into Target; both are names of branches such as main.
	Branch string `json:"branch"`
	Target string `json:"target"`
	// ExpectedHead is the commit of Branch that is meant, in full hex. Another
	// one is never merged.
	ExpectedHead string `json:"expectedHead"`
	// Check is the command that proves the merged tree: a program and its
	// arguments, no shell. It runs in a worktree of the merge and passes with
	// exit code 0.
	Check []string `json:"check"`
	// CheckTimeout bounds the check; DefaultCheckTimeout if absent.
	CheckTimeout Duration `json:"checkTimeout,omitzero"`
	// Approved allows the merge. Without it the result is verified only.
	Approved bool `json:"approved"`
}

// Duration is a time span that JSON writes as text, for example "90s".
type Duration time.Duration

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, time.Duration(d).String()), nil
}

// UnmarshalJSON reads the text form.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return errors.New(`a duration is text such as "90s" or "10m"`)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf(`%.40q is no duration: write it like "90s" or "10m"`, text)
	}
	*d = Duration(parsed)
	return nil
}

// orDefault returns the duration, or the one that stands for absence.
func (d Duration) orDefault() Duration {
	if d == 0 {
		return Duration(DefaultCheckTimeout)
	}
	return d
}

// problems lists everything that is wrong with the spec.
func (s Spec) problems() []controller.SpecProblem {
	var p problems
	p.repository(s.Repository)
	p.merge(s.Branch, s.Target)
	p.commit("/expectedHead", s.ExpectedHead)
	p.check(s.Check, s.CheckTimeout)
	return p.list
}

// problems collects what is wrong with a spec or with a run input.
type problems struct{ list []controller.SpecProblem }

func (p *problems) addf(pointer, format string, args ...any) {
	p.list = append(p.list, controller.SpecProblem{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// repository looks at the disk too: a mistyped path is better refused now than
// found by a pass. A repository that goes missing later is a condition.
func (p *problems) repository(path string) {
	const at = "/repository"
	switch {
	case len(path) > MaxPathBytes:
		p.addf(at, "is longer than %d bytes", MaxPathBytes)
	case !filepath.IsAbs(path) || strings.ContainsFunc(path, unicode.IsControl):
		p.addf(at, "%.200q is no absolute path without control characters", path)
	case !looksLikeRepository(path):
		p.addf(at, "no Git repository at %.200s: correct the path, or make one there with git init", path)
	}
}

func looksLikeRepository(path string) bool {
	if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil {
		return true
	}
	info, err := os.Stat(filepath.Join(path, "objects"))
	return err == nil && info.IsDir()
}

func (p *problems) merge(branch, target string) {
	p.branch("/branch", branch)
	p.branch("/target", target)
	if branch == target {
		p.addf("/target", "a branch cannot be merged into itself")
	}
}

func (p *problems) branch(pointer, name string) {
	if err := git.CheckBranch(name); err != nil {
		p.addf(pointer, "%v", err)
	}
}

var commitPattern = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func (p *problems) commit(pointer, hash string) {
	if !commitPattern.MatchString(hash) {
		p.addf(pointer, "%.80q is no commit: give its full hash, 40 (or 64) hex digits in lower case", hash)
	}
}

func (p *problems) check(argv []string, timeout Duration) {
	const at = "/check"
	switch {
	case len(argv) == 0 || argv[0] == "":
		p.addf(at, `a check is required: a program and its arguments, such as ["make", "test"]`)
	case len(argv) > MaxCheckArgs:
		p.addf(at, "has %d words, over the limit of %d: put it in a script", len(argv), MaxCheckArgs)
	case len(strings.Join(argv, " ")) > MaxCheckBytes:
		p.addf(at, "is longer than %d bytes: put it in a script", MaxCheckBytes)
	case strings.ContainsRune(strings.Join(argv, ""), 0):
		p.addf(at, "holds a NUL character, which no program can be given")
	}
	if timeout < 0 || time.Duration(timeout) > MaxCheckTimeout {
		p.addf("/checkTimeout", "%s is not between 0 and %s", time.Duration(timeout), MaxCheckTimeout)
	}
}

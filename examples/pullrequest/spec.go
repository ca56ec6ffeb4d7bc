package main

import (
	"regexp"

	"piworkflows/controller"
	"piworkflows/examples/pullrequest/provider"
)

// name is the name of the controller.
const name = "pull-request"

// spec asks for one commit of a pull request to be merged.
type spec struct {
	// Repository is OWNER/NAME.
	Repository string `json:"repository"`
	Number     int    `json:"number"`
	// ExpectedHead is the commit that is meant. Another one is never merged.
	ExpectedHead string `json:"expectedHead"`
	// Checks are those that must have passed at that commit.
	Checks []string `json:"checks"`
	// Repair allows one commit on the branch that mends what a review found. It is
	// a new head, which nobody has approved.
	Repair bool `json:"repair"`
	// Approved allows the merge.
	Approved bool `json:"approved"`
}

func (s spec) key() string { return provider.Key(s.Repository, s.Number) }

var (
	repositoryPattern = regexp.MustCompile(`^[A-Za-z0-9-]{1,39}/[A-Za-z0-9_.-]{1,100}$`)
	commitPattern     = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// maxChecks bounds the checks of a spec.
const maxChecks = 50

// ValidateSpec implements controller.SpecValidator.
func (reconciler) ValidateSpec(s spec) (problems []controller.SpecProblem) {
	refuse := func(wrong bool, pointer, message string) {
		if wrong {
			problems = append(problems, controller.SpecProblem{Pointer: pointer, Message: message})
		}
	}
	refuse(!repositoryPattern.MatchString(s.Repository), "/repository", "is not OWNER/NAME")
	refuse(s.Number < 1, "/number", "is no number of a pull request")
	refuse(!commitPattern.MatchString(s.ExpectedHead), "/expectedHead", "is no commit: give all its 40 hex digits")
	refuse(len(s.Checks) == 0 || len(s.Checks) > maxChecks, "/checks", "name the checks that must have passed, 50 at most")
	return problems
}

// status is what the controller has to know of what it did.
type status struct {
	// Head is where the pull request was at last.
	Head string `json:"head,omitempty"`
	// Round counts the reviews that came to nothing: the next one is another.
	Round int `json:"round,omitempty"`
	// Proposal is the change whose result is not known yet. While there is one, no
	// other is made.
	Proposal *proposal `json:"proposal,omitempty"`
	// Rejections counts the proposals that came to nothing.
	Rejections int `json:"rejections,omitempty"`
	// Repaired is the commit that mended Head, if that is what we did last.
	Repaired string `json:"repaired,omitempty"`
	// Merged is the merge commit, if we merged.
	Merged string `json:"merged,omitempty"`
}

// proposal is one intended change. It is in the status before its effect is tried,
// so that the effect is found again wherever the pull request is by then.
type proposal struct {
	// Kind is that of the effect: mergeKind or repairKind.
	Kind       string `json:"kind"`
	Key        string `json:"key"`
	Generation int64  `json:"generation"`
	Number     int    `json:"number"`
	Repository string `json:"repository"`
	// Head is the commit that the change is made to, Branch where it is.
	Head   string `json:"head"`
	Branch string `json:"branch"`
	// Files are the content of a repair.
	Files []provider.File `json:"files,omitempty"`
}

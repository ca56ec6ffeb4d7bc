package git

import "strings"

// branchPrefix is where branches live.
const branchPrefix = "refs/heads/"

// maxRefName keeps the lock file of a ref within the 255 bytes that file
// systems allow for one name, and whole names within a line.
const maxRefName = 240

// BranchRef returns the full ref name of a branch.
func BranchRef(branch string) string { return branchPrefix + branch }

// CheckBranch checks the short name of a branch by the rules of `git
// check-ref-format --branch`, and refuses full ref names, which would become
// refs/heads/refs/heads/…. The error is a *RefNameError.
func CheckBranch(name string) error {
	rule := branchRule(name)
	if rule == "" {
		rule = refRule(branchPrefix + name)
	}
	if rule != "" {
		return &RefNameError{Name: name, Rule: rule}
	}
	return nil
}

func branchRule(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case strings.HasPrefix(name, "-"):
		return "a branch must not begin with -"
	case name == "HEAD":
		return "a branch must not be called HEAD"
	case strings.HasPrefix(name, "refs/"):
		return "give the name of the branch without refs/heads/"
	}
	return ""
}

// CheckRef checks a full ref name by the rules of `git check-ref-format`. The
// error is a *RefNameError.
func CheckRef(name string) error {
	rule := refRule(name)
	if rule == "" && !strings.HasPrefix(name, "refs/") {
		rule = "a full name begins with refs/"
	}
	if rule != "" {
		return &RefNameError{Name: name, Rule: rule}
	}
	return nil
}

func refRule(name string) string {
	switch {
	case len(name) > maxRefName:
		return "it is longer than 240 bytes"
	case strings.ContainsFunc(name, isForbidden):
		return "it holds a space, a control character or one of ~ ^ : ? * [ \\"
	case strings.Contains(name, ".."), strings.Contains(name, "@{"):
		return "it holds .. or @{"
	case strings.HasSuffix(name, "."):
		return "it ends with a dot"
	}
	for part := range strings.SplitSeq(name, "/") {
		if rule := componentRule(part); rule != "" {
			return rule
		}
	}
	return ""
}

func componentRule(part string) string {
	switch {
	case part == "":
		return "a part between slashes is empty"
	case strings.HasPrefix(part, "."):
		return "a part begins with a dot"
	case strings.HasSuffix(part, ".lock"):
		return "a part ends with .lock"
	}
	return ""
}

func isForbidden(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r)
}

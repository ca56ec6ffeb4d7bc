package fswatch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ignore says what is passed over, with all that is below it.
type ignore struct{ names, paths []string }

// newIgnore sorts patterns by what they are compared with.
func newIgnore(patterns []string) ignore {
	i := ignore{names: []string{".git"}}
	for _, pattern := range patterns {
		if strings.Contains(pattern, "/") {
			i.paths = append(i.paths, strings.Trim(pattern, "/"))
		} else {
			i.names = append(i.names, pattern)
		}
	}
	return i
}

func (i ignore) check() (problems []error) {
	for _, pattern := range slices.Concat(i.names, i.paths) {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			problems = append(problems, fmt.Errorf("the pattern %.200q of Ignore is none", pattern))
		}
	}
	return problems
}

// within reports whether a path, or a folder that it is in, is ignored.
func (i ignore) within(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if i.itself(name) {
			return true
		}
	}
	return false
}

// itself reports whether a path is ignored for its own sake.
func (i ignore) itself(name string) bool {
	return anyMatch(i.names, path.Base(name)) || anyMatch(i.paths, name)
}

func anyMatch(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		match, err := path.Match(pattern, text)
		return match && err == nil
	})
}

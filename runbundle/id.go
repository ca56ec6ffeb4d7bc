package runbundle

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

const (
	idStamp    = "20060102T150405Z"
	slugLength = 40
	nameLength = 8
)

var (
	runIDs     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)
	notForSlug = regexp.MustCompile(`[^a-z0-9]+`)
)

// NewRunID returns the ID of a run that starts now: the second, the name of the
// workflow as a slug, and the first eight characters of unique, which is a
// random UUID. Sorted as texts, IDs are in the order of their seconds.
// Spec: run bundle format, Location and ids.
func NewRunID(workflow string, now time.Time, unique string) string {
	slug := strings.Trim(notForSlug.ReplaceAllString(strings.ToLower(workflow), "-"), "-")
	if slug == "" {
		slug = "workflow"
	}
	slug = slug[:min(len(slug), slugLength)]
	return fmt.Sprintf("%s-%s-%s", now.UTC().Format(idStamp), slug, unique[:min(len(unique), nameLength)])
}

// CheckRunID returns an *IDError for a run ID that names no folder safely: it
// begins with a letter or digit and goes on with at most 199 letters, digits,
// dots, underscores and hyphens.
func CheckRunID(id string) error {
	if runIDs.MatchString(id) {
		return nil
	}
	return &IDError{RunID: id}
}

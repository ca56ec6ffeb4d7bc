package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Our identity, so that a commit does not depend on who runs the program, nor
// on a configuration that may have no identity at all.
const (
	authorName  = "Pi Workflows"
	authorEmail = "pi-workflows@localhost"
)

// Commit describes a commit. The same description gives the same hash.
type Commit struct {
	Tree    Hash
	Parents []Hash
	Message string
	// Time is the time of author and committer, with the resolution of seconds.
	Time time.Time
}

// CommitTree writes a commit and returns its hash. No ref points to it yet.
func (r *Repo) CommitTree(ctx context.Context, c Commit) (Hash, error) {
	args := []string{"commit-tree", string(c.Tree)}
	for _, parent := range c.Parents {
		args = append(args, "-p", string(parent))
	}
	date := fmt.Sprintf("@%d +0000", c.Time.Unix())
	hash, err := r.lineOf(ctx, call{
		args:  args,
		stdin: c.Message,
		env: []string{
			"GIT_AUTHOR_NAME=" + authorName, "GIT_AUTHOR_EMAIL=" + authorEmail, "GIT_AUTHOR_DATE=" + date,
			"GIT_COMMITTER_DATE=" + date,
		},
	})
	return Hash(hash), err
}

// CommitterTimes returns when each commit was committed, by its own word.
func (r *Repo) CommitterTimes(ctx context.Context, commits ...Hash) ([]time.Time, error) {
	args := []string{"rev-list", "--no-walk=unsorted", "--no-commit-header", "--format=%ct"}
	for _, c := range commits {
		args = append(args, string(c))
	}
	out, err := r.run(ctx, call{args: args})
	if err != nil {
		return nil, err
	}
	var times []time.Time
	for word := range strings.FieldsSeq(out) {
		seconds, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, malformed("rev-list", word)
		}
		times = append(times, time.Unix(seconds, 0).UTC())
	}
	if len(times) != len(commits) {
		return nil, malformed("rev-list", out)
	}
	return times, nil
}

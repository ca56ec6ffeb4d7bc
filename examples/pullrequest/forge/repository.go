package forge

import (
	"crypto/sha1" //nolint:gosec // commits are named so, and nothing is protected by it
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// base is the branch that everything is merged into.
const base = "main"

// Files are the contents of a commit, by their paths.
type Files map[string]string

// repository is one repository with its pull requests.
type repository struct {
	name     string
	commits  map[string]commit
	trees    map[string]Files
	branches map[string]string
	pulls    map[int]*pull
	checks   map[string]map[string]string // by commit and name; empty while it runs
}

type commit struct {
	parent, message, tree string
}

// pull is one pull request.
type pull struct {
	number        int
	title, branch string
	base          string // the commit that it was begun at
	merged        bool
	mergeCommit   string
	closedAt      string // the head at which it was closed
	update        time.Time
}

// Pull is what a test or a story has to know of a pull request.
type Pull struct {
	Head, MergeCommit string
	Merged            bool
}

// hash names what was made as the n-th thing.
func (s *Server) hash(what string) string {
	s.made++
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d", what, s.made)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// repo returns a repository, and makes it if there is none. The lock is held.
func (s *Server) repo(name string) *repository {
	if r := s.repos[name]; r != nil {
		return r
	}
	r := &repository{
		name: name, commits: map[string]commit{}, trees: map[string]Files{}, branches: map[string]string{},
		pulls: map[int]*pull{}, checks: map[string]map[string]string{},
	}
	s.repos[name] = r
	r.branches[base] = s.commit(r, "", "begin", Files{})
	return r
}

// commit adds a commit with these files to those of its parent.
func (s *Server) commit(r *repository, parent, message string, files Files) string {
	return s.commitTree(r, parent, message, s.tree(r, r.trees[r.commits[parent].tree], files))
}

func (s *Server) tree(r *repository, under, files Files) string {
	all := maps.Clone(under)
	if all == nil {
		all = Files{}
	}
	maps.Copy(all, files)
	name := s.hash("tree")
	r.trees[name] = all
	return name
}

func (s *Server) commitTree(r *repository, parent, message, tree string) string {
	name := s.hash(message)
	r.commits[name] = commit{parent: parent, message: message, tree: tree}
	return name
}

// head is the commit that a pull request is at.
func (r *repository) head(p *pull) string {
	if p.closedAt != "" {
		return p.closedAt
	}
	return r.branches[p.branch]
}

// diff shows every file that a pull request changes, as a whole.
func (r *repository) diff(p *pull) string {
	old, now := r.trees[r.commits[p.base].tree], r.trees[r.commits[r.head(p)].tree]
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if old[path] == now[path] {
			continue
		}
		fmt.Fprintf(&text, "diff --git a/%s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n", path)
		text.WriteString(prefixed("-", old[path]) + prefixed("+", now[path]))
	}
	return text.String()
}

func prefixed(sign, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(sign + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}

// touch makes a pull request the one that changed last. The time of a forge passes
// by a second with each change.
func (s *Server) touch(p *pull) {
	s.changes++
	p.update = epoch.Add(time.Duration(s.changes) * time.Second)
}

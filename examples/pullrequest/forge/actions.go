package forge

import (
	"fmt"
	"time"
)

// epoch is when the forge was made, by its own clock.
var epoch = time.Date(2027, 1, 5, 8, 0, 0, 0, time.UTC)

// Open opens a pull request with one commit and returns its number.
func (s *Server) Open(repo, title string, files Files) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo(repo)
	number := len(r.pulls) + 1
	p := &pull{number: number, title: title, branch: fmt.Sprintf("change-%d", number), base: r.branches[base]}
	s.touch(p)
	r.pulls[number] = p
	r.branches[p.branch] = s.commit(r, r.branches[base], title, files)
	s.tell(r, p, "pull_request", "opened")
	return number
}

// Push adds a commit to a pull request, as a colleague does, and returns it.
func (s *Server) Push(repo string, number int, files Files) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(s.repo(repo), number, files)
}

func (s *Server) push(r *repository, number int, files Files) string {
	p := r.pulls[number]
	r.branches[p.branch] = s.commit(r, r.head(p), "push", files)
	s.touch(p)
	s.tell(r, p, "pull_request", "synchronize")
	return r.head(p)
}

// Check records the conclusion of a check at the head of a pull request: success,
// failure, or nothing while it runs.
func (s *Server) Check(repo string, number int, name, conclusion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo(repo)
	p := r.pulls[number]
	head := r.head(p)
	if r.checks[head] == nil {
		r.checks[head] = map[string]string{}
	}
	r.checks[head][name] = conclusion
	s.tell(r, p, "check_run", "completed")
}

// Pull returns what there is of a pull request.
func (s *Server) Pull(repo string, number int) Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo(repo)
	p := r.pulls[number]
	return Pull{Head: r.head(p), MergeCommit: p.mergeCommit, Merged: p.merged}
}

// File returns a file of a commit.
func (s *Server) File(repo, commit, path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo(repo)
	return r.trees[r.commits[commit].tree][path]
}

// Merges returns the calls that asked for a merge, in order.
func (s *Server) Merges() []MergeCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]MergeCall(nil), s.merges...)
}

// LoseAnswer lets the next merge be made and its answer be lost.
func (s *Server) LoseAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = true
}

// PushBeforeMerge lets a colleague push when the next merge was asked for, but not
// made yet.
func (s *Server) PushBeforeMerge(repo string, number int, files Files) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = func() { s.push(s.repo(repo), number, files) }
}

// Deliver sends webhooks to a URL from now on, each of them twice.
func (s *Server) Deliver(url string) { s.hooks.to(url) }

// Mute loses every webhook from now on.
func (s *Server) Mute() { s.hooks.to("") }

// Delivered returns how many deliveries got which answer.
func (s *Server) Delivered() map[int]int { return s.hooks.answers() }

package forge

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listPulls lists all of them, the one that changed last first, as the example asks
// for them.
func (s *Server) listPulls(r *repository, w http.ResponseWriter, _ *http.Request) {
	pulls := slices.SortedFunc(maps.Values(r.pulls), func(a, b *pull) int { return b.update.Compare(a.update) })
	list := []any{}
	for _, p := range pulls {
		list = append(list, r.pull(p))
	}
	reply(w, http.StatusOK, list)
}

func (s *Server) getPull(r *repository, w http.ResponseWriter, q *http.Request) {
	p := r.find(q)
	switch {
	case p == nil:
		refuse(w, http.StatusNotFound, "Not Found")
	case strings.Contains(q.Header.Get("Accept"), "diff"):
		_, _ = w.Write([]byte(r.diff(p)))
	default:
		reply(w, http.StatusOK, r.pull(p))
	}
}

func (r *repository) find(q *http.Request) *pull {
	number, err := strconv.Atoi(q.PathValue("number"))
	if err != nil {
		return nil
	}
	return r.pulls[number]
}

// pull is a pull request as GitHub shows it.
func (r *repository) pull(p *pull) map[string]any {
	state := "open"
	if p.merged {
		state = "closed"
	}
	return map[string]any{
		"number": p.number, "title": p.title, "state": state, "merged": p.merged, "draft": false,
		"merge_commit_sha": p.mergeCommit, "updated_at": p.update.Format(time.RFC3339),
		"head": map[string]any{"ref": p.branch, "sha": r.head(p)},
		"base": map[string]any{"ref": base, "sha": r.branches[base]},
	}
}

// merge merges a pull request if it is at the commit that was asked for.
func (s *Server) merge(r *repository, w http.ResponseWriter, q *http.Request) {
	var body struct {
		SHA string `json:"sha"`
	}
	p := r.find(q)
	if p == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	if !take(w, q, &body) {
		return
	}
	if s.before != nil {
		s.before()
		s.before = nil
	}
	status, message := http.StatusOK, "Pull Request successfully merged"
	switch {
	case p.merged:
		status, message = http.StatusMethodNotAllowed, "Pull Request is not mergeable"
	case body.SHA != "" && body.SHA != r.head(p):
		status, message = http.StatusConflict, "Head branch was modified. Review and try the merge again."
	}
	s.merges = append(s.merges, MergeCall{Repository: r.name, Number: p.number, Head: body.SHA, Status: status})
	if status != http.StatusOK {
		refuse(w, status, message)
		return
	}
	s.makeMerge(r, p)
	if s.lose {
		s.lose = false
		panic(http.ErrAbortHandler) // the connection breaks
	}
	reply(w, http.StatusOK, map[string]any{"sha": p.mergeCommit, "merged": true, "message": message})
}

func (s *Server) makeMerge(r *repository, p *pull) {
	head := r.head(p)
	p.closedAt, p.merged = head, true
	p.mergeCommit = s.commit(r, r.branches[base], "Merge "+p.title, r.trees[r.commits[head].tree])
	r.branches[base] = p.mergeCommit
	s.touch(p)
	s.tell(r, p, "pull_request", "closed")
}

func (s *Server) listChecks(r *repository, w http.ResponseWriter, q *http.Request) {
	runs := []any{}
	checks := r.checks[q.PathValue("head")]
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		run := map[string]any{"name": name, "head_sha": q.PathValue("head"), "status": "in_progress"}
		if conclusion := checks[name]; conclusion != "" {
			run["status"], run["conclusion"] = "completed", conclusion
		}
		runs = append(runs, run)
	}
	reply(w, http.StatusOK, map[string]any{"total_count": len(runs), "check_runs": runs})
}

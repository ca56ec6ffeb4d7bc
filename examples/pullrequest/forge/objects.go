package forge

import "net/http"

func (s *Server) getCommit(r *repository, w http.ResponseWriter, q *http.Request) {
	sha := q.PathValue("sha")
	if _, found := r.commits[sha]; !found {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	reply(w, http.StatusOK, r.commit(sha))
}

// commit is a commit as GitHub shows it.
func (r *repository) commit(sha string) map[string]any {
	c := r.commits[sha]
	parents := []any{}
	if c.parent != "" {
		parents = append(parents, map[string]any{"sha": c.parent})
	}
	return map[string]any{"sha": sha, "message": c.message, "tree": map[string]any{"sha": c.tree}, "parents": parents}
}

func (s *Server) createTree(r *repository, w http.ResponseWriter, q *http.Request) {
	var body struct {
		BaseTree string `json:"base_tree"` //nolint:tagliatelle // the name is GitHub's
		Tree     []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"tree"`
	}
	if !take(w, q, &body) {
		return
	}
	under, found := r.trees[body.BaseTree]
	if !found {
		refuse(w, http.StatusUnprocessableEntity, "base_tree is not a valid tree")
		return
	}
	files := Files{}
	for _, entry := range body.Tree {
		files[entry.Path] = entry.Content
	}
	reply(w, http.StatusCreated, map[string]any{"sha": s.tree(r, under, files)})
}

func (s *Server) createCommit(r *repository, w http.ResponseWriter, q *http.Request) {
	var body struct {
		Message string   `json:"message"`
		Tree    string   `json:"tree"`
		Parents []string `json:"parents"`
	}
	if !take(w, q, &body) {
		return
	}
	if r.trees[body.Tree] == nil || len(body.Parents) != 1 {
		refuse(w, http.StatusUnprocessableEntity, "Tree SHA or parents do not exist")
		return
	}
	reply(w, http.StatusCreated, r.commit(s.commitTree(r, body.Parents[0], body.Message, body.Tree)))
}

// updateRef moves a branch, only forward unless it is forced.
func (s *Server) updateRef(r *repository, w http.ResponseWriter, q *http.Request) {
	var body struct {
		SHA   string `json:"sha"`
		Force bool   `json:"force"`
	}
	if !take(w, q, &body) {
		return
	}
	branch := q.PathValue("branch")
	if !body.Force && r.commits[body.SHA].parent != r.branches[branch] {
		refuse(w, http.StatusUnprocessableEntity, "Update is not a fast forward")
		return
	}
	r.branches[branch] = body.SHA
	for _, p := range r.pulls {
		if p.branch == branch {
			s.touch(p)
			s.tell(r, p, "pull_request", "synchronize")
		}
	}
	reply(w, http.StatusOK, map[string]any{
		"ref": "refs/heads/" + branch, "object": map[string]any{"type": "commit", "sha": body.SHA},
	})
}

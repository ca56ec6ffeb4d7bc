// Package forge is a GitHub for one program: it speaks as much of GitHub's REST API
// and of its webhooks as the example needs, over real HTTP on this machine, and
// keeps everything in memory. It does what GitHub does when things go wrong: it
// delivers twice, and it loses answers.
package forge

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Server is a forge. Close it. It is safe for concurrent use.
type Server struct {
	token string
	http  *httptest.Server
	hooks hooks

	mu    sync.Mutex
	repos map[string]*repository
	// made counts what has a hash, changes the changes of pull requests.
	made, changes int
	// merges are the calls that asked for a merge, in order.
	merges []MergeCall
	// lose and before are for the next call that asks for a merge.
	lose   bool
	before func()
}

// MergeCall is one call that asked for a merge.
type MergeCall struct {
	Repository string
	Number     int
	// Head is the commit that was to be merged, Status the answer.
	Head   string
	Status int
}

// New starts a forge that lets in who brings the token, and signs its webhooks with
// the secret.
func New(token, secret string) *Server {
	s := &Server{token: token, repos: map[string]*repository{}}
	s.hooks.start(secret)
	s.http = httptest.NewServer(s.handler())
	return s
}

// URL is the base of the API.
func (s *Server) URL() string { return s.http.URL + "/" }

// Close ends the forge, once what it had to deliver is delivered.
func (s *Server) Close() {
	s.hooks.stop()
	s.http.Close()
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	const repo = "/repos/{owner}/{repo}"
	routes := map[string]func(r *repository, w http.ResponseWriter, q *http.Request){
		"GET " + repo + "/pulls":                     s.listPulls,
		"GET " + repo + "/pulls/{number}":            s.getPull,
		"PUT " + repo + "/pulls/{number}/merge":      s.merge,
		"GET " + repo + "/commits/{head}/check-runs": s.listChecks,
		"GET " + repo + "/git/commits/{sha}":         s.getCommit,
		"POST " + repo + "/git/trees":                s.createTree,
		"POST " + repo + "/git/commits":              s.createCommit,
		"PATCH " + repo + "/git/refs/heads/{branch}": s.updateRef,
	}
	for pattern, answer := range routes {
		mux.HandleFunc(pattern, s.in(answer))
	}
	return mux
}

// in lets in who brings the token, and finds the repository. The lock is held
// during the answer.
func (s *Server) in(answer func(r *repository, w http.ResponseWriter, q *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer "+s.token {
			refuse(w, http.StatusUnauthorized, "Bad credentials")
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		r := s.repos[q.PathValue("owner")+"/"+q.PathValue("repo")]
		if r == nil {
			refuse(w, http.StatusNotFound, "Not Found")
			return
		}
		answer(r, w, q)
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"message": message})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // who does not listen any more is no concern of ours
}

// take reads the body of a request.
func take(w http.ResponseWriter, q *http.Request, into any) bool {
	const most = 1 << 20
	err := json.NewDecoder(http.MaxBytesReader(w, q.Body, most)).Decode(into)
	if err != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
	}
	return err == nil
}

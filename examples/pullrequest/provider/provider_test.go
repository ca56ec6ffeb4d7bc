package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/examples/pullrequest/forge"
	"piworkflows/examples/pullrequest/provider"
	"piworkflows/secret"
)

const (
	repository = "octo/house"
	token      = "a-token-of-the-tests"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session reaches an API with the token.
func session(t *testing.T, api string) *provider.Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	ref, err := secret.Parse("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := provider.GitHub{API: api, Token: ref}.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s
}

func TestErrorsAreSortedByWhatCanBeDone(t *testing.T) {
	t.Parallel()
	date := time.Date(2027, 1, 5, 8, 0, 0, 0, time.UTC)
	tests := []struct {
		name    string
		status  int
		headers map[string]string
		is      func(error) bool
	}{
		{"not found", 404, nil, isA[*provider.MissingError]},
		{"no token", 401, nil, isA[*provider.DeniedError]},
		{"no right", 403, nil, isA[*provider.DeniedError]},
		{"another head", 409, nil, isA[*provider.RefusedError]},
		{"not mergeable", 405, nil, isA[*provider.RefusedError]},
		{"its own trouble", 502, nil, unknown},
		{"a redirect", 302, map[string]string{"Location": "http://127.0.0.1:1/"}, unknown},
		{
			"the limit of an hour", 403, map[string]string{
				"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1799136600", "Date": date.Format(http.TimeFormat),
			}, busyFor(time.Unix(1799136600, 0).Sub(date)),
		},
		{"the limit of an hour, without a time", 403, map[string]string{"X-Ratelimit-Remaining": "0"}, busyFor(time.Minute)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range test.headers {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, `{"message":"no"}`)
			}))
			defer server.Close()
			_, err := session(t, server.URL+"/").Merge(t.Context(), repository, 1, "head", "")
			if err == nil || !test.is(err) || strings.Contains(err.Error(), token) {
				t.Errorf("%T %[1]v", err)
			}
		})
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// unknown is an error after which nobody knows whether the change was made.
func unknown(err error) bool {
	return !isA[*provider.MissingError](err) && !isA[*provider.DeniedError](err) &&
		!isA[*provider.RefusedError](err) && !isA[*provider.BusyError](err)
}

func busyFor(d time.Duration) func(error) bool {
	return func(err error) bool {
		busy, ok := errors.AsType[*provider.BusyError](err)
		return ok && busy.RetryAfter() == d
	}
}

// The token goes to the API and nowhere else.
func TestTheTokenDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect} {
		api := httptest.NewServer(http.RedirectHandler(other.URL, status))
		if _, err := session(t, api.URL+"/").Pull(t.Context(), repository, 1); err == nil {
			t.Errorf("%d is no error", status)
		}
		api.Close()
	}
	if asked != 0 {
		t.Errorf("another server was asked %d times", asked)
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, endless{}, 5<<20)
	}))
	defer api.Close()
	diff, err := session(t, api.URL+"/").Diff(t.Context(), repository, 1)
	if err != nil || len(diff) != 4<<20 {
		t.Errorf("%d bytes, %v", len(diff), err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// What is read of the forge is what happened there.
func TestReadAndPush(t *testing.T) {
	t.Parallel()
	f := forge.New(token, "secret")
	defer f.Close()
	number := f.Open(repository, "a change", forge.Files{"file": "text\n"})
	f.Check(repository, number, "build", "success")
	f.Check(repository, number, "lint", "")
	s := session(t, f.URL())
	pull, err := s.Pull(t.Context(), repository, number)
	if err != nil || !pull.Open || pull.Merged || pull.Branch != "change-1" || pull.Head != f.Pull(repository, number).Head {
		t.Errorf("%+v, %v", pull, err)
	}
	diff, err := s.Diff(t.Context(), repository, number)
	if err != nil || !strings.HasSuffix(diff, "+++ b/file\n+text\n") {
		t.Errorf("%q, %v", diff, err)
	}
	checks, err := s.Checks(t.Context(), repository, pull.Head)
	if err != nil || !checks["build"].Passed || checks["lint"].Done || len(checks) != 2 {
		t.Errorf("%+v, %v", checks, err)
	}
	push(t, f, s, number, pull)
}

// push moves a branch once from where it was read.
func push(t *testing.T, f *forge.Server, s *provider.Session, number int, pull provider.Pull) {
	t.Helper()
	files := []provider.File{{Path: "file", Content: "better\n"}}
	commit, err := s.Push(t.Context(), repository, pull.Branch, pull.Head, "mend", files)
	if err != nil || f.Pull(repository, number).Head != commit || f.File(repository, commit, "file") != "better\n" {
		t.Errorf("%s, %v", commit, err)
	}
	if c, err := s.Commit(t.Context(), repository, commit); err != nil || c.Parent != pull.Head || c.Message != "mend" {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = s.Push(t.Context(), repository, pull.Branch, pull.Head, "again", files)
	if !isA[*provider.RefusedError](err) || f.Pull(repository, number).Head != commit {
		t.Errorf("a push from an old head: %v", err)
	}
}

func TestWithoutAToken(t *testing.T) {
	t.Parallel()
	var none secret.Ref
	if _, err := (provider.GitHub{Token: none}).Session(context.Background()); err == nil {
		t.Error("a session without a token")
	}
}

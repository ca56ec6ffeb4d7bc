// Package provider is all that the example knows of GitHub: its API, its webhooks
// and its errors. The controller sees pull requests, checks and commits.
package provider

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v84/github"

	"piworkflows/secret"
)

// Bounds on what is read from the API.
const (
	// maxAnswer bounds one answer, in bytes.
	maxAnswer = 4 << 20
	// MaxDiff bounds the diff of a pull request, in bytes.
	MaxDiff = 100 << 10
	// maxPages bounds lists: a hundred entries each.
	maxPages = 10
	pageSize = 100
)

// GitHub reaches the API.
type GitHub struct {
	// API is the base URL; empty is GitHub itself.
	API string
	// Token refers to the credentials. It is resolved for each pass and goes to API
	// and nowhere else.
	Token secret.Ref
}

// Session is the API with the credentials, for one pass.
type Session struct{ client *github.Client }

// Session resolves the token.
func (g GitHub) Session(ctx context.Context) (*Session, error) {
	token, err := g.Token.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	client := github.NewClient(&http.Client{Transport: bounded{http.DefaultTransport}, CheckRedirect: stay}).WithAuthToken(token)
	if g.API != "" {
		if client.BaseURL, err = url.Parse(g.API); err != nil {
			return nil, fmt.Errorf("the address of the API: %w", err)
		}
	}
	return &Session{client}, nil
}

// stay refuses redirects: the token would follow them.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// bounded cuts answers off.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // the client knows the errors of a transport
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}

// Key is the key of the resource of a pull request.
func Key(repository string, number int) string { return fmt.Sprintf("%s#%d", repository, number) }

// owner splits OWNER/NAME.
func owner(repository string) (string, string) {
	owner, name, _ := strings.Cut(repository, "/")
	return owner, name
}

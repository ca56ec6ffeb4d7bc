package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/examples/pullrequest/forge"
	"piworkflows/host"
)

// patience is how long a scene waits for something.
const patience = time.Minute

// scene is one scene at play. After the first error its steps do nothing.
type scene struct {
	*stage
	ctx  context.Context
	said string
	err  error
}

// open opens a pull request, and returns what is to be asked for it.
func (c *scene) open(title string, files forge.Files) spec {
	number := c.forge.Open(repository, title, files)
	head := c.forge.Pull(repository, number).Head
	return spec{Repository: repository, Number: number, ExpectedHead: head, Checks: []string{checkName}}
}

func (c *scene) check(a spec, conclusion string) {
	if c.err == nil {
		c.forge.Check(repository, a.Number, checkName, conclusion)
	}
}

func (c *scene) push(a spec, files forge.Files) {
	if c.err == nil {
		c.forge.Push(repository, a.Number, files)
	}
}

func (c *scene) sayf(format string, args ...any) {
	if c.err == nil {
		fmt.Fprintf(c.out, "\n"+format+"\n", args...)
	}
}

// ask applies a spec, as the command apply does.
func (c *scene) ask(a spec) {
	if c.err != nil {
		return
	}
	raw, err := json.Marshal(a)
	if err == nil {
		_, err = controller.PutSpec(c.ctx, c.store, c.definition, controller.Put{Ref: a.ref(), Spec: raw, Actor: "story"})
	}
	c.err = err
}

func (s spec) ref() controller.Ref { return controller.Ref{Controller: name, Key: s.key()} }

// await follows the events until a pull request stands as it should, and shows how
// it goes.
func (c *scene) await(a spec, reason string) {
	if c.err != nil {
		return
	}
	ctx, cancel := clock.WithTimeoutCause(c.ctx, clock.System(), patience, fmt.Errorf("%s did not become %s", a.key(), reason))
	defer cancel()
	for c.err == nil {
		now, next, err := c.look(ctx, a)
		if err != nil {
			c.err = errors.Join(context.Cause(ctx), err)
			return
		}
		c.show(a, now)
		if now.Reason == reason {
			return
		}
		if _, err := c.store.Changes(ctx, next, controller.ChangeFilter{}); err != nil {
			c.err = errors.Join(context.Cause(ctx), err)
		}
	}
}

// look returns how a pull request stands, and where the events after that begin.
func (c *scene) look(ctx context.Context, a spec) (controller.Readiness, controller.Cursor, error) {
	next, err := c.store.Head(ctx)
	if err != nil {
		return controller.Readiness{}, next, err
	}
	raw, err := c.store.Get(ctx, a.ref())
	return controller.ReadinessOf(raw), next, err
}

// show writes how a pull request stands if that is news.
func (c *scene) show(a spec, now controller.Readiness) {
	line := fmt.Sprintf("  %-13s %-16s  %s", a.key(), now.Reason, now.Message)
	if now.Status != controller.Unknown && line != c.said {
		fmt.Fprintln(c.out, line)
		c.said = line
	}
}

// forgery sends a webhook with a wrong signature and returns the answer.
func (c *scene) forgery() string {
	url := "http://" + c.host.Addr() + host.HookPath(name, "github")
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, url, strings.NewReader(`{"number":2}`))
	if err != nil {
		c.err = err
		return ""
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Github-Delivery", "forged")
	r.Header.Set("X-Github-Event", "pull_request")
	r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("00", 32))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.err = err
		return ""
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		c.err = errors.New("a forged webhook was taken")
	}
	return response.Status
}

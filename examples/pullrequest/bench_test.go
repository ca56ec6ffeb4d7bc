package main

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"piworkflows/examples/pullrequest/forge"
	"piworkflows/examples/pullrequest/provider"
	"piworkflows/testkit"
	"piworkflows/workflow"
)

const (
	// canaryToken and canarySecret must be nowhere but in the files of the secrets.
	canaryToken  = "canary-token-5d1f"
	canarySecret = "canary-secret-8e2a"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// bench is a controller over a forge, pass by pass.
type bench struct {
	*testkit.Kit
	t      testkit.T
	forge  *forge.Server
	number int
	head   string
	res    *testkit.Resource
}

// newBench opens a pull request and asks for its head.
func newBench(t testkit.T, change func(*spec)) *bench {
	t.Helper()
	b := &bench{t: t, forge: forge.New(canaryToken, canarySecret)}
	t.Cleanup(func() {
		b.forge.Close()
		closeIdle()
	})
	folder, err := os.MkdirTemp("", "pullrequest-")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	token, err := keepSecret(folder, "token", canaryToken)
	if err != nil {
		t.Fatalf("%v", err)
	}
	b.Kit = testkit.New(t, testkit.Options{
		Definition: definition(provider.GitHub{API: b.forge.URL(), Token: token}),
		Workflows:  []*workflow.Definition{reviewWorkflow, repairWorkflow},
	})
	b.number = b.forge.Open(repository, "a change", forge.Files{"file": "text\n"})
	b.head = b.forge.Pull(repository, b.number).Head
	b.apply(change)
	return b
}

// apply asks for the pull request, approved, with changes.
func (b *bench) apply(change func(*spec)) {
	b.t.Helper()
	s := spec{Repository: repository, Number: b.number, ExpectedHead: b.head, Checks: []string{checkName}, Approved: true}
	if change != nil {
		change(&s)
	}
	b.res = b.Apply(s.key(), s)
}

// reviewed ends the review that was asked for.
func (b *bench) reviewed(findings ...finding) {
	b.t.Helper()
	c := b.WantChild()
	var asked subject
	c.Input(&asked)
	c.Succeed(verdict{Head: asked.Head, Findings: findings})
}

// want runs what is due and wants the resource to be so.
func (b *bench) want(ready string) {
	b.t.Helper()
	b.Passes()
	b.res.WantConditions("Ready=" + ready)
}

// merges counts the merges that were made.
func (b *bench) merges() (made int) {
	for _, m := range b.forge.Merges() {
		if m.Status == http.StatusOK {
			made++
		}
	}
	return made
}

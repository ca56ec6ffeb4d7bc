package main

import (
	"context"

	"piworkflows/examples/pullrequest/forge"
)

// checkName is the check that every pull request needs.
const checkName = "build"

// play plays every scene, one after the other, and judges the end.
func (s *stage) play(ctx context.Context) error {
	for _, play := range []func(*scene){good, moved, broken, defect, quiet, intruder} {
		c := &scene{stage: s, ctx: ctx}
		if play(c); c.err != nil {
			return c.err
		}
	}
	return s.end(ctx)
}

// good is merged once it is approved, and once only, although the answer of GitHub
// is lost.
func good(c *scene) {
	a := c.open("a good change", forge.Files{"doc.md": "Hello.\n"})
	c.sayf("%s is asked for, and not approved. Every webhook comes twice, and a poll looks each second.", a.key())
	c.ask(a)
	c.await(a, reasonChecking)
	c.check(a, "success")
	c.await(a, reasonApproval)
	c.sayf("A person approves it. GitHub will merge it, and its answer will be lost.")
	c.forge.LoseAnswer()
	c.ask(a.approved())
	c.await(a, reasonMerged)
}

// moved is approved, and somebody pushes before its check has passed.
func moved(c *scene) {
	a := c.open("a change that moves", forge.Files{"doc.md": "Hello you.\n"}).approved()
	c.sayf("%s is approved. Then somebody pushes.", a.key())
	c.ask(a)
	c.await(a, reasonChecking)
	c.push(a, forge.Files{"doc.md": "Goodbye.\n"})
	c.check(a, "success")
	c.await(a, reasonHeadChanged)
}

// broken fails its check.
func broken(c *scene) {
	a := c.open("a change that fails", forge.Files{"main.go": "package\n"}).approved()
	c.sayf("%s is approved, and its check fails.", a.key())
	c.ask(a)
	c.await(a, reasonChecking)
	c.check(a, "failure")
	c.await(a, reasonCheckFailed)
}

// defect is mended by a child run, and merged once a person approves the new head.
func defect(c *scene) {
	a := c.open("a change with a defect", forge.Files{"list.md": "One.\nTODO two.\nThree.\n"}).approved()
	a.Repair = true
	c.sayf("%s has a defect, and may be repaired.", a.key())
	c.ask(a)
	c.await(a, reasonHeadChanged)
	c.check(a, "success")
	c.sayf("A person looks at the repair and approves that head.")
	a.ExpectedHead = c.forge.Pull(repository, a.Number).Head
	c.ask(a)
	c.await(a, reasonMerged)
}

// quiet changes while webhooks are lost.
func quiet(c *scene) {
	a := c.open("a change that nobody tells of", forge.Files{"notes.md": "Hush.\n"})
	c.check(a, "success")
	c.sayf("%s is good, and waits for an approval.", a.key())
	c.ask(a)
	c.await(a, reasonApproval)
	c.sayf("From now on webhooks are lost, and somebody pushes. The poll finds it.")
	c.forge.Mute()
	c.push(a, forge.Files{"notes.md": "Loud.\n"})
	c.await(a, reasonHeadChanged)
}

// intruder does not know the secret of the webhooks.
func intruder(c *scene) {
	c.sayf("Somebody forges a webhook, and is answered %s.", c.forgery())
}

func (s spec) approved() spec {
	s.Approved = true
	return s
}

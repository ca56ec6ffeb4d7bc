package gitmerge

import (
	"testing"

	"piworkflows/controller"
	"piworkflows/testkit"
	"piworkflows/workflow"
)

// house is a forge with a kit that runs the passes of the controller. Child runs
// are done by the test: by a script (begin), or by the engine.
type house struct {
	*forge
	*testkit.Kit
	options Options
}

func newHouse(t *testing.T) *house { return houseOf(t, newForge(t), Options{}) }

func houseOf(t testkit.T, f *forge, o Options) *house {
	t.Helper()
	o.WorkRoot = f.root
	return &house{f, testkit.New(t, testkit.Options{
		Definition: Controller(o), Workflows: []*workflow.Definition{VerifyBranch(Options{})},
	}), o}
}

// spec asks for a branch, as it is now, to be merged into main.
func (h *house) spec(branch string, check []string) Spec {
	h.t.Helper()
	return Spec{Repository: h.dir, Branch: branch, Target: "main", ExpectedHead: h.at(branch), Check: check, Approved: true}
}

// get returns a resource, with its status decoded.
func (h *house) get(name string) (controller.Raw, Status) {
	h.t.Helper()
	r := h.Resource(name)
	return r.Get(), testkit.Status[Status](r)
}

func (h *house) message(name string) string {
	h.t.Helper()
	return h.Resource(name).Ready().Message
}

func (h *house) want(name string, conditions ...string) {
	h.t.Helper()
	h.Resource(name).WantConditions(conditions...)
}

func (h *house) wantEffects(name string, states ...controller.EffectState) {
	h.t.Helper()
	h.Resource(name).WantEffects(states...)
}

func (h *house) effects(name string) []controller.EffectRecord {
	h.t.Helper()
	return h.Resource(name).Effects()
}

func (h *house) children(name string) []controller.ChildRun {
	h.t.Helper()
	return h.Resource(name).Children()
}

// child is a verification that was asked for.
type child struct {
	*testkit.Child
	h  *house
	in VerifyInput
}

// start starts the verification that waits; nil if none does.
func (h *house) start() *child {
	h.t.Helper()
	started := h.Child()
	if started == nil {
		return nil
	}
	c := &child{Child: started, h: h}
	c.Input(&c.in)
	return c
}

// begin is start where there must be a run.
func (h *house) begin() *child {
	h.t.Helper()
	c := h.start()
	if c == nil {
		h.t.Fatal("no verification was asked for")
	}
	return c
}

// block ends the run as blocked.
func (c *child) block(reason, message string, evidence ...string) {
	c.h.t.Helper()
	c.Succeed(VerifyOutput{Result: ResultBlocked, Reason: reason, Message: message, Evidence: evidence, Head: c.in.Head, Onto: c.in.Onto})
}

// prove makes the candidate as the workflow does, and ends the run as if its
// check had passed.
func (c *child) prove() (candidate string) {
	c.h.t.Helper()
	v := verifier{workspaceOf(c.h.options)}
	out, err := v.merge(c.h.t.Context(), &workflow.Context{RunID: c.Row().RunID, Input: c.Row().Input})
	if err != nil {
		c.h.t.Fatal(err)
	}
	m, ok := out.(mergeResult)
	if !ok || m.Candidate == "" {
		c.h.t.Fatalf("merge gave %+v", out)
	}
	c.Succeed(VerifyOutput{
		Result: ResultVerified, Reason: ReasonCheckPassed, Head: c.in.Head, Onto: c.in.Onto, Candidate: m.Candidate, Tree: m.Tree,
	})
	return m.Candidate
}

package gitmerge

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
	"piworkflows/workflow"
)

// house is a forge with a store and a manager over it. Child runs are done by
// the test: by a script (answer), or by the engine.
type house struct {
	*forge
	options Options
	store   *interceptor
	manager *controller.Manager
	clock   *clocktest.Manual
}

// interceptor is the real store, in which a test may let the next receipt of an
// effect be lost.
type interceptor struct {
	*sqlite.Store
	loseReceipt error
}

func (i *interceptor) FinishEffect(ctx context.Context, c *controller.Claim, o controller.EffectOutcome) (controller.EffectRecord, error) {
	if err := i.loseReceipt; err != nil {
		i.loseReceipt = nil
		return controller.EffectRecord{}, err
	}
	return i.Store.FinishEffect(ctx, c, o)
}

func newHouse(t *testing.T) *house { return houseOf(t, newForge(t), Options{}) }

func houseOf(t *testing.T, f *forge, o Options) *house {
	t.Helper()
	h := &house{forge: f, options: o, clock: clocktest.New()}
	h.options.WorkRoot = f.root
	store, err := sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(t.TempDir(), "controller.sqlite"), Scope: strings.Repeat("0", 24), Clock: h.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	h.store = &interceptor{Store: store}
	h.manager, err = controller.NewManager(controller.ManagerOptions{
		Store: h.store, Definitions: []*controller.Definition{Controller(h.options)}, Scheduler: scheduler{}, Clock: h.clock,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Random: func() float64 { return 0.5 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// scheduler names runs in the order in which they are asked for.
type scheduler struct{}

func (scheduler) Resolve(_ context.Context, name string) (controller.WorkflowIdentity, error) {
	if name != WorkflowName {
		return controller.WorkflowIdentity{}, &controller.UnknownWorkflowError{Name: name}
	}
	g, err := workflow.Compile(VerifyBranch(Options{}))
	if err != nil {
		return controller.WorkflowIdentity{}, err
	}
	source, err := json.Marshal(g.Source())
	return controller.WorkflowIdentity{Source: source, Digest: g.Digest()}, err
}

func (scheduler) NewRunID(string) string { return "run-" + string(lease.NewToken()) }

// spec asks for a branch, as it is now, to be merged into main.
func (h *house) spec(branch string, check []string) Spec {
	h.t.Helper()
	return Spec{Repository: h.dir, Branch: branch, Target: "main", ExpectedHead: h.at(branch), Check: check, Approved: true}
}

func key(name string) controller.Ref { return controller.Ref{Controller: Name, Key: name} }

func (h *house) apply(name string, s Spec) {
	h.t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		h.t.Fatal(err)
	}
	put := controller.Put{Ref: key(name), Spec: raw, Actor: "test"}
	if _, err := controller.PutSpec(h.t.Context(), h.store, Controller(h.options), put); err != nil {
		h.t.Fatal(err)
	}
}

// pass runs one pass and reports whether there was one to run.
func (h *house) pass() bool {
	h.t.Helper()
	ran, err := h.manager.RunOnce(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return ran
}

// passes runs what is due and returns how many passes that were.
func (h *house) passes() int {
	h.t.Helper()
	for n := range 50 {
		if !h.pass() {
			return n
		}
	}
	h.t.Fatal("the passes do not come to an end")
	return 0
}

func (h *house) wake(name string) {
	h.t.Helper()
	if _, err := h.store.Enqueue(h.t.Context(), key(name), "test"); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) delete(name string) {
	h.t.Helper()
	if _, err := h.store.RequestDeletion(h.t.Context(), controller.Deletion{Ref: key(name), Actor: "test"}); err != nil {
		h.t.Fatal(err)
	}
}

// get returns a resource, with its status decoded.
func (h *house) get(name string) (controller.Raw, Status) {
	h.t.Helper()
	raw, err := h.store.Get(h.t.Context(), key(name))
	if err != nil {
		h.t.Fatal(err)
	}
	var s Status
	if err := json.Unmarshal(raw.Status.ControllerStatus, &s); err != nil {
		h.t.Fatal(err)
	}
	return raw, s
}

func (h *house) gone(name string) bool {
	h.t.Helper()
	_, err := h.store.Get(h.t.Context(), key(name))
	return err != nil
}

// condition returns one condition of a resource as "Verified=true CheckPassed".
func (h *house) condition(name, kind string) string {
	h.t.Helper()
	raw, _ := h.get(name)
	i := slices.IndexFunc(raw.Status.Conditions, func(c controller.Condition) bool { return c.Type == kind })
	if i < 0 {
		return kind + " is not set"
	}
	c := raw.Status.Conditions[i]
	if c.ObservedGeneration != raw.Metadata.Generation {
		return kind + " is outdated"
	}
	return kind + "=" + string(c.Status) + " " + c.Reason
}

func (h *house) message(name string) string {
	h.t.Helper()
	raw, _ := h.get(name)
	return controller.ReadinessOf(raw).Message
}

func (h *house) want(name string, conditions ...string) {
	h.t.Helper()
	for _, want := range conditions {
		kind, _, _ := strings.Cut(want, "=")
		if got := h.condition(name, kind); got != want {
			h.t.Errorf("%s, want %s; Ready says: %s", got, want, h.message(name))
		}
	}
}

func (h *house) effects(name string) []controller.EffectRecord {
	h.t.Helper()
	records, err := h.store.Effects(h.t.Context(), key(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return records
}

// wantEffects wants records in those states, oldest first.
func (h *house) wantEffects(name string, states ...controller.EffectState) {
	h.t.Helper()
	var got []controller.EffectState
	for _, r := range h.effects(name) {
		got = append(got, r.State)
	}
	if !slices.Equal(got, states) {
		h.t.Errorf("effects %v, want %v", got, states)
	}
}

func (h *house) children(name string) []controller.ChildRun {
	h.t.Helper()
	list, err := h.store.Children(h.t.Context(), key(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// child is a claimed child run.
type child struct {
	h     *house
	claim *runqueue.Claim
	in    VerifyInput
}

// start claims the child run that waits and marks it as running; nil if none
// does.
func (h *house) start() *child {
	h.t.Helper()
	claim, err := h.store.ClaimRun(h.t.Context(), time.Minute)
	if err != nil {
		h.t.Fatal(err)
	}
	if claim == nil {
		return nil
	}
	c := &child{h: h, claim: claim}
	if err := h.store.StartChild(h.t.Context(), claim); err != nil {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal(claim.Row.Input, &c.in); err != nil {
		h.t.Fatal(err)
	}
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

func (c *child) finish(o controller.ChildOutcome) {
	c.h.t.Helper()
	if err := c.h.store.FinishChild(c.h.t.Context(), c.claim, o); err != nil {
		c.h.t.Fatal(err)
	}
}

// succeed ends the run with an output.
func (c *child) succeed(out VerifyOutput) {
	c.h.t.Helper()
	raw, err := json.Marshal(out)
	if err != nil {
		c.h.t.Fatal(err)
	}
	c.finish(controller.ChildOutcome{State: controller.RunSucceeded, Output: raw})
}

// block ends the run as blocked.
func (c *child) block(reason, message string, evidence ...string) {
	c.h.t.Helper()
	c.succeed(VerifyOutput{Result: ResultBlocked, Reason: reason, Message: message, Evidence: evidence, Head: c.in.Head, Onto: c.in.Onto})
}

// prove makes the candidate as the workflow does, and ends the run as if its
// check had passed.
func (c *child) prove() (candidate string) {
	c.h.t.Helper()
	v := verifier{workspaceOf(c.h.options)}
	out, err := v.merge(c.h.t.Context(), &workflow.Context{RunID: c.claim.Row.RunID, Input: c.claim.Row.Input})
	if err != nil {
		c.h.t.Fatal(err)
	}
	m, ok := out.(mergeResult)
	if !ok || m.Candidate == "" {
		c.h.t.Fatalf("merge gave %+v", out)
	}
	c.succeed(VerifyOutput{
		Result: ResultVerified, Reason: ReasonCheckPassed, Head: c.in.Head, Onto: c.in.Onto, Candidate: m.Candidate, Tree: m.Tree,
	})
	return m.Candidate
}

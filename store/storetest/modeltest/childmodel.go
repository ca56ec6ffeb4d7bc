package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// modelChild is a child request as the rules describe it.
type modelChild struct {
	state   controller.RunState
	attempt int
	run     *modelRun
}

// modelRun is a run row of a child. Its parent may be gone.
type modelRun struct {
	id      string
	key     string
	parent  *modelKey
	request string
	due     time.Duration
	// claim is the last one, begun says that there was one, ended that none follows.
	claim   *runqueue.Claim
	expires time.Duration
	ended   bool
	// continues is the run that waited for the answer that began this one.
	continues *modelRun
	// cancelled says that whoever has claimed it is to cancel it.
	cancelled bool
}

var modelRequests = []string{"r", "s"}

func (m *machine) reserveChild(t *rapid.T) {
	c, request := m.drawClaim(t), rapid.SampledFrom(modelRequests).Draw(t, "request")
	runID := fmt.Sprintf("run-%d", len(m.runs)+1)
	version := c.Resource.Metadata.ResourceVersion
	child, done, err := m.store(t).ReserveChild(t.Context(), c.Claim, controller.ChildReservation{
		RequestKey: request, Workflow: "w", Input: json.RawMessage(`1`), RunID: runID, Version: version,
		AgentAttemptsPerHour: agentsPerHour,
	})
	if !m.holding(t, c, err) {
		return
	}
	k := m.keys[c.Ref.Key]
	old := k.children[request]
	starts := old == nil || old.state == controller.RunInterrupted
	if !starts && k.shown == request {
		if err != nil || done.Started || done.Version != version || child.State != old.state {
			t.Fatalf("reserved %+v, %+v, %v; want to find %+v", child, done, err, old)
		}
		return
	}
	if !wants[*controller.ConflictError](t, err, !k.current(version)) {
		return
	}
	if starts {
		k.children[request] = m.attempt(k, request, c.Ref.Key, runID, old)
	}
	k.shown = request
	k.version++
	c.Resource.Metadata.ResourceVersion = done.Version
	want := k.children[request]
	if done.Started != starts || done.Version != k.version || child.State != want.state || child.Attempt != want.attempt {
		t.Fatalf("reserved %+v, %+v; want %+v, started %v, version %d", child, done, want, starts, k.version)
	}
}

// attempt is the first attempt of a request, or the one after an old one.
func (m *machine) attempt(k *modelKey, request, key, runID string, old *modelChild) *modelChild {
	run := &modelRun{id: runID, key: key, parent: k, request: request, due: m.now}
	m.runs = append(m.runs, run)
	child := &modelChild{state: controller.RunPending, attempt: 1, run: run}
	if old != nil {
		child.attempt = old.attempt + 1
	}
	return child
}

// child is the request of a run while the run is its attempt; nil otherwise.
func (m *machine) child(r *modelRun) *modelChild {
	if c := r.parent.children[r.request]; m.keys[r.key] == r.parent && c != nil && c.run == r {
		return c
	}
	return nil
}

// over reports whether the request has ended for good.
func (c *modelChild) over() bool {
	return c.state == controller.RunSucceeded || c.state == controller.RunFailed
}

// held reports whether the run of the child is, or was, in somebody's hands.
func (c *modelChild) held() bool {
	return (c.state == controller.RunPending || c.state == controller.RunRunning) && c.run.claim != nil
}

// cancelChildren ends the children of a key that nobody runs, and asks for the end
// of the others, all but one.
func (k *modelKey) cancelChildren(keep string) {
	for request, c := range k.children {
		switch {
		case c.over() || request == keep:
		case c.held():
			c.run.cancelled = true
		default:
			c.state, c.run.ended = controller.RunFailed, true
			if k.shown == request {
				k.change()
			}
		}
	}
}

// cancelOthers cancels the children that a pass wants no more.
func (m *machine) cancelOthers(t *rapid.T) {
	c, keep := m.drawClaim(t), rapid.SampledFrom(append([]string{""}, modelRequests...)).Draw(t, "keep")
	version := c.Resource.Metadata.ResourceVersion
	done, err := m.store(t).CancelChildren(t.Context(), c.Claim, controller.ChildCancellation{Keep: keep, Reason: "why", Version: version})
	if !m.holding(t, c, err) {
		return
	}
	k := m.keys[c.Ref.Key]
	others, writes := 0, false
	for request, child := range k.children {
		if request != keep && !child.over() {
			others++
			writes = writes || !child.held() || !child.run.cancelled
		}
	}
	if !wants[*controller.ConflictError](t, err, writes && !k.current(version)) {
		return
	}
	k.cancelChildren(keep)
	if writes {
		version = k.version
	}
	if len(done.Children) != others || done.Version != version {
		t.Fatalf("cancelled %+v; want %d children and version %d", done, others, version)
	}
	c.Resource.Metadata.ResourceVersion = done.Version
}

func (m *machine) running(r *modelRun) bool { return r.claim != nil && r.expires > m.now }

// nextRun is the run that a claim must take: the one that was due first.
func (m *machine) nextRun() *modelRun {
	var next *modelRun
	for _, r := range m.runs {
		if !r.ended && !m.running(r) && (next == nil || r.due < next.due) {
			next = r
		}
	}
	return next
}

func (m *machine) claimRun(t *rapid.T) { m.takeRun(t) }

func (m *machine) takeRun(t *rapid.T) *modelRun {
	want := m.nextRun()
	c, err := m.store(t).ClaimRun(t.Context(), runqueue.ClaimQuery{}, lasts)
	if err != nil || (c != nil) != (want != nil) || c != nil && (c.Row.RunID != want.id || c.Interrupted != (want.claim != nil)) {
		t.Fatalf("claimed run %+v, %v; want %+v", c, err, want)
	}
	if want != nil {
		want.claim, want.expires = c, m.now+lasts
	}
	return want
}

// drawRun takes a run that was claimed once, mostly one whose claim holds.
func (m *machine) drawRun(t *rapid.T) *modelRun {
	var claimed, live []*modelRun
	for _, r := range m.runs {
		if r.claim != nil {
			claimed = append(claimed, r)
		}
		if !r.ended && m.running(r) {
			live = append(live, r)
		}
	}
	if len(live) > 0 && rapid.IntRange(0, 4).Draw(t, "any") > 0 {
		return rapid.SampledFrom(live).Draw(t, "live run")
	}
	if len(claimed) == 0 {
		t.Skip("no run was claimed yet")
	}
	return rapid.SampledFrom(claimed).Draw(t, "run")
}

// lost reports whether the claim of a run does not hold; the error must say so.
func (m *machine) lost(t *rapid.T, r *modelRun, err error) bool {
	return !unless[*lease.LostError](t, err, r.ended || !m.running(r))
}

func (m *machine) renewRun(t *rapid.T) {
	r := m.drawRun(t)
	err := m.store(t).RenewRun(t.Context(), r.claim, renewed)
	if !m.lost(t, r, err) {
		must(t, err)
		r.expires = m.now + renewed
	}
}

func (m *machine) startChild(t *rapid.T) {
	r := m.drawRun(t)
	err := m.store(t).StartChild(t.Context(), r.claim)
	if m.lost(t, r, err) {
		return
	}
	must(t, err)
	if c := m.child(r); c != nil && c.state == controller.RunPending {
		c.state = controller.RunRunning
		if r.parent.shown == r.request {
			r.parent.version++
		}
	}
}

// agentsPerHour is used up soon, since an hour is long in these tests.
const agentsPerHour = 2

func (m *machine) countAgent(t *rapid.T) {
	r := m.drawRun(t)
	wait, err := m.store(t).CountAgentAttempt(t.Context(), r.claim)
	if m.lost(t, r, err) {
		return
	}
	must(t, err)
	want, code := time.Duration(0), ""
	c := m.child(r)
	if c != nil {
		until := max(m.agents, m.now) + time.Hour/agentsPerHour
		if want = max(0, until-m.now-time.Hour); want == 0 {
			m.agents = until
		} else {
			code = controller.CodeAgentRateLimited
		}
	}
	if wait != want {
		t.Fatalf("an agent attempt waits for %s, want %s", wait, want)
	}
	if c == nil {
		return
	}
	if r.cancelled {
		code = controller.CodeCancelling
	}
	list, err := m.store(t).Children(t.Context(), refOf(r.key))
	must(t, err)
	for _, shown := range list {
		if shown.RunID == r.id && shown.Code != code {
			t.Fatalf("child %+v, want the code %q", shown, code)
		}
	}
}

func (m *machine) finishChild(t *rapid.T) {
	m.endRun(t, m.drawRun(t), rapid.SampledFrom([]controller.RunState{
		controller.RunSucceeded, controller.RunFailed, controller.RunInterrupted, controller.RunWaiting,
	}).Draw(t, "state"))
}

func (m *machine) endRun(t *rapid.T, r *modelRun, state controller.RunState) {
	err := m.store(t).FinishChild(t.Context(), r.claim, controller.ChildOutcome{State: state})
	if m.lost(t, r, err) {
		return
	}
	must(t, err)
	r.ended = true
	if c := m.child(r); c != nil {
		if c.state = state; r.cancelled && state != controller.RunSucceeded {
			c.state = controller.RunFailed
		}
		if r.parent.shown == r.request {
			r.parent.change()
		}
		m.goOrWake(r.key, controller.LaneEvent)
	}
}

// runNext runs what a claim finds, and reports whether it found something.
func (m *machine) runNext(t *rapid.T) bool {
	r := m.takeRun(t)
	if r != nil {
		m.endRun(t, r, controller.RunSucceeded)
	}
	return r != nil
}

// checkChildren compares the requests of a key.
func (m *machine) checkChildren(ctx context.Context, t *rapid.T, key string, k *modelKey) {
	list, err := m.store(t).Children(ctx, refOf(key))
	if err != nil || len(list) != len(k.children) {
		t.Fatalf("%s has children %+v, %v; want %d", key, list, err, len(k.children))
	}
	for _, c := range list {
		if want := k.children[c.RequestKey]; c.State != want.state || c.Attempt != want.attempt || c.RunID != want.run.id ||
			(c.Code == controller.CodeCancelling) != (want.held() && want.run.cancelled) {
			t.Fatalf("child %s of %s is %+v, want %+v", c.RequestKey, key, c, want)
		}
	}
}

package modeltest

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"piworkflows/lease"
	"piworkflows/runqueue"
)

// personalRun is the row of a run that belongs to a person, as the rules describe
// it.
type personalRun struct {
	status  runqueue.Status
	parent  string
	next    string
	claim   *runqueue.Claim
	expires time.Duration
}

// runMachine compares the runs of people with the rules.
type runMachine struct {
	*machine
	personal map[string]*personalRun
}

func (m *machine) people() *runMachine { return &runMachine{m, map[string]*personalRun{}} }

func (m *runMachine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check, "advance": m.advance, "launch": m.launch, "continue": m.launchNext, "continue again": m.launchNext,
		"adopt": m.adopt, "park": m.park, "end": m.end, "end again": m.end, "abandon": m.abandon, "withdraw": m.withdraw,
		"renew": m.renewRun, "look": m.look,
	}
}

// draw takes one of the last runs, or the name of none.
func (m *runMachine) draw(t *rapid.T) (string, *personalRun) {
	id := fmt.Sprintf("run-%d", rapid.IntRange(max(1, len(m.personal)-3), len(m.personal)+1).Draw(t, "run"))
	return id, m.personal[id]
}

func (m *runMachine) live(r *personalRun) bool { return r.claim != nil && r.expires > m.now }

// holds reports whether the claim of a run does; the error must say so if not.
func (m *runMachine) holds(t *rapid.T, r *personalRun, err error) bool {
	return wants[*lease.LostError](t, err, !m.live(r))
}

// drawClaimed takes a run that was claimed once, with its last claim.
func (m *runMachine) drawClaimed(t *rapid.T) *personalRun {
	_, r := m.draw(t)
	if r == nil || r.claim == nil {
		t.Skip("it was never claimed")
	}
	return r
}

func (m *runMachine) begin(t *rapid.T, parent string) (string, *runqueue.Claim, error) {
	id := fmt.Sprintf("run-%d", len(m.personal)+1)
	c, err := m.store(t).Launch(t.Context(), runqueue.NewRun{
		RunID: id, Workflow: "w", Input: json.RawMessage(`1`), ContinuationOf: parent,
	}, lasts)
	return id, c, err
}

func (m *runMachine) launch(t *rapid.T) {
	id, c, err := m.begin(t, "")
	must(t, err)
	m.personal[id] = &personalRun{status: runqueue.Running, claim: c, expires: m.now + lasts}
}

func (m *runMachine) launchNext(t *rapid.T) {
	parent, p := m.draw(t)
	id, c, err := m.begin(t, parent)
	if m.continuable(t, p, err) {
		p.next = id
		m.personal[id] = &personalRun{status: runqueue.Running, parent: parent, claim: c, expires: m.now + lasts}
	}
}

// continuable reports whether a run may get a continuation; the error must say so
// if not.
func (m *runMachine) continuable(t *rapid.T, r *personalRun, err error) bool {
	return unless[*runqueue.NotFoundError](t, err, r == nil) &&
		unless[*runqueue.ContinuedError](t, err, r.next != "") &&
		wants[*runqueue.NotWaitingError](t, err, r.status != runqueue.Done)
}

func (m *runMachine) adopt(t *rapid.T) {
	id, r := m.draw(t)
	c, err := m.store(t).AdoptRun(t.Context(), id, "", lasts)
	if !unless[*runqueue.NotFoundError](t, err, r == nil) ||
		!unless[*runqueue.EndedError](t, err, r.status.Final()) ||
		!wants[*runqueue.HeldError](t, err, m.live(r)) {
		return
	}
	if c.Interrupted != (r.status == runqueue.Running) || r.claim != nil && c.Fence <= r.claim.Fence {
		t.Fatalf("adopted %+v after %+v", c, r)
	}
	r.status, r.claim, r.expires = runqueue.Running, c, m.now+lasts
}

func (m *runMachine) park(t *rapid.T) {
	r := m.drawClaimed(t)
	if m.holds(t, r, m.store(t).ParkRun(t.Context(), r.claim, "")) {
		r.status, r.expires = runqueue.Parked, 0
	}
}

func (m *runMachine) end(t *rapid.T) {
	r, status := m.drawClaimed(t), drawEnd(t)
	end := func() error { return m.store(t).FinishRun(t.Context(), r.claim, status, "") }
	if status == runqueue.Done && rapid.Bool().Draw(t, "waits") {
		end = func() error { return m.store(t).AwaitAnswer(t.Context(), r.claim) }
	}
	if m.holds(t, r, end()) {
		r.status, r.expires = status, 0
	}
}

// drawEnd takes a final status, mostly that of a run that may be continued.
func drawEnd(t *rapid.T) runqueue.Status {
	return rapid.SampledFrom([]runqueue.Status{runqueue.Done, runqueue.Done, runqueue.Failed, runqueue.Cancelled}).Draw(t, "status")
}

func (m *runMachine) abandon(t *rapid.T) {
	r, status := m.drawClaimed(t), drawEnd(t)
	if !m.holds(t, r, m.store(t).AbandonRun(t.Context(), r.claim, status, "")) {
		return
	}
	if r.parent != "" {
		m.personal[r.parent].next = ""
	}
	r.status, r.expires, r.parent = status, 0, ""
}

func (m *runMachine) withdraw(t *rapid.T) {
	id, r := m.draw(t)
	if m.continuable(t, r, m.store(t).WithdrawRun(t.Context(), id, "")) {
		r.status = runqueue.Cancelled
	}
}

func (m *runMachine) renewRun(t *rapid.T) {
	r := m.drawClaimed(t)
	if m.holds(t, r, m.store(t).RenewRun(t.Context(), r.claim, renewed)) {
		r.expires = m.now + renewed
	}
}

func (m *runMachine) look(t *rapid.T) {
	r := m.drawClaimed(t)
	m.holds(t, r, m.store(t).CheckRun(t.Context(), r.claim))
}

// check compares a run with the model. Nobody runs one without being asked.
func (m *runMachine) check(t *rapid.T) {
	id, r := m.draw(t)
	row, err := m.store(t).Run(t.Context(), id)
	if !wants[*runqueue.NotFoundError](t, err, r == nil) {
		return
	}
	if row.Status != r.status || row.ContinuationOf != r.parent || row.ContinuedBy != r.next || (row.Holder != "") != m.live(r) {
		t.Fatalf("run %s is %+v, want %+v", id, row, r)
	}
	if c, err := m.store(t).ClaimRun(t.Context(), runqueue.ClaimQuery{}, lasts); c != nil || err != nil {
		t.Fatalf("claimed %+v, %v, which belongs to a person", c, err)
	}
}

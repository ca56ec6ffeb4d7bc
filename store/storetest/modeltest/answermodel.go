package modeltest

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// answerChild continues a child that waits: the continuation is the child from
// then on.
func (m *machine) answerChild(t *rapid.T) {
	key, k := m.drawKey(t)
	request := rapid.SampledFrom(modelRequests).Draw(t, "request")
	if k == nil || k.children[request] == nil || k.children[request].state != controller.RunWaiting {
		t.Skip("nobody waits")
	}
	c := k.children[request]
	next := &modelRun{
		id: fmt.Sprintf("run-%d", len(m.runs)+1), key: key, parent: k, request: request, due: m.now,
		expires: m.now + lasts, continues: c.run,
	}
	var err error
	next.claim, err = m.store(t).Launch(t.Context(), runqueue.NewRun{
		RunID: next.id, Workflow: "w", Input: json.RawMessage(`1`), ContinuationOf: c.run.id,
	}, lasts)
	must(t, err)
	m.runs = append(m.runs, next)
	c.run, c.state = next, controller.RunRunning
	if k.shown == request {
		k.version++
	}
}

// abandonChild ends a continuation that never began: its child waits again, or is
// over if it was to be cancelled. The parent may have seen it run.
func (m *machine) abandonChild(t *rapid.T) {
	r := m.drawRun(t)
	err := m.store(t).AbandonRun(t.Context(), r.claim, runqueue.Failed, "")
	if m.lost(t, r, err) || !wants[*runqueue.ChildRunError](t, err, r.continues == nil) {
		return
	}
	r.ended = true
	c := m.child(r)
	if c == nil {
		return
	}
	c.run, c.state = r.continues, controller.RunWaiting
	if r.cancelled {
		c.state = controller.RunFailed
	}
	if r.parent.shown == r.request {
		r.parent.change()
	}
	m.goOrWake(r.key, controller.LaneEvent)
}

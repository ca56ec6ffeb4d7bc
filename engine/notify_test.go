package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// mailbox is a notifier that keeps what it takes.
type mailbox struct {
	mu   sync.Mutex
	got  []engine.Notification
	fail error
}

func (m *mailbox) Notify(_ context.Context, n engine.Notification) (engine.NotificationReceipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, n)
	return engine.NotificationReceipt{NotificationID: fmt.Sprint("n", len(m.got)), TargetSessionID: "s"}, m.fail
}

func says(id, kind, message string) workflow.Notify {
	return workflow.Notify{ID: id, Kind: kind, Message: func(context.Context, *workflow.Context) (string, error) { return message, nil }}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	box := &mailbox{}
	r.options.Notifier = box
	d := flow(says("tell", "", "  half\ndone \n"), compute("again", func(_ context.Context, c *workflow.Context) (any, error) {
		return c.View.Steps() < 3, nil
	}), says("end", workflow.NotifyFinal, "done"))
	d.Edges = []workflow.Edge{{From: "tell", To: "again"}, {From: "again", Switch: routes("$result.output", "true>tell", "false>end")}}
	result, b := r.run(d)
	r.want(result, runbundle.Completed, "", "")
	want := []engine.Notification{
		{RunID: runID, NodeID: "tell", Occurrence: 1, Kind: "progress", Content: "half\ndone"},
		{RunID: runID, NodeID: "tell", Occurrence: 2, Kind: "progress", Content: "half\ndone"},
		{RunID: runID, NodeID: "end", Occurrence: 1, Kind: "final", Content: "done"},
	}
	for i := range box.got {
		if box.got[i].AttemptID != b.State.Steps[min(2*i, 4)].AttemptID {
			t.Errorf("message %d of attempt %s", i, box.got[i].AttemptID)
		}
		box.got[i].AttemptID = ""
	}
	if diff := cmp.Diff(want, box.got); diff != "" {
		t.Error(diff)
	}
	if got := string(result.FinalOutput); got != `{"notificationId":"n3","targetSessionId":"s"}` {
		t.Errorf("output %s", got)
	}
}

func TestNotifyFails(t *testing.T) {
	t.Parallel()
	fails := says("a", "", "x")
	fails.Message = func(context.Context, *workflow.Context) (string, error) { return "", errors.New("no words") }
	tests := []struct {
		name          string
		node          workflow.Notify
		notifier      *mailbox
		code, message string
		sent          int
	}{
		{"no sink", says("a", "", "x"), nil, "node_failed", "this host takes no notifications", 0},
		{"blank", says("a", "", " \n "), &mailbox{}, "node_failed", "is blank", 0},
		{"too long", says("a", "", strings.Repeat("é", 65_537)), &mailbox{}, "limit_exceeded", "65537 characters, over the limit of 65536", 0},
		{"message fails", fails, &mailbox{}, "node_failed", "no words", 0},
		{"delivery fails", says("a", "", strings.Repeat("é", 65_536)), &mailbox{fail: errors.New("offline")}, "node_failed", "offline", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if test.notifier != nil {
				r.options.Notifier = test.notifier
			}
			result, _ := r.run(flow(test.node))
			r.want(result, runbundle.Failed, test.code, test.message)
			if test.notifier != nil && len(test.notifier.got) != test.sent {
				t.Errorf("%d messages were sent", len(test.notifier.got))
			}
		})
	}
}

// occurrences writes the messages as node and count.
func (m *mailbox) occurrences() string {
	var list []string
	for _, n := range m.got {
		list = append(list, fmt.Sprint(n.NodeID, n.Occurrence))
	}
	return strings.Join(list, " ")
}

// Messages are counted over the whole history: that of an earlier part of the
// run, and that of the run that it continues. Attempts that failed are not in it.
func TestNotificationsAreCountedOverTheHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	box := &mailbox{}
	r.options.Notifier = box
	d := flow(says("a", "", "1"), workflow.Checkpoint{ID: "ask"}, compute("again", func(_ context.Context, c *workflow.Context) (any, error) {
		return c.View.Steps() < 6, nil
	}), says("b", "", "2"))
	d.Edges = append(d.Edges[:2], workflow.Edge{From: "again", Switch: routes("$result.output", "true>b", "false>end")},
		workflow.Edge{From: "b", Switch: routes("$result.outcome", "ok>again", "failed>again")})
	d.Nodes = append(d.Nodes, compute("end", gives(1, nil)))
	r.at(runbundle.EventNodeFinished, 1, func(run *engine.Run) { run.Park() })
	run := r.begin(d)
	if result := run.Wait(); !result.Parked {
		t.Fatalf("%+v", result)
	}
	<-r.begun
	result, _ := r.finish(r.resume(d))
	r.want(result, runbundle.Waiting, "", "")
	box.fail = errors.New("offline")
	result, b := r.finish(r.answer(d, `"yes"`))
	r.want(result, runbundle.Completed, "", "")
	want := []string{"a1", "b1", "b1"}
	if diff := cmp.Diff(want, strings.Fields(box.occurrences())); diff != "" {
		t.Errorf("after %s: messages %s", trail(b), diff)
	}
}

func TestNotificationsOfARunAndItsContinuation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	box := &mailbox{}
	r.options.Notifier = box
	d := flow(says("a", "", "1"), workflow.Checkpoint{ID: "ask"})
	d.Edges = append(d.Edges, workflow.Edge{From: "ask", To: "a"})
	r.run(d)
	r.finish(r.answer(d, `"yes"`))
	if got := box.occurrences(); got != "a1 a2" {
		t.Errorf("messages %s", got)
	}
	if box.got[0].RunID != runID || box.got[1].RunID != continuationID {
		t.Errorf("%+v", box.got)
	}
}

func TestNotificationID(t *testing.T) {
	t.Parallel()
	n := engine.Notification{RunID: "r", NodeID: "a", Occurrence: 12}
	again := n
	again.AttemptID, again.Content, again.Kind = "other", "other", workflow.NotifyFinal
	// SHA-256 of "r\na\n12", its first half.
	if n.ID() != "ntf_c007303dc2bd94ad5fbeac037e9bb096" || again.ID() != n.ID() {
		t.Errorf("IDs %s %s", n.ID(), again.ID())
	}
	for _, other := range []engine.Notification{
		{RunID: "r", NodeID: "a", Occurrence: 1}, {RunID: "r", NodeID: "a1", Occurrence: 2}, {RunID: "ra", NodeID: "", Occurrence: 12},
	} {
		if other.ID() == n.ID() {
			t.Errorf("%+v has the same ID", other)
		}
	}
}

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

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		node   workflow.Checkpoint
		status runbundle.Status
		output string
	}{
		{"plain", workflow.Checkpoint{ID: "ask"}, runbundle.Waiting, `{"summary":"checkpoint"}`},
		{"summary", workflow.Checkpoint{ID: "ask", Summary: "Which one?"}, runbundle.Waiting, `{"summary":"Which one?"}`},
		{"function", workflow.Checkpoint{ID: "ask", Summary: "x", Run: gives([]int{1}, nil)}, runbundle.Waiting, `[1]`},
		{"function that fails", workflow.Checkpoint{ID: "ask", Run: gives(1, errors.New("no"))}, runbundle.Failed, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			result, b := r.run(flow(test.node, compute("later", gives(1, nil))))
			if result.Status != test.status || string(result.FinalOutput) != test.output || len(b.State.Steps) != 1 {
				t.Errorf("%s %s after %s", result.Status, result.FinalOutput, trail(b))
			}
			if waits := test.status == runbundle.Waiting; waits != (result.WaitingOn == "ask") || b.State.FinishedAt.IsZero() {
				t.Errorf("waiting on %q since %s", result.WaitingOn, b.State.FinishedAt)
			}
		})
	}
}

func TestFunctionActionLeavesAReceipt(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("no"), &engine.TimeoutError{}} {
		r := newRig(t)
		_, b := r.run(flow(workflow.Action{ID: "a", Run: gives(1, err)}))
		if got := b.State.Steps[0].Action; got == nil || got.ActionType != runbundle.ActionFunction || got.CommandReceipt != nil {
			t.Errorf("receipt %+v after %v", got, err)
		}
		if b.State.Steps[0].NodeType != "action" {
			t.Errorf("type %s", b.State.Steps[0].NodeType)
		}
	}
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// maxNotification bounds the content of a notification, in characters.
const maxNotification = 65_536

// callback runs a function of the author; what it returns is the output.
func (a *attempt) callback(run workflow.Func) (json.RawMessage, error) {
	return call(a.ctx, a.r.e, a.what("the function"), func(ctx context.Context) (json.RawMessage, error) {
		value, err := run(ctx, a.c)
		if err != nil {
			return nil, err
		}
		return valueOf(a.what("output"), value)
	})
}

// function runs a function that changes something outside.
func (a *attempt) function(n workflow.Action) (json.RawMessage, error) {
	if err := a.outside(); err != nil {
		return nil, err
	}
	a.receipt = &runbundle.Receipt{ActionType: runbundle.ActionFunction}
	a.c.Publisher = a.publish
	return a.callback(n.Run)
}

// checkpoint computes what the run waits with.
func (a *attempt) checkpoint(n workflow.Checkpoint) (json.RawMessage, error) {
	if n.Run != nil {
		return a.callback(n.Run)
	}
	summary := n.Summary
	if summary == "" {
		summary = "checkpoint"
	}
	return valueOf(a.what("output"), map[string]string{"summary": summary})
}

// notify sends one message; its receipt is the output.
func (a *attempt) notify(n workflow.Notify) (json.RawMessage, error) {
	notifier := a.r.e.o.Notifier
	if notifier == nil {
		return nil, fmt.Errorf("node %s: this host takes no notifications: run the workflow where they can be delivered", n.ID)
	}
	message := notification{a: a, n: n}
	if err := message.compose(); err != nil {
		return nil, err
	}
	if err := a.outside(); err != nil {
		return nil, err
	}
	return call(a.ctx, a.r.e, a.what("the notification"), func(ctx context.Context) (json.RawMessage, error) {
		receipt, err := notifier.Notify(ctx, message.full())
		if err != nil {
			return nil, fmt.Errorf("deliver the notification of node %s: %w", n.ID, err)
		}
		return valueOf(a.what("output"), receipt)
	})
}

// notification is a message in the making.
type notification struct {
	a       *attempt
	n       workflow.Notify
	content string
}

// compose asks the author for the content.
func (m *notification) compose() error {
	content, err := call(m.a.ctx, m.a.r.e, m.a.what("the message"), func(ctx context.Context) (string, error) {
		return m.n.Message(ctx, m.a.c)
	})
	if err != nil {
		return err
	}
	m.content = strings.TrimSpace(content)
	switch length := utf8.RuneCountInString(m.content); {
	case length == 0:
		return errors.New(m.a.what("the message") + " is blank: return a text")
	case length > maxNotification:
		return &limit.Error{What: m.a.what("the message"), Limit: maxNotification, Size: length, Unit: "characters"}
	}
	return nil
}

func (m *notification) full() Notification {
	kind := m.n.Kind
	if kind == "" {
		kind = workflow.NotifyProgress
	}
	return Notification{
		RunID: m.a.c.RunID, NodeID: m.n.ID, AttemptID: m.a.c.AttemptID, Occurrence: m.a.r.sent[m.n.ID] + 1,
		Kind: kind, Content: strings.ToValidUTF8(m.content, "\uFFFD"),
	}
}

// count notes a message that was sent.
func (r *Run) count(node workflow.Node) {
	if node.Type() == workflow.TypeNotify {
		r.sent[node.NodeID()]++
	}
}

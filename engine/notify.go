package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"piworkflows/internal/limit"
	"piworkflows/workflow"
)

// maxNotification bounds the content of a notification, in characters.
const maxNotification = 65_536

// Notifier takes messages to people. It is safe for concurrent use.
type Notifier interface {
	// Notify takes one message. It may come again after a crash, with the same ID,
	// and should then reach the person once only.
	Notify(ctx context.Context, n Notification) (NotificationReceipt, error)
}

// Notification is one message of a notify node.
type Notification struct {
	RunID, NodeID, AttemptID string
	// Occurrence counts the messages of this node from one, those of the runs
	// that this one continues included.
	Occurrence int
	// Kind is workflow.NotifyProgress or workflow.NotifyFinal.
	Kind string
	// Content has no blank ends and at most 65,536 characters.
	Content string
}

// ID identifies the message: it is the same whenever the same message comes
// again, and no other message has it.
func (n Notification) ID() string {
	sum := sha256.Sum256([]byte(n.RunID + "\n" + n.NodeID + "\n" + strconv.Itoa(n.Occurrence)))
	return "ntf_" + hex.EncodeToString(sum[:16])
}

// NotificationReceipt is the output of a notify node.
type NotificationReceipt struct {
	NotificationID  string `json:"notificationId"`
	TargetSessionID string `json:"targetSessionId"`
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

// count counts a message that was sent. Those of the run that this one continues
// count too. Spec: workflow engine, notify.
func (r *Run) count(s workflow.Step) {
	if s.NodeType == workflow.TypeNotify && s.Outcome == workflow.OK {
		r.sent[s.NodeID]++
	}
}

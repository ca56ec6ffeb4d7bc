package cli

import (
	"context"
	"strings"
	"sync"

	"piworkflows/engine"
	"piworkflows/view"
)

// teller shows the messages of notify nodes to the person who started the run.
// It is safe for concurrent use.
type teller struct {
	app *App

	mu   sync.Mutex
	told map[string]bool // by the ID of the message
}

// Notify is engine.Notifier.
func (t *teller) Notify(_ context.Context, n engine.Notification) (engine.NotificationReceipt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := n.ID()
	if !t.told[id] {
		if t.told == nil {
			t.told = map[string]bool{}
		}
		t.told[id] = true
		t.tell(n)
	}
	return engine.NotificationReceipt{NotificationID: id, TargetSessionID: "terminal"}, nil
}

// tell writes the message with a mark that no line of progress has.
func (t *teller) tell(n engine.Notification) {
	text := strings.ReplaceAll(view.PlainLines(n.Content), "\n", "\n    ")
	t.app.sayf("  %s %s", t.app.ProgressStyle().Palette.Warm("»"), text)
}

package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// Finish ends a pass; see controller.Store.
func (s *Store) Finish(ctx context.Context, c *controller.Claim, f controller.Finish) (controller.Finished, error) {
	w, err := newStatusWrite(c.Ref, f.Write)
	if err != nil {
		return controller.Finished{}, err
	}
	f.Err = limit.Text(f.Err, controller.MaxError)
	f.Pass.Type = cmp.Or(f.Pass.Type, controller.EventFinished)
	return write(ctx, s, "finish pass", func(t *tx) (controller.Finished, error) {
		h, err := t.live(c)
		if err != nil {
			return controller.Finished{}, err
		}
		return t.finish(h, w, f)
	})
}

// statusWrite is the write of a pass as columns; nil writes nothing.
type statusWrite struct {
	version, observed              int64
	conditions, status, finalizers json.RawMessage
}

// newStatusWrite encodes before the transaction, whose lock others wait for.
func newStatusWrite(ref controller.Ref, w *controller.Write) (*statusWrite, error) {
	if w == nil {
		return nil, nil //nolint:nilnil // nothing to write is no error
	}
	out := &statusWrite{version: w.Version, observed: w.ObservedGeneration, status: json.RawMessage("null")}
	var err error
	if out.conditions, err = encodeList(w.Conditions); err != nil {
		return nil, fmt.Errorf("conditions of %s: %w", ref, err)
	}
	if out.finalizers, err = encodeList(w.Finalizers); err != nil {
		return nil, fmt.Errorf("finalizers of %s: %w", ref, err)
	}
	if len(w.ControllerStatus) > 0 {
		if out.status, err = canonical.Canonical(w.ControllerStatus); err != nil {
			return nil, fmt.Errorf("status of %s: %w", ref, err)
		}
	}
	return out, nil
}

func (t *tx) finish(h held, w *statusWrite, f controller.Finish) (controller.Finished, error) {
	if w != nil && !h.current(w.version) {
		return t.finishConflict(h, f)
	}
	if w != nil {
		if err := h.change(w); err != nil {
			return controller.Finished{}, err
		}
		if h.deletion != nil {
			return t.finishDeleting(h, f)
		}
	}
	return t.finishQueue(h, f)
}

// current reports whether a pass that read the resource at a version has seen
// all that its writes could overwrite.
func (r *record) current(version int64) bool { return r.guard <= version && version <= r.version }

// change takes over what a pass writes. What is the same already is no write.
func (h *held) change(w *statusWrite) error {
	if h.observed == w.observed && bytes.Equal(h.conditions, w.conditions) &&
		bytes.Equal(h.status, w.status) && bytes.Equal(h.finalizers, w.finalizers) {
		return nil
	}
	h.observed, h.conditions, h.status, h.finalizers = w.observed, w.conditions, w.status, w.finalizers
	h.version++
	h.guard = h.version
	h.changed = true
	return checkStatusSize(h.record)
}

// finishConflict stores nothing and runs the key again at once.
func (t *tx) finishConflict(h held, f controller.Finish) (controller.Finished, error) {
	end := passEnd{kind: controller.EventConflict, outcome: "conflict", reason: controller.ReasonConflict, lane: h.lane}
	if err := t.requeue(h, end, troubles{h.errors, h.retries, h.lastError}); err != nil {
		return controller.Finished{}, err
	}
	return controller.Finished{Conflict: true, Requeued: true, Reason: end.reason}, t.tellPass(h.Ref, f, end)
}

// finishDeleting removes the resource if nothing holds it any more. Only a pass
// that wrote gets here: one that failed may still have something to clean up.
func (t *tx) finishDeleting(h held, f controller.Finish) (controller.Finished, error) {
	deletable, err := t.deletable(h.record)
	if err != nil {
		return controller.Finished{}, err
	}
	if !deletable {
		return t.finishQueue(h, f)
	}
	if err := t.tellPass(h.Ref, f, passEnd{kind: f.Pass.Type, outcome: "deleted"}); err != nil {
		return controller.Finished{}, err
	}
	return controller.Finished{Deleted: true}, t.remove(h.record)
}

// finishQueue settles or requeues the key and tells of the pass.
func (t *tx) finishQueue(h held, f controller.Finish) (controller.Finished, error) {
	end, err := t.disposition(h, f)
	if err != nil {
		return controller.Finished{}, err
	}
	if end.requeued {
		err = t.requeue(h, end, h.troublesAfter(f))
	} else {
		err = t.exec("DELETE FROM queue WHERE resource_id = ?", h.id)
	}
	if err == nil {
		err = t.save(h, f, end)
	}
	if err != nil {
		return controller.Finished{}, err
	}
	return controller.Finished{Requeued: end.requeued, Reason: end.reason, After: end.after}, t.tellPass(h.Ref, f, end)
}

// passEnd is how a pass ended, as its event tells it.
type passEnd struct {
	kind     controller.EventType
	outcome  string
	requeued bool
	after    time.Duration
	lane     controller.Lane
	reason   controller.RequeueReason
	// terminal says that the key is not tried again by itself.
	terminal bool
}

// outcomes are those of passes that did not return a result.
var outcomes = map[controller.EventType]string{
	controller.EventFailed:   "error",
	controller.EventReleased: "released",
}

// disposition decides what becomes of the key. A wake-up that arrived during
// the pass beats every delay: the pass may not have seen what it was about.
func (t *tx) disposition(h held, f controller.Finish) (passEnd, error) {
	end := passEnd{kind: f.Pass.Type, outcome: "requeue", requeued: true, lane: h.lane, after: f.After, reason: f.Reason}
	if outcome, ok := outcomes[f.Pass.Type]; ok {
		end.outcome = outcome
	}
	switch {
	case h.woken() && (f.Settle || f.After > 0):
		end.after, end.reason = 0, controller.ReasonEventDuringPass
		return end, nil
	case f.Settle:
		return t.settled(h, f, end)
	case f.After > 0: // whoever asked for the pass got it
		end.lane = max(end.lane, controller.LaneEvent)
	}
	return end, nil
}

// settled is the disposition of a key that has nothing more to do now.
func (t *tx) settled(h held, f controller.Finish, end passEnd) (passEnd, error) {
	unfinished, err := t.unfinishedEffects(h.uid)
	switch {
	case err != nil:
		return end, err
	case unfinished && f.Unsettled > 0:
		end.lane = max(end.lane, controller.LaneEvent)
		end.after, end.reason = f.Unsettled, controller.ReasonEffectUnsettled
		return end, nil
	case f.Terminal:
		return passEnd{kind: f.Pass.Type, outcome: end.outcome, terminal: true}, nil
	case f.Resync > 0:
		end.lane, end.after, end.reason = controller.LaneBackground, f.Resync, controller.ReasonResync
		return end, nil
	default:
		return passEnd{kind: f.Pass.Type, outcome: "settled"}, nil
	}
}

// troubles are what a key remembers of its passes that came to nothing.
type troubles struct {
	errors, retries int
	text            string
}

func (h *held) troublesAfter(f controller.Finish) troubles {
	after := troubles{h.errors, h.retries, f.Err}
	switch {
	case f.KeepErrors && f.Err == "":
		after.text = h.lastError
	case f.KeepErrors:
	case f.Err != "":
		after.errors++
	case f.Retry:
		after.retries++
		after.text = h.lastError
	default:
		return troubles{}
	}
	return after
}

// requeue gives the key back.
func (t *tx) requeue(h held, end passEnd, after troubles) error {
	return t.exec(`UPDATE queue SET lane = ?, available_at = ?, consecutive_errors = ?, retries = ?, last_error = ?,
			claim_token = NULL, claim_wake = NULL, claim_owner = NULL, claim_expires_at = NULL
		WHERE resource_id = ?`,
		int(end.lane), t.now.Add(end.after), after.errors, after.retries, orNull(after.text), h.id)
}

// save stores what became of the resource.
func (t *tx) save(h held, f controller.Finish, end passEnd) error {
	handled := h.answer(f, end)
	switch {
	case h.changed:
		return t.exec(`UPDATE resources SET observed_generation = ?, conditions_json = ?, controller_status_json = ?,
			finalizers_json = ?, resource_version = ?, guard_version = ?, updated_at = ?, handled = ?, stalled = ?
			WHERE id = ?`, h.observed, h.conditions, h.status, h.finalizers, h.version, h.guard, t.now,
			h.handled, orNull(h.stalled), h.id)
	case handled:
		return t.exec("UPDATE resources SET handled = ?, stalled = ? WHERE id = ?", h.handled, orNull(h.stalled), h.id)
	}
	return nil
}

// answer notes that the wake-ups that the pass saw were answered, and reports
// whether that is news. A pass that was cut off answered none of them.
func (h *held) answer(f controller.Finish, end passEnd) bool {
	if f.Pass.Type != controller.EventFinished && f.Pass.Type != controller.EventFailed {
		return false
	}
	stalled := ""
	if end.terminal {
		stalled = f.Err
	}
	if h.handled == h.seen && h.stalled == stalled {
		return false
	}
	h.handled, h.stalled = h.seen, stalled
	return true
}

// passPayload is the payload of the event that ends a pass.
type passPayload struct {
	ReconcileID    string                   `json:"reconcileId"`
	Generation     int64                    `json:"generation"`
	Outcome        string                   `json:"outcome"`
	DurationMs     int64                    `json:"durationMs"`
	Reason         controller.RequeueReason `json:"reason,omitempty"`
	RequeueAfterMs int64                    `json:"requeueAfterMs,omitempty"`
	Error          string                   `json:"error,omitempty"`
	Terminal       bool                     `json:"terminal,omitempty"`
}

func (t *tx) tellPass(ref controller.Ref, f controller.Finish, end passEnd) error {
	return t.tell(ref, end.kind, passPayload{
		ReconcileID: f.Pass.ReconcileID, Generation: f.Pass.Generation, Outcome: end.outcome,
		DurationMs: f.Pass.Duration.Milliseconds(), Reason: end.reason,
		RequeueAfterMs: end.after.Milliseconds(), Error: f.Err, Terminal: end.terminal,
	})
}

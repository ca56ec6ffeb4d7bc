package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// Finish ends a pass; see controller.Store.
func (s *Store) Finish(ctx context.Context, c *controller.Claim, f controller.Finish) (controller.Finished, error) {
	return s.finish(ctx, c, f, nil)
}

// FinishAndClaim implements controller.FinishClaimer.
func (s *Store) FinishAndClaim(
	ctx context.Context, c *controller.Claim, f controller.Finish, controllers []string, d time.Duration,
) (controller.Finished, *controller.Claim, error) {
	var taken *claimed
	done, err := s.finish(ctx, c, f, func(t *tx) (err error) {
		taken, err = t.claim(&s.writer.heads, controllers, d)
		return err
	})
	if err != nil {
		return done, nil, err
	}
	next, err := s.took(taken, nil)
	return done, next, err
}

// finish ends a pass, and then does something that dies with this process.
func (s *Store) finish(
	ctx context.Context, c *controller.Claim, f controller.Finish, then func(*tx) error,
) (done controller.Finished, err error) {
	w, err := newStatusWrite(c, f.Write)
	if err != nil {
		return done, err
	}
	f.Err = limit.Text(f.Err, controller.MaxError)
	f.Pass.Type = cmp.Or(f.Pass.Type, controller.EventFinished)
	err = s.change(ctx, "finish pass", change{fleeting: then, lasting: func(t *tx) error {
		h, err := t.live(c)
		if err == nil {
			done, err = t.finish(h, w, f)
		}
		return err
	}})
	if err != nil {
		return controller.Finished{}, err
	}
	return done, nil
}

// statusWrite is the write of a pass as columns; nil writes nothing. A nil
// column stays as it is.
type statusWrite struct {
	version, observed              int64
	conditions, status, finalizers json.RawMessage
}

// newStatusWrite encodes before the transaction, whose lock others wait for, and
// only what the pass has changed: until it ends, nobody else writes these columns.
func newStatusWrite(c *controller.Claim, w *controller.Write) (*statusWrite, error) {
	if w == nil {
		return nil, nil //nolint:nilnil // nothing to write is no error
	}
	out := &statusWrite{version: w.Version, observed: w.ObservedGeneration}
	was := c.Resource.Status
	var err error
	if !slices.Equal(w.Conditions, was.Conditions) {
		if out.conditions, err = encodeList(w.Conditions); err != nil {
			return nil, fmt.Errorf("conditions of %s: %w", c.Ref, err)
		}
	}
	if !slices.Equal(w.Finalizers, c.Resource.Metadata.Finalizers) {
		if out.finalizers, err = encodeList(w.Finalizers); err != nil {
			return nil, fmt.Errorf("finalizers of %s: %w", c.Ref, err)
		}
	}
	if !bytes.Equal(w.ControllerStatus, was.ControllerStatus) {
		if out.status, err = encodeStatus(w.ControllerStatus); err != nil {
			return nil, fmt.Errorf("status of %s: %w", c.Ref, err)
		}
	}
	return out, nil
}

// encodeStatus makes a controller status canonical; none is null.
func encodeStatus(status json.RawMessage) (json.RawMessage, error) {
	if len(status) == 0 {
		return json.RawMessage("null"), nil
	}
	return canonical.Canonical(status)
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
	for _, column := range []struct{ now, then *json.RawMessage }{
		{&h.conditions, &w.conditions}, {&h.status, &w.status}, {&h.finalizers, &w.finalizers},
	} {
		if *column.then != nil && !bytes.Equal(*column.now, *column.then) {
			*column.now, h.changed = *column.then, true
		}
	}
	if h.observed != w.observed {
		h.observed, h.changed = w.observed, true
	}
	if !h.changed {
		return nil
	}
	h.version++
	h.guard = h.version
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
	end := h.disposition(f)
	var err error
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
func (h *held) disposition(f controller.Finish) passEnd {
	end := passEnd{kind: f.Pass.Type, outcome: "requeue", requeued: true, lane: h.lane, after: f.After, reason: f.Reason}
	if outcome, ok := outcomes[f.Pass.Type]; ok {
		end.outcome = outcome
	}
	switch {
	case h.woken() && (f.Settle || f.After > 0):
		end.after, end.reason = 0, controller.ReasonEventDuringPass
		return end
	case f.Settle:
		return h.settled(f, end)
	case f.After > 0: // whoever asked for the pass got it
		end.lane = max(end.lane, controller.LaneEvent)
	}
	return end
}

// settled is the disposition of a key that has nothing more to do now.
func (h *held) settled(f controller.Finish, end passEnd) passEnd {
	switch {
	case h.unfinished && f.Unsettled > 0:
		end.lane = max(end.lane, controller.LaneEvent)
		end.after, end.reason = f.Unsettled, controller.ReasonEffectUnsettled
		return end
	case f.Terminal:
		return passEnd{kind: f.Pass.Type, outcome: end.outcome, terminal: true}
	case f.Resync > 0:
		end.lane, end.after, end.reason = controller.LaneBackground, f.Resync, controller.ReasonResync
		return end
	default:
		return passEnd{kind: f.Pass.Type, outcome: "settled"}
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

func (t *tx) tellPass(ref controller.Ref, f controller.Finish, end passEnd) error {
	var o object
	o.string("reconcileId", f.Pass.ReconcileID)
	o.number("generation", f.Pass.Generation)
	o.string("outcome", end.outcome)
	o.number("durationMs", f.Pass.Duration.Milliseconds())
	o.stringIfAny("reason", string(end.reason))
	if after := end.after.Milliseconds(); after != 0 {
		o.number("requeueAfterMs", after)
	}
	o.stringIfAny("error", f.Err)
	if end.terminal {
		o.yes("terminal")
	}
	return t.tellObject(ref, end.kind, o)
}

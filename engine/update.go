package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// The limits of the updates of one run. Spec: workflow engine, Validation and
// limits.
const (
	// MaxUpdates bounds the pairs of type and key that a run shows at once; it
	// keeps the state of a run readable. Replacing one is always possible.
	MaxUpdates = 1024
	// UpdateBurst updates may come at once; after that one each UpdateInterval.
	UpdateBurst    = 100
	UpdateInterval = time.Second / 20
)

// UpdateLimitError says that a run shows so many updates already that another
// pair of type and key has no place. Nothing was recorded.
type UpdateLimitError struct {
	RunID string
	// Limit is MaxUpdates.
	Limit int
}

func (e *UpdateLimitError) Error() string {
	return fmt.Sprintf("run %s shows %d updates, which is the limit: publish under a type and key that are in use", e.RunID, e.Limit)
}

// ErrorCode is the stable code of the error.
func (*UpdateLimitError) ErrorCode() string { return "update_limit" }

// UpdateRateError says that updates come too fast. Nothing was recorded.
type UpdateRateError struct {
	RunID string
	// After is when the next update will be taken, at the earliest.
	After time.Duration
}

func (e *UpdateRateError) Error() string {
	return fmt.Sprintf("run %s publishes more than %d updates a second: publish the next one after %d ms, and fewer of them",
		e.RunID, time.Second/UpdateInterval, e.After.Milliseconds())
}

// ErrorCode is the stable code of the error.
func (*UpdateRateError) ErrorCode() string { return "update_rate" }

// publish is workflow.Publisher for the running attempt.
func (a *attempt) publish(ctx context.Context, u workflow.Update) (workflow.UpdateReceipt, error) {
	u, err := u.Normalised()
	if err != nil {
		return workflow.UpdateReceipt{}, err
	}
	if ctx.Err() != nil {
		return workflow.UpdateReceipt{}, context.Cause(ctx)
	}
	r := a.r
	r.writing.Lock()
	defer r.writing.Unlock()
	// The end of the attempt is recorded under this lock, after its context ended.
	if a.ctx.Err() != nil {
		return workflow.UpdateReceipt{}, ErrStepOver
	}
	if err := r.admit(u); err != nil {
		return workflow.UpdateReceipt{}, err
	}
	payload := runbundle.UpdatePublished{UpdateID: "upd_" + r.e.o.NewID(), Kind: u.Type, Key: u.Key, Data: u.Data}
	e, err := r.write(runbundle.Draft{
		At: r.e.o.Clock.Now(), NodeID: a.node.NodeID(), AttemptID: a.c.AttemptID, Payload: payload,
	})
	if err != nil {
		return workflow.UpdateReceipt{}, err
	}
	r.updates.add(u)
	return workflow.UpdateReceipt{UpdateID: payload.UpdateID, Seq: e.Seq, At: e.At.Time, Type: u.Type, Key: u.Key}, nil
}

// admit reports why an update is refused that is well-formed.
func (r *Run) admit(u workflow.Update) error {
	l := &r.updates
	if l.shown == nil {
		l.open(r.w.Updates()) // a run that is resumed has some
	}
	if l.full(u) {
		return &UpdateLimitError{RunID: r.o.RunID, Limit: MaxUpdates}
	}
	if wait := l.bucket.take(r.e.o.Clock.Now()); wait > 0 {
		return &UpdateRateError{RunID: r.o.RunID, After: wait}
	}
	return nil
}

// ledger knows what the limits of updates are about.
type ledger struct {
	shown  map[pair]struct{}
	bucket bucket
}

type pair struct{ kind, key string }

func (l *ledger) open(shown []runbundle.Update) {
	l.shown = make(map[pair]struct{}, len(shown))
	for _, u := range shown {
		l.shown[pair{u.Type, u.Key}] = struct{}{}
	}
}

// full reports whether an update has no place.
func (l *ledger) full(u workflow.Update) bool {
	_, replaces := l.shown[pair{u.Type, u.Key}]
	return !replaces && len(l.shown) >= MaxUpdates
}

func (l *ledger) add(u workflow.Update) { l.shown[pair{u.Type, u.Key}] = struct{}{} }

// bucket holds up to UpdateBurst tokens and gets one each UpdateInterval. The
// zero bucket is full.
type bucket struct {
	used int
	// since is the time of the last token that came back.
	since time.Time
}

// take takes a token, or says how long it is until there is one.
func (b *bucket) take(now time.Time) (wait time.Duration) {
	if back := int(now.Sub(b.since) / UpdateInterval); back >= b.used {
		b.used, b.since = 0, now
	} else if back > 0 {
		b.used -= back
		b.since = b.since.Add(time.Duration(back) * UpdateInterval)
	}
	if b.used == UpdateBurst {
		return UpdateInterval - now.Sub(b.since)
	}
	b.used++
	return 0
}

// maxRemembered bounds the calls that an attempt remembers by their key. A call
// is repeated soon or never.
const maxRemembered = 1024

// onceEach publishes what comes twice under one key once only.
type onceEach struct {
	publish workflow.Publisher

	mu       sync.Mutex
	receipts map[callKey]workflow.UpdateReceipt
	oldest   []callKey
}

// callKey is a key in little space, whatever its length.
type callKey [sha256.Size]byte

// take is AgentRequest.Publish. The lock makes a repeated call wait for the
// first one. A failure is not remembered: the next call may do better.
func (o *onceEach) take(ctx context.Context, u workflow.Update, key string) (workflow.UpdateReceipt, error) {
	if key == "" {
		return o.publish(ctx, u)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	id := callKey(sha256.Sum256([]byte(key)))
	if known, again := o.receipts[id]; again {
		return known, nil
	}
	receipt, err := o.publish(ctx, u)
	if err == nil {
		o.remember(id, receipt)
	}
	return receipt, err
}

func (o *onceEach) remember(id callKey, receipt workflow.UpdateReceipt) {
	if o.receipts == nil {
		o.receipts = map[callKey]workflow.UpdateReceipt{}
	}
	if len(o.oldest) == maxRemembered {
		delete(o.receipts, o.oldest[0])
		o.oldest = o.oldest[1:]
	}
	o.receipts[id] = receipt
	o.oldest = append(o.oldest, id)
}

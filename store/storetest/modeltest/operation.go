package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/store/storetest"
)

// action is what an operation of a history does.
type action string

const (
	doPut     action = "put"
	doGet     action = "get"
	doEnqueue action = "enqueue"
	doDelete  action = "delete"
	doClaim   action = "claim"
	doRenew   action = "renew"
	doFinish  action = "finish"
	doReserve action = "reserve effect"
	doEffect  action = "finish effect"
	doAdvance action = "advance"
)

// operation is one call of a history. A claim has no key, and an advance concerns
// all of them.
type operation struct {
	action
	key    string
	spec   int
	claim  *controller.Claim
	finish controller.Finish
	state  controller.EffectState
	by     time.Duration
	// next says that the end of a pass also claims, if the store can do that.
	next bool
}

func (o operation) String() string {
	switch o.action {
	case doPut:
		return fmt.Sprintf("put %s=%d", o.key, o.spec)
	case doClaim:
		return "claim"
	case doAdvance:
		return "advance " + o.by.String()
	case doRenew, doReserve:
		return fmt.Sprintf("%s of %s with %.4s", o.action, o.key, o.claim.Token)
	case doEffect:
		return fmt.Sprintf("finish effect of %s as %s with %.4s", o.key, o.state, o.claim.Token)
	case doFinish:
		f := o.finish
		return fmt.Sprintf("finish %s with %.4s: write %v, settle %v, after %s, %q",
			o.key, o.claim.Token, f.Write != nil, f.Settle, f.After, f.Err)
	default:
		return string(o.action) + " " + o.key
	}
}

// answer is what an operation returned, as far as the rules say.
type answer struct {
	// code is that of the error; empty without one.
	code     string
	resource snapshot
	action   controller.PutAction
	// count is a number of wake-ups.
	count    int64
	token    lease.Token
	key      string
	finished controller.Finished
	deleted  bool
	found    controller.Reservation
}

func (a answer) String() string {
	var parts []string
	for _, part := range []any{a.code, a.action, a.key, a.found} {
		if text := fmt.Sprint(part); text != "" {
			parts = append(parts, text)
		}
	}
	if a.token != "" {
		parts = append(parts, fmt.Sprintf("token %.4s", a.token))
	}
	if a.resource != (snapshot{}) {
		parts = append(parts, a.resource.String())
	}
	if a.finished != (controller.Finished{}) {
		parts = append(parts, fmt.Sprintf("%+v", a.finished))
	}
	return fmt.Sprintf("%s count %d deleted %v", strings.Join(parts, ", "), a.count, a.deleted)
}

// snapshot is a resource as far as the rules say how it changes.
type snapshot struct {
	uid                 string
	spec                string
	version, generation int64
	deleting            bool
}

func (s snapshot) String() string {
	return fmt.Sprintf("%.4s spec %s version %d generation %d deleting %v", s.uid, s.spec, s.version, s.generation, s.deleting)
}

func snapshotOf(r controller.Raw) snapshot {
	return snapshot{
		uid: r.Metadata.UID, spec: string(r.Spec), version: r.Metadata.ResourceVersion,
		generation: r.Metadata.Generation, deleting: r.Metadata.Deleting(),
	}
}

// codeOf returns the code of an error that the rules speak of; ok is false for
// any other.
func codeOf(err error) (code string, ok bool) {
	if err == nil {
		return "", true
	}
	for target, code := range map[error]string{
		controller.ErrNotFound: "not found", controller.ErrDeleting: "deleting", lease.ErrLost: "lost",
	} {
		if errors.Is(err, target) {
			return code, true
		}
	}
	if _, conflict := errors.AsType[*controller.EffectConflictError](err); conflict {
		return "final", true
	}
	return "", false
}

// run performs an operation on a store. The claim is one that it made, if any.
func (o operation) run(ctx context.Context, s storetest.Store, controllerName string) (a answer, c *controller.Claim, err error) {
	ref := controller.Ref{Controller: controllerName, Key: o.key}
	switch o.action {
	case doPut:
		var done controller.PutResult
		done, err = s.Put(ctx, controller.Put{Ref: ref, Spec: json.RawMessage(strconv.Itoa(o.spec))})
		a.action, a.resource = done.Action, snapshotOf(done.Resource)
	case doGet:
		var r controller.Raw
		r, err = s.Get(ctx, ref)
		a.resource = snapshotOf(r)
	case doEnqueue:
		a.count, err = s.Enqueue(ctx, ref, "")
	case doDelete:
		var done controller.DeletionResult
		done, err = s.RequestDeletion(ctx, controller.Deletion{Ref: ref})
		a.deleted = done.Deleted
	case doClaim:
		c, err = s.Claim(ctx, []string{controllerName}, lasts)
		a = claimed(c)
	case doRenew:
		err = s.Renew(ctx, o.claim, renewed)
	case doFinish:
		if both, ok := s.(controller.FinishClaimer); ok && o.next {
			a.finished, c, err = both.FinishAndClaim(ctx, o.claim, o.finish, []string{controllerName}, lasts)
		} else {
			a.finished, err = s.Finish(ctx, o.claim, o.finish)
		}
	case doReserve:
		_, a.found, err = s.ReserveEffect(ctx, o.claim, reservation("e"))
	case doEffect:
		_, err = s.FinishEffect(ctx, o.claim, controller.EffectOutcome{Key: "e", State: o.state})
	case doAdvance: // is done by the harness
	}
	code, ok := codeOf(err)
	if !ok {
		return a, c, fmt.Errorf("%s: %w", o, err)
	}
	if code != "" {
		a = answer{code: code}
	}
	return a, c, nil
}

// claimed is the answer of a claim.
func claimed(c *controller.Claim) (a answer) {
	if c != nil {
		a.key, a.token, a.count, a.resource = c.Ref.Key, c.Token, c.Wake, snapshotOf(c.Resource)
	}
	return a
}

func reservation(key string) controller.EffectReservation {
	const fingerprintLength = 64
	return controller.EffectReservation{
		Key: key, Kind: "test", Generation: 1, RequestFingerprint: strings.Repeat("a", fingerprintLength),
	}
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/wording"
	"piworkflows/runqueue"
)

// noticing finds what a hook has to tell among events. Events are hints: what is
// told is what the store says now.
type noticing struct {
	store Store
	kinds []controller.NoticeKind
}

func (n noticing) wants(kind controller.NoticeKind) bool {
	return len(n.kinds) == 0 || slices.Contains(n.kinds, kind)
}

// among returns the notices for some events.
func (n noticing) among(ctx context.Context, events []controller.Event) ([]controller.Notice, error) {
	var list []controller.Notice
	looked := map[controller.Ref]bool{}
	for _, e := range events {
		if e.Type == controller.EventFinished && looked[e.Ref] {
			continue // one look at the resource answers for all of its passes
		}
		looked[e.Ref] = looked[e.Ref] || e.Type == controller.EventFinished
		notice, err := n.of(ctx, e)
		if errors.Is(err, controller.ErrNotFound) {
			continue // it is gone
		}
		if err != nil {
			return nil, err
		}
		if notice != nil && n.wants(notice.Kind) {
			list = append(list, *notice)
		}
	}
	return list, nil
}

// payload has what notices need of events.
type payload struct {
	EffectKey  string              `json:"effectKey"`
	Generation int64               `json:"generation"`
	Error      string              `json:"error"`
	State      controller.RunState `json:"state"`
	RunID      string              `json:"runId"`
	Workflow   string              `json:"workflow"`
}

func (n noticing) of(ctx context.Context, e controller.Event) (*controller.Notice, error) {
	var p payload
	notice := &controller.Notice{Controller: e.Controller, Key: e.Key, Since: e.RecordedAt}
	switch e.Type {
	case controller.EventFinished:
		return n.notReady(ctx, e.Ref)
	case controller.EventDeletionRequested:
		r, err := n.store.Get(ctx, e.Ref)
		if err != nil {
			return nil, err
		}
		notice.Kind, notice.UID, notice.Delay = controller.NoticeDeletionStuck, r.Metadata.UID, deletionStuck
		notice.Message = "its deletion has not come to its end"
		return identified(notice, notice.UID)
	case controller.EventEffectIndeterminate:
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return nil, nil //nolint:nilerr,nilnil // an event tells, it decides nothing
		}
		notice.Kind, notice.Subject, notice.Message = controller.NoticeEffectInDoubt, p.EffectKey, p.Error
		return identified(notice, p.EffectKey, p.Generation)
	case controller.EventWorkflowStateChanged, controller.EventRunWaiting:
		isChild := e.Type == controller.EventWorkflowStateChanged
		if err := json.Unmarshal(e.Payload, &p); err != nil || isChild && p.State != controller.RunWaiting {
			return nil, nil //nolint:nilerr,nilnil // as above
		}
		notice.Kind, notice.Subject, notice.Message = controller.NoticeRunWaiting, p.RunID, "workflow "+p.Workflow+" waits for an answer"
		return identified(notice, p.RunID)
	default:
		return nil, nil //nolint:nilnil // nobody has to hear of it
	}
}

// notReady is what is to be told of a resource now; nil if it may be ready.
func (n noticing) notReady(ctx context.Context, ref controller.Ref) (*controller.Notice, error) {
	r, err := n.store.Get(ctx, ref)
	if err != nil || controller.ReadinessOf(r).Status != controller.False {
		return nil, err
	}
	notice := &controller.Notice{Kind: controller.NoticeNotReady, Controller: ref.Controller, Key: ref.Key, UID: r.Metadata.UID}
	for _, c := range r.Status.Conditions {
		if c.Type == controller.Ready {
			notice.Since = c.LastTransitionTime
			notice.Message = c.Reason + wording.Because(c.Message)
		}
	}
	return identified(notice, notice.UID, notice.Since)
}

// identified gives a notice the ID of what it is about.
func identified(n *controller.Notice, about ...any) (*controller.Notice, error) {
	text, err := canonical.Marshal(append([]any{n.Kind, n.Controller, n.Key}, about...))
	if err != nil {
		return nil, err
	}
	n.ID = canonical.Sum(text)
	return n, nil
}

// still reports whether something that was to be told is so now.
func (n noticing) still(ctx context.Context, notice controller.Notice) (bool, error) {
	so, err := n.holds(ctx, notice)
	if errors.Is(err, controller.ErrNotFound) {
		return false, nil
	}
	return so, err
}

func (n noticing) holds(ctx context.Context, notice controller.Notice) (bool, error) {
	switch notice.Kind {
	case controller.NoticeNotReady:
		now, err := n.notReady(ctx, notice.Ref())
		return now != nil && now.ID == notice.ID, err
	case controller.NoticeDeletionStuck:
		r, err := n.store.Get(ctx, notice.Ref())
		return err == nil && r.Metadata.Deleting() && r.Metadata.UID == notice.UID, err
	case controller.NoticeEffectInDoubt:
		effects, err := n.store.Effects(ctx, notice.Ref())
		return slices.ContainsFunc(effects, func(e controller.EffectRecord) bool {
			return e.Key == notice.Subject && !e.State.Final()
		}), err
	case controller.NoticeRunWaiting:
		if notice.Controller == "" {
			return n.unanswered(ctx, notice.Subject)
		}
		children, err := n.store.Children(ctx, notice.Ref())
		return slices.ContainsFunc(children, func(c controller.ChildRun) bool {
			return c.RunID == notice.Subject && c.State == controller.RunWaiting
		}), err
	}
	return false, nil
}

// unanswered reports whether a detached run still waits.
func (n noticing) unanswered(ctx context.Context, runID string) (bool, error) {
	row, err := n.store.Run(ctx, runID)
	if _, gone := errors.AsType[*runqueue.NotFoundError](err); gone {
		return false, nil
	}
	return err == nil && row.Status == runqueue.Done && row.ContinuedBy == "", err
}

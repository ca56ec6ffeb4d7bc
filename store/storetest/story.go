package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// storyStep is one operation of the story that Crash tells.
type storyStep struct {
	name string
	act  func(ctx context.Context, a *actor) error
	// again says that whoever missed the answer may repeat the operation.
	again bool
	// many says that the operation is more than one transaction, so that a part of
	// it may be done.
	many bool
}

// story has every kind of operation that writes in it.
var story = []storyStep{
	{name: "open", act: func(ctx context.Context, a *actor) (err error) {
		a.store, err = a.open(ctx)
		return err
	}},
	{name: "put a resource", act: puts("a", `{"n":1}`), again: true},
	{name: "put another", act: puts("b", `{"n":1}`), again: true},
	{name: "put a spec that differs", act: puts("a", `{"n":2}`), again: true},
	{name: "enqueue", act: enqueues("b")},
	{name: "deliver", act: delivers(controller.Delivery{Source: "s", ID: "d1", Cursor: "c1", Keys: []string{"a", "b"}}), again: true},
	{name: "suspend", act: suspends("b"), again: true},
	{name: "claim", act: claims("a")},
	{name: "renew", act: renews("a")},
	{name: "reserve an effect", act: reserves("e")},
	{name: "lose sight of an effect", act: knows(controller.EffectOutcome{Key: "e", State: controller.EffectIndeterminate})},
	{name: "reserve an open effect", act: reserves("e")},
	{name: "go on to apply", act: knows(controller.EffectOutcome{
		Key: "e", State: controller.EffectPending, Outcome: controller.OutcomeNotApplied, Applies: true,
	})},
	{name: "settle an effect", act: knows(controller.EffectOutcome{
		Key: "e", State: controller.EffectApplied, ExternalRef: "x", Event: controller.EventEffectApplied,
	})},
	{name: "reserve a second effect", act: reserves("f")},
	{name: "reserve a child", act: asks("a", "r", "run-1")},
	{name: "finish with a delay", act: finishes("a", func(c *controller.Claim) controller.Finish {
		w := write(c, "busy")
		w.Finalizers = []string{"cleanup"}
		return controller.Finish{Write: w, After: lasts, Reason: controller.ReasonDelay}
	})},
	{name: "unsuspend", act: unsuspends("b"), again: true},
	{name: "claim the other", act: claims("b")},
	{name: "fail for good", act: finishes("b", func(*controller.Claim) controller.Finish {
		return controller.Finish{Settle: true, Terminal: true, Err: "never", Pass: controller.PassRecord{Type: controller.EventFailed}}
	})},
	{name: "claim a run", act: claimsRun("run-1")},
	{name: "start a child", act: onRun("run-1", func(ctx context.Context, s Store, c *runqueue.Claim) error { return s.StartChild(ctx, c) })},
	{name: "count an agent attempt", act: countsAgent("run-1")},
	{name: "count one that is too much", act: countsAgent("run-1")},
	{name: "renew a run", act: onRun("run-1", func(ctx context.Context, s Store, c *runqueue.Claim) error {
		return s.RenewRun(ctx, c, lasts)
	})},
	{name: "let a child wait", act: ends("run-1", controller.RunWaiting)},
	{name: "continue a child", act: launches("run-2", "run-1")},
	{name: "finish a child", act: ends("run-2", controller.RunSucceeded)},
	{name: "resolve an effect", act: resolves("a", "f", controller.VerdictNotApplied)},
	{name: "freeze", act: freezes, again: true},
	{name: "unfreeze", act: unfreezes, again: true},
	{name: "record a source", act: func(ctx context.Context, a *actor) error {
		return a.store.RecordSources(ctx, []controller.SourceStatus{someSource("webhook")})
	}, again: true},
	{name: "launch a run", act: launches("run-3", "")},
	{name: "park a run", act: onRun("run-3", func(ctx context.Context, s Store, c *runqueue.Claim) error {
		return s.ParkRun(ctx, c, "later")
	})},
	{name: "pause a run", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.OrderRun(ctx, "run-3", runqueue.OrderPause, "")
		return err
	}, again: true},
	{name: "queue a run", act: func(ctx context.Context, a *actor) error { return a.store.QueueRun(ctx, newRun("run-queued")) }},
	{name: "claim the workers", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.ClaimWorkers(ctx, "t", lasts)
		return err
	}, again: true},
	{name: "release the workers", act: func(ctx context.Context, a *actor) error { return a.store.ReleaseWorkers(ctx, "t") }, again: true},
	{name: "claim a queued run", act: func(ctx context.Context, a *actor) (err error) {
		a.runs["run-queued"], err = a.store.ClaimRun(ctx, runqueue.ClaimQuery{Detached: true}, lasts)
		return err
	}},
	{name: "refuse a run", act: onRun("run-queued", func(ctx context.Context, s Store, c *runqueue.Claim) error {
		return s.RefuseRun(ctx, c, "another definition")
	})},
	{name: "reconsider", act: func(ctx context.Context, a *actor) error { return a.store.ReconsiderRuns(ctx) }, again: true},
	{name: "claim a run again", act: func(ctx context.Context, a *actor) (err error) {
		a.runs["run-queued"], err = a.store.ClaimRun(ctx, runqueue.ClaimQuery{Detached: true}, lasts)
		return err
	}},
	{name: "let a run wait", act: onRun("run-queued", func(ctx context.Context, s Store, c *runqueue.Claim) error {
		return s.AwaitAnswer(ctx, c)
	})},
	{name: "adopt a run", act: adopts("run-3")},
	{name: "finish a run", act: onRun("run-3", func(ctx context.Context, s Store, c *runqueue.Claim) error {
		return s.FinishRun(ctx, c, runqueue.Done, "")
	})},
	{name: "continue a run", act: launches("run-4", "run-3")},
	{name: "abandon a run", act: onRun("run-4", func(ctx context.Context, s Store, c *runqueue.Claim) error {
		return s.AbandonRun(ctx, c, runqueue.Failed, "no bundle")
	})},
	{name: "withdraw a run", act: func(ctx context.Context, a *actor) error { return a.store.WithdrawRun(ctx, "run-3", "unwanted") }},
	{name: "claim to retry", act: claims("a")},
	{name: "apply after a verdict", act: reserves("f")},
	{name: "have an effect refused", act: knows(controller.EffectOutcome{Key: "f", State: controller.EffectRejected, Error: "no"})},
	{name: "reserve a second child", act: asks("a", "s", "run-5")},
	{name: "retry", act: finishes("a", func(*controller.Claim) controller.Finish {
		return controller.Finish{Retry: true, After: time.Second, Reason: controller.ReasonRetry}
	})},
	{name: "claim a run to lose", act: claimsRun("run-5")},
	{name: "interrupt a child", act: ends("run-5", controller.RunInterrupted)},
	{name: "cut finished effects", act: prunes, again: true},
	{name: "remove old events", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.PruneEvents(ctx, controller.EventPruning{Before: farAhead})
		return err
	}, again: true},
	{name: "forget old deliveries", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.PruneDeliveries(ctx, controller.DeliveryPruning{Before: farAhead})
		return err
	}, again: true},
	{name: "forget a run", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.ForgetRun(ctx, "run-4")
		return err
	}, again: true},
	{name: "request the deletion of a resource with a finalizer", act: deletes("a")},
	{name: "request the deletion of a resource without one", act: deletes("b")},
	{name: "claim to clean up", act: claims("a")},
	{name: "finish a deletion", act: finishes("a", func(c *controller.Claim) controller.Finish {
		w := write(c, "gone")
		w.Finalizers = nil
		return controller.Finish{Write: w, Settle: true}
	})},
	{name: "put a parent", act: puts("c", `{}`), again: true},
	{name: "claim a parent", act: claims("c")},
	{name: "reserve a child that is not wanted", act: asks("c", "q", "run-7")},
	{name: "reserve another that is not", act: asks("c", "p", "run-8")},
	{name: "claim a run that is not wanted", act: claimsRun("run-7")},
	{name: "reserve a child to cancel", act: asks("c", "r", "run-6")},
	{name: "cancel what is not wanted", act: cancels("c", "r")},
	{name: "end what is not wanted", act: ends("run-7", controller.RunFailed)},
	{name: "hold a deletion", act: finishes("c", func(c *controller.Claim) controller.Finish {
		w := write(c, "busy")
		w.Finalizers = []string{"cleanup"}
		return controller.Finish{Write: w, Settle: true}
	})},
	{name: "claim a run to cancel", act: claimsRun("run-6")},
	{name: "request the deletion of a parent", act: deletes("c")},
	{name: "cancel a child", act: ends("run-6", controller.RunInterrupted)},
	{name: "take a finalizer away", act: forces("c", "cleanup")},
	{name: "put a resource anew", act: puts("a", `{"n":3}`), again: true},
	{name: "put another anew", act: puts("b", `{"n":3}`), again: true},
	{name: "rebuild the queue", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.RebuildQueue(ctx)
		return err
	}, many: true},
	{name: "queue notices", act: func(ctx context.Context, a *actor) error {
		return a.store.QueueNotices(ctx, "pager", []controller.Notice{{ID: "1", Kind: controller.NoticeNotReady}}, "MTox")
	}, again: true},
	{name: "tell a notice", act: func(ctx context.Context, a *actor) error {
		return a.store.EndNotice(ctx, "pager", "1", controller.NoticeEnd{Told: true})
	}, again: true},
	{name: "record definitions", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.RecordDefinitions(ctx, []controller.DefinitionRecord{definition("1")})
		return err
	}, again: true},
	{name: "record other definitions", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.RecordDefinitions(ctx, []controller.DefinitionRecord{definition("2")})
		return err
	}, again: true},
	{name: "mark as restored", act: func(ctx context.Context, a *actor) error {
		return a.store.MarkRestored(ctx, controller.Restoration{Actor: "ada", From: "copy"})
	}},
	{name: "accept what was restored", act: func(ctx context.Context, a *actor) error {
		_, err := a.store.AcceptRestored(ctx, "ada", "")
		return err
	}, again: true},
	{name: "claim for the end", act: claims("a")},
	{name: "finish and claim the next", act: follows},
	{name: "close", act: func(_ context.Context, a *actor) error { return a.store.Close() }},
}

// actor acts in the story, with the claims that it got.
type actor struct {
	open   func(ctx context.Context) (Store, error)
	store  Store
	claims map[string]*controller.Claim
	runs   map[string]*runqueue.Claim
}

func newActor(h Harness, place string) *actor {
	return &actor{
		open:   func(ctx context.Context) (Store, error) { return h.Open(ctx, place, Scope("")) },
		claims: map[string]*controller.Claim{}, runs: map[string]*runqueue.Claim{},
	}
}

type act = func(ctx context.Context, a *actor) error

func puts(key, spec string) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.Put(ctx, controller.Put{Ref: ref(key), Spec: json.RawMessage(spec), InitialStatus: json.RawMessage(`{}`)})
		return err
	}
}

func enqueues(key string) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.Enqueue(ctx, ref(key), "ada")
		return err
	}
}

func delivers(d controller.Delivery) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.Deliver(ctx, name, d)
		return err
	}
}

func suspends(key string) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.Suspend(ctx, ref(key), "ada", "why")
		return err
	}
}

func unsuspends(key string) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.Unsuspend(ctx, ref(key), "ada", "")
		return err
	}
}

func claims(key string) act {
	return func(ctx context.Context, a *actor) error {
		c, err := a.store.Claim(ctx, []string{name}, lasts)
		if err == nil && (c == nil || c.Ref.Key != key) {
			err = fmt.Errorf("claimed %+v, want %s", c, key)
		}
		a.claims[key] = c
		return err
	}
}

func renews(key string) act {
	return func(ctx context.Context, a *actor) error { return a.store.Renew(ctx, a.claims[key], lasts) }
}

// reserves an effect of the resource a, of which knows tells what is known.
func reserves(effect string) act {
	return func(ctx context.Context, a *actor) error {
		_, _, err := a.store.ReserveEffect(ctx, a.claims["a"], reservation(effect))
		return err
	}
}

func knows(o controller.EffectOutcome) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.FinishEffect(ctx, a.claims["a"], o)
		return err
	}
}

func asks(key, request, runID string) act {
	return func(ctx context.Context, a *actor) error {
		c := a.claims[key]
		r := childReservation(c, request, runID)
		r.AgentAttemptsPerHour = 1
		_, done, err := a.store.ReserveChild(ctx, c, r)
		c.Resource.Metadata.ResourceVersion = done.Version
		return err
	}
}

func cancels(key, keep string) act {
	return func(ctx context.Context, a *actor) error {
		c := a.claims[key]
		done, err := a.store.CancelChildren(ctx, c, cancellation(c, keep))
		if err == nil {
			c.Resource.Metadata.ResourceVersion = done.Version
		}
		return err
	}
}

func finishes(key string, f func(c *controller.Claim) controller.Finish) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.Finish(ctx, a.claims[key], f(a.claims[key]))
		return err
	}
}

// follows ends the pass on a and claims what comes next, if the store can do so in
// one transaction.
func follows(ctx context.Context, a *actor) error {
	c, f := a.claims["a"], controller.Finish{Settle: true}
	if both, ok := a.store.(controller.FinishClaimer); ok {
		_, _, err := both.FinishAndClaim(ctx, c, f, []string{name}, lasts)
		return err
	}
	_, err := a.store.Finish(ctx, c, f)
	return err
}

func deletes(key string) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.RequestDeletion(ctx, controller.Deletion{Ref: ref(key), Actor: "ada"})
		return err
	}
}

func forces(key, finalizer string) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.RequestDeletion(ctx, controller.Deletion{Ref: ref(key), Actor: "ada", ForceFinalizer: finalizer, Reason: "why"})
		return err
	}
}

func resolves(key, effect string, kind controller.VerdictKind) act {
	return func(ctx context.Context, a *actor) error {
		_, err := a.store.ResolveEffect(ctx, ref(key), controller.Verdict{Effect: effect, Kind: kind, Actor: "ada", Reason: "I looked"})
		return err
	}
}

func freezes(ctx context.Context, a *actor) error {
	_, err := a.store.Freeze(ctx, "ada", "why")
	return err
}

func unfreezes(ctx context.Context, a *actor) error {
	_, err := a.store.Unfreeze(ctx, "ada", "")
	return err
}

// prunes cuts all finished effects, however little old they are.
func prunes(ctx context.Context, a *actor) error {
	_, err := a.store.PruneEffects(ctx, controller.EffectPruning{Before: farAhead})
	return err
}

// farAhead is later than everything that happens in a story.
var farAhead = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

func launches(runID, parent string) act {
	return func(ctx context.Context, a *actor) (err error) {
		r := newRun(runID)
		r.ContinuationOf = parent
		a.runs[runID], err = a.store.Launch(ctx, r, lasts)
		return err
	}
}

func claimsRun(runID string) act {
	return func(ctx context.Context, a *actor) error {
		c, err := a.store.ClaimRun(ctx, runqueue.ClaimQuery{}, lasts)
		if err == nil && (c == nil || c.Row.RunID != runID) {
			err = fmt.Errorf("claimed %+v, want %s", c, runID)
		}
		a.runs[runID] = c
		return err
	}
}

func adopts(runID string) act {
	return func(ctx context.Context, a *actor) (err error) {
		a.runs[runID], err = a.store.AdoptRun(ctx, runID, "", lasts)
		return err
	}
}

func ends(runID string, state controller.RunState) act {
	return onRun(runID, func(ctx context.Context, s Store, c *runqueue.Claim) error {
		return s.FinishChild(ctx, c, controller.ChildOutcome{State: state, Output: json.RawMessage(`1`)})
	})
}

func countsAgent(runID string) act {
	return onRun(runID, func(ctx context.Context, s Store, c *runqueue.Claim) error {
		_, err := s.CountAgentAttempt(ctx, c)
		return err
	})
}

func onRun(runID string, f func(ctx context.Context, s Store, c *runqueue.Claim) error) act {
	return func(ctx context.Context, a *actor) error { return f(ctx, a.store, a.runs[runID]) }
}

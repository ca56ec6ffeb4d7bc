package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock/clocktest"
	"piworkflows/engine"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// note is an update with a number as its data.
func note(key string, n int) workflow.Update {
	return workflow.Update{Type: "note", Key: key, Data: fmt.Appendf(nil, `{ "n": %d }`, n)}
}

// acts is a function action.
func acts(do func(ctx context.Context, c *workflow.Context) error) workflow.Action {
	return workflow.Action{ID: "act", Run: func(ctx context.Context, c *workflow.Context) (any, error) { return nil, do(ctx, c) }}
}

// shown writes the projection of the updates as text.
func shown(b *runbundle.Bundle) []string {
	var list []string
	for _, u := range b.State.Updates {
		list = append(list, fmt.Sprintf("%d %s %s %s", u.Seq, u.Type, u.Key, u.Data))
	}
	return list
}

func TestUpdatesAreRecordedLatestFirstWins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var receipts []workflow.UpdateReceipt
	result, b := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
		other := note("a", 4)
		other.Type = "other"
		for _, u := range []workflow.Update{note("a", 1), note("b", 2), note("a", 3), other} {
			receipt, err := c.Publish(ctx, u)
			if err != nil {
				return err
			}
			receipts = append(receipts, receipt)
		}
		return nil
	}), compute("after", gives(1, nil))))
	r.want(result, runbundle.Completed, "", "")
	want := []string{`4 note b {"n":2}`, `5 note a {"n":3}`, `6 other a {"n":4}`}
	if diff := cmp.Diff(want, shown(b)); diff != "" {
		t.Error(diff)
	}
	for i, e := range b.Events[2:6] {
		got := receipts[i]
		if e.Type != runbundle.EventUpdatePublished || e.Scope != runbundle.ScopeNode || e.NodeID != "act" || e.AttemptID != b.State.Steps[0].AttemptID {
			t.Errorf("event %+v", e)
		}
		payload := fmt.Sprintf(`{"updateId":%q,"type":%q,"key":%q,"data":{"n":%d}}`, got.UpdateID, got.Type, got.Key, i+1)
		if string(e.Payload) != payload || e.Seq != got.Seq || !e.At.Equal(got.At) {
			t.Errorf("receipt %+v of %s", got, e.Payload)
		}
	}
	if id := receipts[0].UpdateID; id != "upd_00000000-0000-4000-8000-000000000002" {
		t.Errorf("update ID %s", id)
	}
}

// What a publisher gets as an error fails the node only if it says so.
func TestRefusedUpdateIsTheChoiceOfTheAction(t *testing.T) {
	t.Parallel()
	bad := note("no key", 1)
	for _, insists := range []bool{true, false} {
		r := newRig(t)
		result, b := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
			_, err := c.Publish(ctx, bad)
			wantErr[*workflow.UpdateError](t, err)
			if insists {
				return err
			}
			return nil
		})))
		if insists {
			r.want(result, runbundle.Failed, "invalid_update", `"no key"`)
		} else {
			r.want(result, runbundle.Completed, "", "")
		}
		if len(b.State.Updates) != 0 {
			t.Errorf("recorded %v", shown(b))
		}
	}
}

func TestOnlyActionsPublish(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	publish := func(ctx context.Context, c *workflow.Context) error {
		_, err := c.Publish(ctx, note("a", 1))
		wantErr[*workflow.NotPublishingError](t, err)
		return nil
	}
	act := acts(func(context.Context, *workflow.Context) error { return nil })
	act.TimeoutFunc = func(ctx context.Context, c *workflow.Context) (time.Duration, error) { return 0, publish(ctx, c) }
	result, _ := r.run(flow(act, compute("c", func(ctx context.Context, c *workflow.Context) (any, error) { return nil, publish(ctx, c) })))
	r.want(result, runbundle.Completed, "", "")
}

func TestUpdateAfterTheAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var publish func() error
	leak := acts(func(ctx context.Context, c *workflow.Context) error {
		publish = func() error {
			_, err := c.Publish(context.WithoutCancel(ctx), note("a", 1))
			return err
		}
		return publish()
	})
	result, b := r.run(flow(leak, compute("later", func(context.Context, *workflow.Context) (any, error) {
		if err := publish(); !errors.Is(err, engine.ErrStepOver) {
			t.Errorf("in the next attempt: %v", err)
		}
		return nil, nil
	})))
	r.want(result, runbundle.Completed, "", "")
	if err := publish(); !errors.Is(err, engine.ErrStepOver) {
		t.Errorf("after the run: %v", err)
	}
	if len(shown(b)) != 1 {
		t.Errorf("updates %v", shown(b))
	}
}

func TestUpdateAfterTheDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	act := acts(func(ctx context.Context, c *workflow.Context) error {
		<-ctx.Done()
		if _, err := c.Publish(context.WithoutCancel(ctx), note("a", 1)); !errors.Is(err, engine.ErrStepOver) {
			t.Errorf("late update: %v", err)
		}
		_, err := c.Publish(ctx, note("a", 1))
		wantErr[*engine.TimeoutError](t, err)
		return nil
	})
	act.Timeout = time.Minute
	run := r.begin(flow(act))
	r.clock.await(t, time.Minute, 1)
	r.clock.Advance(time.Minute)
	result, b := r.finish(run)
	r.want(result, runbundle.TimedOut, engine.CodeTimeout, "")
	if len(shown(b)) != 0 {
		t.Errorf("updates %v", shown(b))
	}
}

func TestUpdateRate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	result, _ := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
		// publishes n updates and expects the next one to be refused.
		publishes := func(n int, wait time.Duration) {
			for i := range n {
				if _, err := c.Publish(ctx, note("a", i)); err != nil {
					t.Errorf("update %d of %d: %v", i, n, err)
				}
			}
			_, err := c.Publish(ctx, note("a", 0))
			if got := wantErr[*engine.UpdateRateError](t, err); got.After != wait {
				t.Errorf("refused for %s, want %s", got.After, wait)
			}
		}
		publishes(100, 50*time.Millisecond)
		r.clock.Advance(49 * time.Millisecond)
		publishes(0, time.Millisecond)
		r.clock.Advance(time.Millisecond)
		publishes(1, 50*time.Millisecond)
		r.clock.Advance(time.Second + 20*time.Millisecond)
		publishes(20, 30*time.Millisecond)
		r.clock.Advance(10 * time.Minute)
		publishes(100, 50*time.Millisecond)
		_, err := c.Publish(ctx, note("a", 0))
		return err
	})))
	r.want(result, runbundle.Failed, "update_rate", "more than 20 updates a second: publish the next one after 50 ms")
}

func TestUpdatesAtOnceAreLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	result, b := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
		for i := range engine.MaxUpdates {
			r.clock.Advance(engine.UpdateInterval)
			if _, err := c.Publish(ctx, note(fmt.Sprint("k", i), i)); err != nil {
				return err
			}
		}
		_, refused := c.Publish(ctx, note("one-more", 0))
		wantErr[*engine.UpdateLimitError](t, refused)
		if _, err := c.Publish(ctx, note("k0", 7)); err != nil {
			t.Errorf("an update that replaces another: %v", err)
		}
		return refused
	})))
	r.want(result, runbundle.Failed, "update_limit", "shows 1024 updates")
	list := shown(b)
	if len(list) != 1024 || list[1023] != `1027 note k0 {"n":7}` || !slices.IsSortedFunc(b.State.Updates, func(a, b runbundle.Update) int { return int(a.Seq - b.Seq) }) {
		t.Errorf("%d updates, the last %s", len(list), list[len(list)-1])
	}
}

// Publishers at once: every event is recorded and told in one order.
func TestUpdatesFromManyGoroutines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	result, b := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
		var all sync.WaitGroup
		for worker := range 10 {
			all.Go(func() {
				for i := range 10 {
					if _, err := c.Publish(ctx, note(fmt.Sprint("w", worker), i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		return nil
	})))
	r.want(result, runbundle.Completed, "", "")
	for _, u := range b.State.Updates {
		if string(u.Data) != `{"n":9}` {
			t.Errorf("the latest of %s is %s", u.Key, u.Data)
		}
	}
	if len(b.State.Updates) != 10 || len(b.Events) != 104 {
		t.Errorf("%d updates in %d events", len(b.State.Updates), len(b.Events))
	}
}

func TestUpdateThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	full := false
	r.options.FS = durable.WithHook(func(op durable.Op, _ string) error {
		if full && op == durable.OpWrite {
			full = false
			return errFull
		}
		return nil
	})
	result, b := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
		full = true
		_, err := c.Publish(ctx, note("a", 1))
		wantErr[*engine.RecordError](t, err)
		_, err = c.Publish(ctx, note("a", 2))
		return err
	})))
	r.want(result, runbundle.Completed, "", "")
	if diff := cmp.Diff([]string{`3 note a {"n":2}`}, shown(b)); diff != "" {
		t.Error(diff)
	}
}

func TestAgentPublishes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		publish := func(u workflow.Update, key string) workflow.UpdateReceipt {
			receipt, err := q.Publish(ctx, u, key)
			if err != nil {
				t.Errorf("%s under %q: %v", u.Data, key, err)
			}
			return receipt
		}
		if _, err := q.Publish(ctx, note("no key", 1), "call-1"); err == nil {
			t.Error("a bad update was taken")
		}
		first := publish(note("a", 2), "call-1") // the failure is not remembered
		if again := publish(note("a", 3), "call-1"); again != first {
			t.Errorf("repeated call: %+v, not %+v", again, first)
		}
		publish(note("a", 4), "call-2")
		publish(note("b", 5), "")
		publish(note("b", 6), "")
		return nil, q.Accept(ctx, raw("1"))
	})
	result, b := r.run(flow(asks(nil)))
	r.want(result, runbundle.Completed, "", "")
	if got := kinds(b); strings.Count(got, "update_published") != 4 || !strings.HasPrefix(got, "run_started node_started agent_prompt_sent update_published ") {
		t.Errorf("events %s", got)
	}
	if diff := cmp.Diff([]string{`5 note a {"n":4}`, `7 note b {"n":6}`}, shown(b)); diff != "" {
		t.Error(diff)
	}
}

// One call that comes many times at once is one update, and so it is when a
// thousand others came in between, but not in another attempt.
func TestAgentCallIsTakenOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	attempts := 0
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := q.Publish(ctx, note("same", 1), "call"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if attempts++; attempts == 1 {
			for i := range 1023 {
				r.clock.Advance(engine.UpdateInterval)
				if _, err := q.Publish(ctx, note("other", i), strconv.Itoa(i)); err != nil {
					t.Error(err)
				}
			}
			if _, err := q.Publish(ctx, note("same", 2), "call"); err != nil {
				t.Error(err)
			}
		}
		return nil, q.Accept(ctx, raw("1"))
	})
	again := asks(nil)
	again.ID = "again"
	result, b := r.run(flow(asks(nil), again))
	r.want(result, runbundle.Completed, "", "")
	same := 0
	for _, e := range b.Events {
		if p, err := e.Decode(); err == nil {
			if u, is := p.(runbundle.UpdatePublished); is && u.Key == "same" {
				same++
			}
		}
	}
	if same != 2 {
		t.Errorf("%d updates for one call in each of two attempts", same)
	}
}

func TestAgentUpdateAfterTheAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var late engine.AgentRequest
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		late = q
		return nil, q.Accept(ctx, raw("1"))
	})
	r.run(flow(asks(nil)))
	_, err := late.Publish(t.Context(), note("a", 1), "call")
	if !errors.Is(err, engine.ErrStepOver) {
		t.Errorf("late update: %v", err)
	}
	var coded interface{ ErrorCode() string }
	if !errors.As(err, &coded) || coded.ErrorCode() != "step_over" {
		t.Errorf("code of %v", err)
	}
}

// Updates do not count how far the clock was set back.
func TestUpdateRateWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.clock.Advance(time.Hour)
	result, _ := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
		if _, err := c.Publish(ctx, note("a", 1)); err != nil {
			return err
		}
		r.clock.Advance(-time.Hour)
		_, err := c.Publish(ctx, note("a", 2))
		return err
	})))
	r.want(result, runbundle.Completed, "", "")
	if got := r.clock.Now(); !got.Equal(clocktest.Epoch) {
		t.Errorf("clock at %s", got)
	}
}

// What was published is read where it matters: by the action itself, by a later
// callback, and within an included workflow, as a copy that changes nothing.
func TestUpdatesAreSeenByCallbacks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var seen []string
	look := func(_ context.Context, c *workflow.Context) (any, error) {
		var line []string
		for _, u := range c.View.Updates() {
			line = append(line, fmt.Sprintf("%d %s %s/%s %s", u.Seq, u.NodeID, u.Type, u.Key, u.Data))
			clear(u.Data)
		}
		seen = append(seen, strings.Join(line, ", "))
		return nil, nil
	}
	act := acts(func(ctx context.Context, c *workflow.Context) error {
		for _, u := range []workflow.Update{note("a", 1), note("b", 2), note("a", 3)} {
			if _, err := c.Publish(ctx, u); err != nil {
				return err
			}
		}
		_, err := look(ctx, c)
		return err
	})
	d := flow(compute("before", look), act)
	d.Includes = []workflow.Include{{Mount: "within", Workflow: &workflow.Definition{
		Name: "child", Revision: "1", StartAt: "look", Nodes: []workflow.Node{compute("look", look)},
		Exits: []workflow.Exit{{Name: "done", From: "look"}},
	}}}
	d.Edges = append(d.Edges, workflow.Edge{From: "act", To: "within"})
	result, _ := r.run(d)
	r.want(result, runbundle.Completed, "", "")
	all := `6 act note/b {"n":2}, 7 act note/a {"n":3}`
	if diff := cmp.Diff([]string{"", all, all}, seen); diff != "" {
		t.Error(diff)
	}
}

// A resumed run goes on with the updates that it shows; its continuation begins
// with none.
func TestUpdatesOverResumeAndContinuation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	publishes := func(id string, u workflow.Update) workflow.Action {
		n := acts(func(ctx context.Context, c *workflow.Context) error {
			_, err := c.Publish(ctx, u)
			return err
		})
		n.ID = id
		return n
	}
	d := flow(publishes("first", note("a", 1)), publishes("second", note("b", 2)), workflow.Checkpoint{ID: "ask"}, publishes("third", note("c", 3)))
	r.at(runbundle.EventNodeFinished, 1, func(run *engine.Run) { run.Park() })
	r.begin(d).Wait()
	<-r.begun
	_, b := r.finish(r.resume(d))
	if diff := cmp.Diff([]string{`3 note a {"n":1}`, `7 note b {"n":2}`}, shown(b)); diff != "" {
		t.Error(diff)
	}
	_, b = r.finish(r.answer(d, `1`))
	if diff := cmp.Diff([]string{`3 note c {"n":3}`}, shown(b)); diff != "" {
		t.Error(diff)
	}
}

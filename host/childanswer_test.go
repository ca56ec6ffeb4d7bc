package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// guides ask for a trip as their child run.
type guides struct{}

func (guides) Reconcile(ctx context.Context, p *controller.Pass, _ controller.Resource[jobSpec, jobStatus]) (controller.Result[jobStatus], error) {
	child, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "trip", Workflow: "trip", Input: "south"})
	ready := controller.ConditionUnknown(controller.Ready, "Travelling", "")
	if child.State == controller.RunSucceeded {
		ready = controller.ConditionTrue(controller.Ready, "Arrived", "")
	}
	status := jobStatus{Output: string(child.Output), Attempts: child.Attempt}
	return controller.Settled(controller.Patch[jobStatus]{
		ControllerStatus: &status, Conditions: []controller.Condition{ready},
	}), err
}

// guide opens a project whose resource job/a asks for a trip.
func guide(t *testing.T, dir string, way *trip) *world {
	t.Helper()
	w := openWorldAt(t, dir, newWork(), clock.System())
	var err error
	w.catalog, err = host.Definitions{
		Controllers: []*controller.Definition{controller.Define("job", guides{})},
		Workflows:   []*workflow.Definition{way.definition()},
	}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// child returns the one child of job/a.
func (w *world) child(t *testing.T) controller.ChildRun {
	t.Helper()
	children, err := w.store.Children(t.Context(), job("a"))
	if err != nil || len(children) != 1 {
		t.Fatalf("children: %+v, %v", children, err)
	}
	return children[0]
}

// asks lets the child of job/a come to its question.
func (w *world) asks(t *testing.T) (runID string) {
	t.Helper()
	w.put(t, "a", "any")
	w.once(t)
	child := w.child(t)
	if child.State != controller.RunWaiting {
		t.Fatalf("child %+v does not wait", child)
	}
	w.mustBe(t, child.RunID, runqueue.Done, runbundle.Waiting)
	return child.RunID
}

func TestTheAnswerToAChildWakesItsParent(t *testing.T) {
	t.Parallel()
	way := newTrip().stay()
	w := guide(t, t.TempDir(), way)
	parent := w.asks(t)
	result, err := w.answer(t, parent, `"north"`)
	if err != nil || result.Status != runbundle.Completed {
		t.Fatalf("AnswerRun = %+v, %v", result, err)
	}
	way.mustHaveRun(t, "pack", "wander", "arrive")
	if child := w.child(t); child.State != controller.RunSucceeded || child.RunID != result.RunID || child.Attempt != 1 {
		t.Errorf("child %+v", child)
	}
	w.mustBe(t, result.RunID, runqueue.Done, runbundle.Completed)
	w.once(t)
	if ready, status := w.job(t, "a"); ready.Status != controller.True || status.Output != `"north"` {
		t.Errorf("parent %+v %+v", ready, status)
	}
	_, err = w.answer(t, parent, `"east"`)
	wantError[*runqueue.ContinuedError](t, err)
}

func TestARefusedAnswerToAChildCanBeGivenAgain(t *testing.T) {
	t.Parallel()
	w := guide(t, t.TempDir(), newTrip().stay())
	parent := w.asks(t)
	lost := &lease.LostError{What: "run", Reason: lease.Taken}
	_, err := host.AnswerRun(t.Context(), w.options(), w.failing(times(1, "CheckRun", lost)), parent, []byte(`1`), host.ResumeOptions{})
	if !errors.Is(err, lease.ErrLost) {
		t.Fatalf("AnswerRun = %v, want a lost claim", err)
	}
	if child := w.child(t); child.State != controller.RunWaiting || child.RunID != parent {
		t.Errorf("child %+v", child)
	}
	if _, err := w.answer(t, parent, `1`); err != nil {
		t.Error(err)
	}
}

// A host finds what the process that answered left behind.
func TestAHostGivesAnUnbornContinuationBack(t *testing.T) {
	t.Parallel()
	w := guide(t, t.TempDir(), newTrip().stay())
	parent := w.asks(t)
	w.launched(t, "unborn", parent)
	if err := os.Mkdir(w.dir("unborn"), 0o700); err != nil { // it was about to
		t.Fatal(err)
	}
	w.once(t)
	if child := w.child(t); child.State != controller.RunWaiting || child.RunID != parent {
		t.Fatalf("child %+v", child)
	}
	if row := w.row(t, "unborn"); row.Status != runqueue.Failed {
		t.Errorf("row %+v", row)
	}
	if _, err := w.answer(t, parent, `2`); err != nil {
		t.Error(err)
	}
}

// mortal is a store whose process dies at an operation: that one and all that
// follow fail.
type mortal struct {
	host.Store
	mu   sync.Mutex
	left int
	done bool
}

// die reports whether the process is dead, once before and once after each
// operation on the run.
func (m *mortal) die(before bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before != m.done && m.left >= 0 {
		m.left--
	}
	if m.left < 0 {
		return &lease.LostError{What: "the process", Reason: lease.Gone}
	}
	return nil
}

func do(m *mortal, f func() error) error {
	if err := m.die(true); err != nil {
		return err
	}
	return errors.Join(f(), m.die(false))
}

func (m *mortal) Launch(ctx context.Context, r runqueue.NewRun, d time.Duration) (c *runqueue.Claim, err error) {
	err = do(m, func() (err error) {
		c, err = m.Store.Launch(ctx, r, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (m *mortal) CheckRun(ctx context.Context, c *runqueue.Claim) error {
	return do(m, func() error { return m.Store.CheckRun(ctx, c) })
}

func (m *mortal) FinishChild(ctx context.Context, c *runqueue.Claim, o controller.ChildOutcome) error {
	return do(m, func() error { return m.Store.FinishChild(ctx, c, o) })
}

func (m *mortal) AbandonRun(ctx context.Context, c *runqueue.Claim, s runqueue.Status, message string) error {
	return do(m, func() error { return m.Store.AbandonRun(ctx, c, s, message) })
}

// The process that answers dies at the n-th operation of the store, for every n.
// Whatever n is, the parent hears of an end, after another answer if need be.
func TestCrashAtEveryOperationOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		t.Run(fmt.Sprintf("operation done %v", done), func(t *testing.T) {
			t.Parallel()
			n := 0
			for answerCrashes(t, n, done) {
				n++
			}
			if n < 3 {
				t.Errorf("only %d operations", n)
			}
		})
	}
}

// answerCrashes reports whether the answer had an operation after n.
func answerCrashes(t *testing.T, n int, done bool) bool {
	t.Helper()
	way := newTrip().stay()
	w := guide(t, t.TempDir(), way)
	parent := w.asks(t)
	dying, err := host.OpenStore(t.Context(), w.paths, w.clock, w.options().Logger)
	if err != nil {
		t.Fatal(err)
	}
	m := &mortal{Store: dying, left: n, done: done}
	_, _ = host.AnswerRun(t.Context(), w.options(), m, parent, []byte(`"north"`), host.ResumeOptions{})
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.once(t)
		if child := w.child(t); child.State == controller.RunWaiting {
			if _, err := w.answer(t, child.RunID, `"north"`); err != nil {
				t.Fatalf("dead after operation %d: %v", n, err)
			}
		}
	}
	if ready, _ := w.job(t, "a"); ready.Status != controller.True || !slices.Contains(way.nodes(), "arrive") {
		t.Errorf("dead after operation %d: parent %+v, child %+v", n, ready, w.child(t))
	}
	return m.left < 0
}

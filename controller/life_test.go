package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/internal/crashpoint"
	"piworkflows/lease"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
	"piworkflows/store/storetest"
)

// The test binary, started again with these variables, is a process that manages
// the store of a folder until it dies at one of its durable steps.
const (
	lifeEnv   = "CONTROLLER_TEST_LIFE" // the folder
	numberEnv = "CONTROLLER_TEST_NUMBER"
	deathEnv  = "CONTROLLER_TEST_DEATH"
)

// live ends the process if it was started to live.
func live() {
	dir := os.Getenv(lifeEnv)
	if dir == "" {
		return
	}
	number, err := strconv.Atoi(os.Getenv(numberEnv))
	at, atErr := strconv.Atoi(os.Getenv(deathEnv))
	if err = errors.Join(err, atErr); err == nil {
		reached := crashpoint.DieAt(at)
		err = newLife(dir, number).run(context.Background())
		fmt.Println(reached())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// life is a process that works off what is to be done: key a wants two effects and
// a child run, key b goes again, with an effect that cleans up.
type life struct {
	dir   string
	clock *clocktest.Manual
	store *sqlite.Store
}

// newLife makes the n-th life, which begins so much later that nothing of the one
// before is in its way.
func newLife(dir string, n int) *life {
	l := &life{dir: dir, clock: clocktest.New()}
	l.clock.Advance(time.Duration(n) * time.Hour)
	return l
}

func (l *life) run(ctx context.Context) (err error) {
	o := sqlite.Options{Path: filepath.Join(l.dir, "controller.sqlite"), Scope: strings.Repeat("0", 24), Clock: l.clock}
	if storetest.Stressed() {
		o.Fault = func(op, _ string) error {
			crashpoint.Reached("disk " + op)
			return nil
		}
	}
	if l.store, err = sqlite.Open(ctx, o); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{l.begin, l.work, l.clear, l.work} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return l.store.Close()
}

// begin asks for both resources, unless an earlier life did.
func (l *life) begin(ctx context.Context) error {
	if _, err := os.Stat(l.path("cleared")); err == nil {
		return nil
	}
	for _, key := range []string{"a", "b"} {
		_, err := controller.PutSpec(ctx, l.store, &controller.Definition{Name: "c"}, put(`1`, key))
		if err != nil && !errors.Is(err, controller.ErrDeleting) {
			return err
		}
	}
	return nil
}

// clear has key b go. That it was asked to is written down, as somebody who asks
// remembers it: b is not to come back.
func (l *life) clear(ctx context.Context) error {
	_, err := l.store.RequestDeletion(ctx, controller.Deletion{Ref: ref("b")})
	if err != nil && !errors.Is(err, controller.ErrNotFound) {
		return err
	}
	return os.WriteFile(l.path("cleared"), nil, 0o600)
}

func (l *life) reconcile(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error) {
	effects, finalizers := []string{"first", "second"}, []string{"cleanup"}
	if r.Metadata.Deleting() {
		effects, finalizers = []string{"cleanup"}, []string{}
	}
	for _, key := range effects {
		record, err := p.Effects.Ensure(ctx, l.effect(r.Metadata.Key+" "+key))
		if err != nil || record.State != controller.EffectApplied {
			return controller.Requeue(nothing), err
		}
	}
	if r.Metadata.Key == "b" {
		return controller.Settled(controller.Patch[json.RawMessage]{Finalizers: finalizers}), nil
	}
	child, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "r", Workflow: "w", Input: 1})
	if err != nil {
		return controller.RawResult{}, err
	}
	return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`"` + string(child.State) + `"`)}), nil
}

// effect is a line in a file, which is the outside. The process may die before it
// is written, or after, before anybody has heard of it.
func (l *life) effect(line string) controller.Effect {
	return controller.Effect{
		Key: line, Kind: "line", Request: line,
		Observe: func(context.Context) (controller.Observation, error) {
			lines, err := os.ReadFile(l.path("outside"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return controller.Observation{}, err
			}
			if strings.Contains(string(lines), line+"\n") {
				return controller.Observation{State: controller.ObservedApplied}, nil
			}
			return controller.Observation{State: controller.ObservedNotApplied}, nil
		},
		Apply: func(context.Context, string) (controller.Application, error) {
			crashpoint.Reached("request")
			f, err := os.OpenFile(l.path("outside"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				return controller.Application{}, err
			}
			_, err = f.WriteString(line + "\n")
			err = errors.Join(err, f.Close())
			crashpoint.Reached("response")
			return controller.Application{State: controller.EffectApplied}, err
		},
	}
}

func (l *life) path(name string) string { return filepath.Join(l.dir, name) }

// work runs passes and child runs until nothing is left to do.
func (l *life) work(ctx context.Context) error {
	for range 100 {
		if err := untilIdle(ctx, l.store, l.manager); err != nil {
			return err
		}
		if child, err := l.runChild(ctx); child || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		left, err := l.store.Backlog(ctx, []string{"c"})
		if err != nil || left.Claimed+left.Ready+left.Delayed+left.Runs == 0 {
			return err
		}
		l.clock.Advance(time.Minute)
	}
	return errors.New("it does not come to an end")
}

// manager has one worker, so that lives are as much alike as they can be.
func (l *life) manager(i *idling) *controller.Manager {
	m, err := controller.NewManager(controller.ManagerOptions{
		Store: i, Observer: i, Definitions: []*controller.Definition{define(l.reconcile)}, Clock: l.clock,
		Scheduler: lifeScheduler{newScheduler("w")}, Workers: 1,
	})
	if err != nil {
		panic(err)
	}
	return m
}

func (l *life) runChild(ctx context.Context) (ran bool, err error) {
	c, err := l.store.ClaimRun(ctx, runqueue.ClaimQuery{}, lease.DefaultDuration)
	if c == nil || err != nil {
		return false, err
	}
	if err := l.store.StartChild(ctx, c); err != nil {
		return false, err
	}
	return true, l.store.FinishChild(ctx, c, controller.ChildOutcome{State: controller.RunSucceeded})
}

// lifeScheduler names runs so that no two lives use a name twice.
type lifeScheduler struct{ *scheduler }

func (s lifeScheduler) NewRunID(workflow string) string {
	return fmt.Sprintf("%s-%d", s.scheduler.NewRunID(workflow), os.Getpid())
}

// lead starts a life that dies at its n-th durable step, or never. It returns how
// many it had, if it lived to its end.
func lead(t *testing.T, dir string, number, death int) (steps int, whole bool) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), executable)
	process.Env = append(os.Environ(), lifeEnv+"="+dir,
		fmt.Sprintf("%s=%d", numberEnv, number), fmt.Sprintf("%s=%d", deathEnv, death))
	process.Stderr = os.Stderr
	out, err := process.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		t.Fatalf("life %d ended by itself, with exit code %d", number, exit.ExitCode())
	}
	if err != nil {
		return 0, false
	}
	if _, err := fmt.Sscan(string(out), &steps); err != nil {
		t.Fatalf("life %d says %q: %v", number, out, err)
	}
	return steps, true
}

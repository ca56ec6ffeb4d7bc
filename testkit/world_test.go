package testkit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"piworkflows/controller"
	"piworkflows/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// body is the Reconcile of a definition.
type body func(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error)

// define makes the definition of controller c.
func define(f body) *controller.Definition {
	return &controller.Definition{Name: "c", Reconcile: f}
}

// opener makes a controller whose one effect opens a door.
func opener(door *testkit.Provider) *controller.Definition {
	return define(func(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		record, err := p.Effects.Ensure(ctx, door.Effect("open"))
		if err != nil {
			return controller.RawResult{}, err
		}
		ready := controller.ConditionFalse(controller.Ready, "Shut", record.Error)
		if record.State == controller.EffectApplied {
			ready = controller.ConditionTrue(controller.Ready, "Open", "")
		}
		return controller.Settled(controller.Patch[json.RawMessage]{Conditions: []controller.Condition{ready}}), nil
	})
}

// answering makes a body that gives the same answer in each pass.
func answering(r controller.RawResult, err error) body {
	return func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) { return r, err }
}

// recorder is a T that keeps what it is told.
type recorder struct {
	*script
	told []string
}

// record lets a part of a test fail and returns what it says.
func record(part func(t testkit.T)) []string {
	r := &recorder{script: &script{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.end()
		part(r)
	}()
	<-done
	return r.told
}

func (r *recorder) Errorf(format string, args ...any) {
	r.told = append(r.told, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

type spec struct {
	Branch string   `json:"branch"`
	Checks []string `json:"checks,omitempty"`
}

type status struct {
	Phase string  `json:"phase"`
	Share float64 `json:"share"`
}

// authored is a reconciler with every optional ability.
type authored struct {
	reconcile func(controller.Resource[spec, status]) (controller.Result[status], error)
}

func (a authored) Reconcile(_ context.Context, _ *controller.Pass, r controller.Resource[spec, status]) (controller.Result[status], error) {
	return a.reconcile(r)
}

func (authored) ValidateSpec(s spec) []controller.SpecProblem {
	var problems []controller.SpecProblem
	if s.Branch == "" {
		problems = append(problems, controller.SpecProblem{Pointer: "/branch", Message: "must not be empty"})
	}
	if len(s.Checks) > 1 {
		problems = append(problems, controller.SpecProblem{Message: "one check is enough"})
	}
	return problems
}

func (authored) InitialStatus(s spec) status { return status{Phase: "new " + s.Branch} }

// plain is a reconciler without them.
type plain[S, T any] struct{}

func (plain[S, T]) Reconcile(context.Context, *controller.Pass, controller.Resource[S, T]) (controller.Result[T], error) {
	return controller.Settled(controller.Patch[T]{}), nil
}

func TestDefineTakesItsOptions(t *testing.T) {
	t.Parallel()
	d := controller.Define("c", plain[spec, status]{}, controller.WithTimeout(time.Second),
		controller.WithConcurrency(3), controller.WithResync(time.Hour), controller.WithSources(source("a")), controller.WithSources(source("b")))
	if d.Name != "c" || d.Timeout != time.Second || d.Concurrency != 3 || d.Resync != time.Hour || len(d.Sources) != 2 {
		t.Errorf("definition = %+v", d)
	}
}

func TestDefinedValidateSpec(t *testing.T) {
	t.Parallel()
	d := controller.Define("c", authored{})
	tests := []struct {
		spec string
		want []controller.SpecProblem // messages are parts of the real ones
	}{
		{`{"branch":"b","checks":["x"]}`, nil},
		{`{"branch":"b","cheks":[]}`, []controller.SpecProblem{{Pointer: "/cheks", Message: "unknown field"}}},
		{`{"branch":"b","checks":["x",1]}`, []controller.SpecProblem{{Pointer: "/checks/1", Message: "expected a string"}}},
		{`[]`, []controller.SpecProblem{{Message: "expected an object"}}},
		{`{"checks":["x","y"]}`, []controller.SpecProblem{{Pointer: "/branch", Message: "must not be empty"}, {Message: "one check is enough"}}},
	}
	for _, test := range tests {
		err := d.ValidateSpec(json.RawMessage(test.spec))
		if test.want == nil {
			if err != nil {
				t.Errorf("%s: %v", test.spec, err)
			}
			continue
		}
		checkProblems(t, err, test.want)
	}
}

// checkProblems expects a *SpecError of controller c with these problems.
func checkProblems(t *testing.T, err error, want []controller.SpecProblem) {
	t.Helper()
	var bad *controller.SpecError
	if !errors.As(err, &bad) || bad.Controller != "c" || len(bad.Problems) != len(want) {
		t.Errorf("error = %v, want %d problems", err, len(want))
		return
	}
	for i, p := range bad.Problems {
		if p.Pointer != want[i].Pointer || !strings.Contains(p.Message, want[i].Message) {
			t.Errorf("problem %d = %+v, want %+v", i, p, want[i])
		}
	}
}

func TestDefinedInitialStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		d    *controller.Definition
		want string
	}{
		{"from the reconciler", controller.Define("c", authored{}), `{"phase":"new b","share":0}`},
		{"the zero value", controller.Define("c", plain[spec, status]{}), `{"phase":"","share":0}`},
		{"raw JSON is null", controller.Define("c", plain[spec, json.RawMessage]{}), `null`},
	} {
		got, err := test.d.InitialStatus(json.RawMessage(`{"branch":"b"}`))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: InitialStatus = %s, %v; want %s", test.name, got, err, test.want)
		}
	}
}

func TestDefinedReconcileDecodesAndEncodes(t *testing.T) {
	t.Parallel()
	conditions := []controller.Condition{controller.ConditionTrue("Ready", "Merged", "")}
	var seen controller.Resource[spec, status]
	d := controller.Define("c", authored{func(r controller.Resource[spec, status]) (controller.Result[status], error) {
		seen = r
		return controller.RequeueAfter(time.Minute, controller.Patch[status]{
			ControllerStatus: &status{Phase: "<done>", Share: 0.5}, Conditions: conditions, Finalizers: []string{},
		}), nil
	}})
	resource := controller.Raw{
		Metadata: controller.Metadata{Controller: "c", Key: "k", Generation: 2},
		Spec:     json.RawMessage(`{"branch":"b","dropped":"by a newer version"}`),
		Status: controller.Status[json.RawMessage]{
			ObservedGeneration: 1, Conditions: conditions, WorkflowRun: &controller.WorkflowRun{RunID: "r"},
			ControllerStatus: json.RawMessage(`{"phase":"p"}`),
		},
	}
	got, err := d.Reconcile(t.Context(), &controller.Pass{}, resource)
	if err != nil {
		t.Fatal(err)
	}
	wantSeen := controller.Resource[spec, status]{
		Metadata: resource.Metadata, Spec: spec{Branch: "b"},
		Status: controller.Status[status]{
			ObservedGeneration: 1, Conditions: conditions, WorkflowRun: &controller.WorkflowRun{RunID: "r"},
			ControllerStatus: status{Phase: "p"},
		},
	}
	if diff := cmp.Diff(wantSeen, seen); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	text := json.RawMessage(`{"phase":"<done>","share":0.5}`)
	want := controller.RequeueAfter(time.Minute, controller.Patch[json.RawMessage]{
		ControllerStatus: &text, Conditions: conditions, Finalizers: []string{},
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestDefinedReconcileFails(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	fine := controller.Raw{Spec: json.RawMessage(`{}`), Status: controller.Status[json.RawMessage]{ControllerStatus: json.RawMessage(`null`)}}
	badSpec, badStatus := fine, fine
	badSpec.Spec = json.RawMessage(`{"branch":1}`)
	badStatus.Status.ControllerStatus = json.RawMessage(`[]`)
	tests := []struct {
		name     string
		resource controller.Raw
		result   controller.Result[status]
		err      error
		says     string
	}{
		{"its own error", fine, controller.Result[status]{}, own, "own"},
		{"a stored spec that does not fit", badSpec, controller.Result[status]{}, nil, "stored spec"},
		{"a stored status that does not fit", badStatus, controller.Result[status]{}, nil, "stored controller status"},
		{"a status that is no JSON", fine, controller.Settled(controller.Patch[status]{ControllerStatus: &status{Share: math.NaN()}}), nil, "controller status"},
	}
	for _, test := range tests {
		d := controller.Define("c", authored{func(controller.Resource[spec, status]) (controller.Result[status], error) {
			return test.result, test.err
		}})
		_, err := d.Reconcile(t.Context(), &controller.Pass{}, test.resource)
		if err == nil || !strings.Contains(err.Error(), test.says) || test.err != nil && !errors.Is(err, test.err) {
			t.Errorf("%s: error = %v, want one with %q", test.name, err, test.says)
		}
	}
}

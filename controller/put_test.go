package controller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"piworkflows/controller"
)

// untouchable is a store that must not be reached: every call panics.
type untouchable struct{ controller.Store }

func TestPutSpecRefusesBeforeTheStore(t *testing.T) {
	t.Parallel()
	d := controller.Define("c", authored{})
	panicking := &controller.Definition{Name: "c", ValidateSpec: func(json.RawMessage) error { panic("boom") }}
	noStatus := &controller.Definition{Name: "c", InitialStatus: func(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no") }}
	badStatus := &controller.Definition{Name: "c", InitialStatus: func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{`), nil }}
	bigStatus := &controller.Definition{Name: "c", InitialStatus: func(json.RawMessage) (json.RawMessage, error) { return quoted(controller.MaxStatusBytes + 1), nil }}
	tests := []struct {
		name string
		d    *controller.Definition
		put  controller.Put
		says string
	}{
		{"another controller", d, controller.Put{Ref: controller.Ref{Controller: "x", Key: "k"}}, "given to the definition"},
		{"a bad key", d, put(`{"branch":"b"}`, "a\n"), "resource key"},
		{"no JSON", d, put(`{"branch":`, "k"), "invalid spec for controller c: /branch: the text ends"},
		{"a number that changes", d, put(`{"branch":9007199254740993}`, "k"), "/branch"},
		{"a spec that does not fit", d, put(`{"branch":"b","x":1}`, "k"), "/x: unknown field"},
		{"a spec that is too large", &controller.Definition{Name: "c"}, controller.Put{Ref: controller.Ref{Key: "k"}, Spec: quoted(controller.MaxSpecBytes + 1)},
			"resource spec is 1048577 bytes"},
		{"a panic", panicking, put(`{}`, "k"), "panic in ValidateSpec: boom"},
		{"no first status", noStatus, put(`{}`, "k"), "initial status of controller c: no"},
		{"a bad first status", badStatus, put(`{}`, "k"), "initial status of controller c: invalid JSON"},
		{"a first status that is too large", bigStatus, put(`{}`, "k"), "controller status is 1048577 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := controller.PutSpec(t.Context(), untouchable{}, test.d, test.put)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error = %.300v, want one with %q", err, test.says)
			}
		})
	}
}

func put(spec, key string) controller.Put {
	return controller.Put{Ref: controller.Ref{Key: key}, Spec: json.RawMessage(spec)}
}

// quoted is a JSON string of n bytes.
func quoted(n int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf("%q", strings.Repeat("x", n-2)))
}

func TestPutSpecStoresCanonicalTextAndTheFirstStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := controller.Define("c", authored{})
	for _, step := range []struct {
		spec   string
		action controller.PutAction
		stored string
	}{
		{`{ "checks": [], "branch": "b" }`, controller.Created, `{"branch":"b","checks":[]}`},
		{`{"branch":"b","checks":[ ]}`, controller.Unchanged, `{"branch":"b","checks":[]}`},
		{`{"branch":"other"}`, controller.Configured, `{"branch":"other"}`},
	} {
		got, err := controller.PutSpec(t.Context(), w.store, d, put(step.spec, "k"))
		if err != nil || got.Action != step.action || string(got.Resource.Spec) != step.stored {
			t.Errorf("PutSpec(%s) = %s %s, %v; want %s %s", step.spec, got.Action, got.Resource.Spec, err, step.action, step.stored)
		}
		if s := string(got.Resource.Status.ControllerStatus); s != `{"phase":"new b","share":0}` {
			t.Errorf("after PutSpec(%s) the status is %s", step.spec, s)
		}
	}
}

package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/secret"
)

func TestAStoreThatRedactsCanDoWhatItsStoreCan(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), clock.System())
	once := controller.Redacting(s)
	if _, ok := once.(controller.FinishClaimer); !ok {
		t.Error("it does not end a pass and claim in one step any more")
	}
	if twice := controller.Redacting(once); twice != once {
		t.Error("it was wrapped twice")
	}
	if _, ok := controller.Redacting(struct{ controller.Store }{s}).(controller.FinishClaimer); ok {
		t.Error("it can do what its store cannot")
	}
}

func TestTheReasonOfACancellationHasNoSecretInIt(t *testing.T) {
	const value = "hunter3-hunter3-hunter3"
	t.Setenv("CANCEL_TOKEN", value)
	token, err := secret.Parse("env:CANCEL_TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := token.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := newParent(t)
	p.once(p.m)
	p.wake()
	p.once(p.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		_, err := pass.Workflows.CancelOthers(ctx, "", "not with "+value)
		return controller.Settled(nothing), err
	})))
	children, err := p.store.Children(t.Context(), ref("k"))
	if err != nil || len(children) != 1 || children[0].Error != "not with [redacted]" {
		t.Errorf("children %+v, %v", children, err)
	}
}

func TestWhatASourceTellsHasNoSecretInIt(t *testing.T) {
	const value = "hunter2-hunter2-hunter2"
	t.Setenv("SOURCE_TOKEN", value)
	token, err := secret.Parse("env:SOURCE_TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := token.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := controller.Redacting(openStore(t, t.TempDir(), clock.System()))
	if _, err := s.Put(t.Context(), controller.Put{Ref: controller.Ref{Controller: "c", Key: "k"}, Spec: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []controller.Delivery{{Source: "s", ID: value}, {Source: "s", Cursor: "at " + value}} {
		_, err := s.Deliver(t.Context(), "c", d)
		if _, ok := errors.AsType[*secret.LeakError](err); !ok {
			t.Errorf("Deliver = %v", err)
		}
	}
	if _, err := s.Deliver(t.Context(), "c", controller.Delivery{Source: "s", Keys: []string{"k"}, Note: "with " + value}); err != nil {
		t.Fatal(err)
	}
	status := controller.SourceStatus{
		SourceInfo: controller.SourceInfo{Controller: "c", Source: "s"},
		Reason:     value, LastError: value, LastRefusal: value,
	}
	if err := s.RecordSources(t.Context(), []controller.SourceStatus{status}); err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(t.Context(), controller.EventQuery{})
	told, err2 := s.Sources(t.Context())
	text, err3 := json.Marshal([]any{events, told})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), value) || strings.Count(string(text), "[redacted]") != 4 {
		t.Errorf("kept: %s", text)
	}
}

package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

// source is one that does nothing; the text is its name.
type source string

func (s source) Name() string { return string(s) }

func (source) Run(ctx context.Context, _ controller.Intake) error {
	<-ctx.Done()
	return nil
}

// wrong is a source with a mistake in it.
type wrong struct{ source }

func (wrong) Check(owner string) error { return errors.New(owner + " cannot have it") }

func TestRegistryFindsDefinitions(t *testing.T) {
	t.Parallel()
	b, a := controller.Define("b", plain[spec, status]{}), controller.Define("a", plain[spec, status]{})
	r, err := controller.NewRegistry(b, a)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, r.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got, err := r.Get("b"); err != nil || got != b {
		t.Errorf("Get(b) = %p, %v", got, err)
	}
	var unknown *controller.UnknownControllerError
	if _, err := r.Get("x"); !errors.As(err, &unknown) || unknown.Name != "x" || len(unknown.Known) != 2 {
		t.Errorf("Get(x) = %v", err)
	}
}

func TestRegistryOfNothing(t *testing.T) {
	t.Parallel()
	r, err := controller.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get("x"); err == nil || !strings.Contains(err.Error(), "known are none") {
		t.Errorf("Get(x) = %v", err)
	}
}

func TestRegistryNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := controller.NewRegistry(
		nil,
		controller.Define("Upper", plain[spec, status]{}),
		controller.Define("twice", plain[spec, status]{}),
		controller.Define("twice", plain[spec, status]{}),
		&controller.Definition{Name: "empty"},
		controller.Define("limits", plain[spec, status]{}, controller.WithTimeout(-time.Second), controller.WithConcurrency(-1),
			controller.WithResync(-1), controller.WithChildRunsPerHour(-2), controller.WithAgentAttemptsPerHour(4_000_000)),
		controller.Define("sources", plain[spec, status]{}, controller.WithSources(source("s"), source("s"), source(""), nil,
			wrong{"w"})),
	)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"definition 0 is nil", `controller name "Upper"`, `two definitions are named "twice"`, `"empty": no Reconcile`,
		"timeout -1s is negative", "concurrency -1 is negative", "resync -1ns is negative",
		"-2 child runs an hour: allow 1 to 3600000, or zero for 1000", "4000000 agent attempts an hour: allow 1 to 3600000, or zero for 600",
		`two sources are named "s"`, `source name ""`, "source 3 is nil",
		`source "w": sources cannot have it`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

package host_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/host"
)

// noted is a source that tells when it begins and ends.
type noted struct {
	name, text string
	told       chan string
}

func (n *noted) Name() string { return n.name }

func (n *noted) Run(ctx context.Context, _ controller.Intake) error {
	n.told <- "begin " + n.text
	<-ctx.Done()
	n.told <- "end " + n.text
	return context.Cause(ctx)
}

// uncomparable is a source of which Go cannot say whether it is the same.
type uncomparable struct {
	*noted

	_ []string
}

// changing is a place with one controller, whose sources change.
type changing struct {
	sources atomic.Pointer[[]controller.Source]
	changed chan struct{}
}

func (c *changing) Place() host.Place { return host.PlaceProject }

func (c *changing) Load(context.Context) ([]host.FoundDefinition, error) {
	d := controller.Define("later", later{}, controller.WithSources(*c.sources.Load()...))
	return []host.FoundDefinition{{Kind: controller.KindController, Name: d.Name, Source: "here", Digest: "1", Controller: d}}, nil
}

func (c *changing) Changed(ctx context.Context) error {
	select {
	case <-c.changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestSourcesFollowTheirDefinitions: what a change of the definitions does not
// touch goes on.
func TestSourcesFollowTheirDefinitions(t *testing.T) {
	t.Parallel()
	told := make(chan string, 10)
	source := func(name, text string) *noted { return &noted{name, text, told} }
	stays, before, after := source("stays", "stays"), source("changes", "before"), source("changes", "after")
	unknown := uncomparable{noted: source("unknown", "unknown")}

	c := &changing{changed: make(chan struct{})}
	set := func(list ...controller.Source) { c.sources.Store(&list) }
	set(stays, before, unknown)
	w := newWorld(t, newWork())
	w.catalog = host.Load(t.Context(), c)
	h := w.host(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()

	want := func(when string, events ...string) {
		t.Helper()
		var got []string
		for range events {
			got = append(got, await(t, told))
		}
		slices.Sort(got)
		if diff := cmp.Diff(events, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	want("at first", "begin before", "begin stays", "begin unknown")
	set(stays, after, unknown, source("new", "new"))
	c.changed <- struct{}{}
	want("after a change", "begin after", "begin new", "begin unknown", "end before", "end unknown")
	set(stays)
	c.changed <- struct{}{}
	want("after another", "end after", "end new", "end unknown")
	stop()
	must(t, await(t, ended))
	want("at the end", "end stays")
	sources, err := w.store.Sources(t.Context())
	must(t, err)
	for _, s := range sources {
		if s.State != controller.SourceStopped {
			t.Errorf("source %s is %s", s.Source, s.State)
		}
	}
	if len(sources) != 4 {
		t.Errorf("told of %d sources", len(sources))
	}
}

package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

const (
	// maxAge is how old a cursor may be at the start: after that, events that come
	// after it may have been pruned, so every resource is looked at instead. A day is
	// the shortest time for which a host can be told to keep events.
	maxAge = 24 * time.Hour
	// maxPassedOver bounds the events that are read again after a start, because
	// nothing was delivered for them.
	maxPassedOver = 1000
)

// Run implements controller.Source. At its first start it takes every resource of
// the other controller as changed, and from then on those that do.
func (s *Source) Run(ctx context.Context, in controller.Intake) error {
	f := follower{Source: s, in: in, versions: map[string]int64{}}
	at, recent := f.place()
	if !recent {
		return f.afresh(ctx)
	}
	err := f.follow(ctx, at)
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok && coded.ErrorCode() == "invalid_cursor" { // the store was brought back from a copy
		return f.afresh(ctx)
	}
	return err
}

// follower is one run of a source.
type follower struct {
	*Source
	in controller.Intake
	// versions are the resource versions that were seen: an event of a pass that
	// changed nothing is passed over, or two controllers that follow each other
	// would never rest.
	versions map[string]int64
	// passed counts the events since the cursor was kept.
	passed int
}

// place reads the cursor: when it was kept, and the place in the feed.
func (f *follower) place() (at controller.Cursor, recent bool) {
	kept, place, _ := strings.Cut(f.in.Cursor, " ")
	when, err := time.Parse(clock.Layout, kept)
	if err != nil || place == "" {
		return "", false
	}
	return controller.Cursor(place), f.in.Clock.Now().Sub(when) <= maxAge
}

func (f *follower) cursor(at controller.Cursor) string {
	return clock.Format(f.in.Clock.Now()) + " " + string(at)
}

// afresh takes every resource as changed, and then follows what happened since.
func (f *follower) afresh(ctx context.Context) error {
	head, err := f.in.Feed.Head(ctx)
	if err != nil {
		return fmt.Errorf("find the end of the change feed: %w", err)
	}
	var keys []string
	err = each(ctx, f.in.Feed, f.options.Controller, func(r controller.Raw) error {
		f.versions[r.Metadata.Key] = r.Metadata.ResourceVersion
		found, err := f.keys(ctx, Change{Ref: r.Metadata.Ref(), Resource: &r})
		keys = append(keys, found...)
		return err
	})
	if err != nil {
		return err
	}
	if err := f.deliver(ctx, keys, head, "every resource of "+f.options.Controller); err != nil {
		return err
	}
	return f.follow(ctx, head)
}

func (f *follower) follow(ctx context.Context, at controller.Cursor) error {
	for {
		changes, err := f.in.Feed.Changes(ctx, at, controller.ChangeFilter{Controller: f.options.Controller})
		if err != nil {
			return fmt.Errorf("follow the resources of %s: %w", f.options.Controller, err)
		}
		if err := f.take(ctx, changes); err != nil {
			return err
		}
		at = changes.Next
	}
}

// take wakes the keys of some changes.
func (f *follower) take(ctx context.Context, changes controller.Changes) error {
	f.passed += len(changes.Events)
	var keys []string
	var note string
	looked := map[string]bool{}
	for _, e := range changes.Events {
		if looked[e.Key] {
			continue // what is there now was seen already
		}
		looked[e.Key] = true
		change, changed, err := f.look(ctx, e.Ref)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		found, err := f.keys(ctx, change)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			keys, note = append(keys, found...), noteOf(note, change)
		}
	}
	if len(keys) == 0 && f.passed < maxPassedOver {
		return nil
	}
	return f.deliver(ctx, keys, changes.Next, note)
}

// noteOf adds a change to what is told: the first one, and that there are more.
func noteOf(note string, c Change) string {
	switch {
	case strings.HasSuffix(note, andMore):
		return note
	case note != "":
		return note + andMore
	case c.Resource == nil:
		return c.Ref.String() + " is gone"
	default:
		return fmt.Sprintf("%s is at version %d", c.Ref, c.Resource.Metadata.ResourceVersion)
	}
}

const andMore = ", and more"

// look reads a resource, and reports whether it changed since it was seen.
func (f *follower) look(ctx context.Context, ref controller.Ref) (Change, bool, error) {
	r, err := f.in.Feed.Get(ctx, ref)
	if errors.Is(err, controller.ErrNotFound) {
		delete(f.versions, ref.Key)
		return Change{Ref: ref}, true, nil
	}
	if err != nil {
		return Change{}, false, fmt.Errorf("look at what changed: %w", err)
	}
	version := r.Metadata.ResourceVersion
	changed := f.versions[ref.Key] != version
	f.versions[ref.Key] = version
	return Change{Ref: ref, Resource: &r}, changed, nil
}

func (f *follower) keys(ctx context.Context, c Change) ([]string, error) {
	c.Follower, c.Resources = f.in.Controller, f.in.Feed
	keys, err := f.options.Keys(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("find the keys for a change of %s: %w", c.Ref, err)
	}
	return keys, nil
}

// deliver wakes keys. The cursor moves with the last of several deliveries: after
// a death between them all are repeated.
func (f *follower) deliver(ctx context.Context, keys []string, at controller.Cursor, note string) error {
	for len(keys) > controller.MaxDeliveryKeys {
		if _, err := f.in.Deliver(ctx, controller.Delivery{Keys: keys[:controller.MaxDeliveryKeys], Note: note}); err != nil {
			return err
		}
		keys = keys[controller.MaxDeliveryKeys:]
	}
	_, err := f.in.Deliver(ctx, controller.Delivery{Keys: keys, Note: note, Cursor: f.cursor(at)})
	if err == nil {
		f.passed = 0
	}
	return err
}

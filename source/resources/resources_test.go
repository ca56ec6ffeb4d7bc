package resources_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/source/resources"
)

const everyone = "every resource of repository"

func TestAChangeThereWakesAKeyHere(t *testing.T) {
	t.Parallel()
	b := newBench(t, resources.SameKey)
	b.settled("a", "b")
	b.put(owner, "a", `{}`)
	b.start()
	b.want(everyone, "a", "b") // nobody has seen them yet

	b.put(followed, "a", `{"n":1}`)
	b.want("repository/a is at version 3", "a")
	b.pass("a", `2`)
	b.want("repository/a is at version 4", "a")
	b.pass("a", `2`) // changes nothing, and so wakes nobody
	b.put(owner, "c", `{}`)
	b.put(followed, "c", `{}`)
	b.want("repository/c is at version 1", "c")

	ref := controller.Ref{Controller: followed, Key: "b"}
	_, err := b.store.RequestDeletion(t.Context(), controller.Deletion{Ref: ref})
	b.must(err)
	b.want("repository/b is gone", "b")
	b.stop()
}

func TestNothingIsLostWhileNobodyFollows(t *testing.T) {
	t.Parallel()
	b := newBench(t, resources.SameKey)
	b.settled("a", "b")
	b.start()
	b.want(everyone, "a", "b")
	b.stop()
	b.pass("b", `2`)
	b.pass("a", `2`)
	b.start()
	b.want("repository/b is at version 3, and more", "b", "a")
	b.stop()

	b.kit.Clock.Advance(25 * time.Hour) // events may be gone
	b.start()
	b.want(everyone, "a", "b")
	b.stop()
}

func TestACursorOfAnotherStoreBeginsAfresh(t *testing.T) {
	t.Parallel()
	b := newBench(t, resources.SameKey)
	b.settled("a")
	for _, cursor := range []string{"2027-01-05T08:15:00.000Z MTo5OTk5", "2027-01-05T08:15:00.000Z ?", "damaged"} {
		_, err := b.store.Deliver(t.Context(), owner, controller.Delivery{Source: "repositories", Cursor: cursor})
		b.must(err)
		b.start()
		b.want(everyone, "a")
		b.stop()
	}
}

func TestWhoIsReadyCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t, resources.Ready(resources.SameKey))
	b.settled("a", "b")
	b.start()
	b.source.Await() // nobody is ready
	b.pass("a", `1`, controller.ConditionFalse(controller.Ready, "Cloning", ""))
	b.pass("b", `1`, controller.ConditionTrue(controller.Ready, "Cloned", ""))
	b.want("repository/b is at version 3", "b")
	_, err := b.store.RequestDeletion(t.Context(), controller.Deletion{Ref: controller.Ref{Controller: followed, Key: "b"}})
	b.must(err)
	b.pass("a", `1`, controller.ConditionTrue(controller.Ready, "Cloned", ""))
	b.want("repository/a is at version 4", "a")
	b.stop()
}

type imageSpec struct {
	Repository string `json:"repository"`
}

func TestWhoRefersToItIsWoken(t *testing.T) {
	t.Parallel()
	b := newBench(t, resources.Referring(func(s imageSpec, changed controller.Ref) bool { return s.Repository == changed.Key }))
	b.settled("a", "b")
	b.put(owner, "one", `{"repository":"a"}`)
	b.put(owner, "two", `{"repository":"b"}`)
	b.put(owner, "three", `{"repository":"a"}`)
	b.start()
	b.want(everyone, "one", "three", "two")
	b.pass("a", `2`)
	b.want("repository/a is at version 3", "one", "three")
	b.put(owner, "bad", `{"repository":1}`)
	b.pass("a", `3`)
	if err := b.source.Ended(); err == nil || !strings.Contains(err.Error(), "read the spec of image/bad") {
		t.Errorf("Run = %v", err)
	}
}

// TestEventsThatAreAboutNothing has so many of them that the cursor is kept
// without a delivery of keys.
func TestEventsThatAreAboutNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, resources.SameKey)
	b.settled("a")
	b.start()
	b.want(everyone, "a")
	ref := controller.Ref{Controller: followed, Key: "a"}
	for range 1000 {
		_, err := b.store.Enqueue(t.Context(), ref, "test")
		b.must(err)
	}
	if d := b.source.Await(); len(d.Keys) != 0 || d.Cursor == "" {
		t.Errorf("came %+v", d)
	}
	b.stop()
}

func TestAMapperThatFailsIsAskedAgain(t *testing.T) {
	t.Parallel()
	fail := errors.New("not now")
	broken := true
	b := newBench(t, func(_ context.Context, c resources.Change) ([]string, error) {
		if broken {
			return nil, fail
		}
		return []string{c.Key}, nil
	})
	b.settled("a")
	b.start()
	if err := b.source.Ended(); !errors.Is(err, fail) {
		t.Fatalf("Run = %v", err)
	}
	broken = false
	b.start()
	b.want(everyone, "a")
	b.stop()
}

func TestMoreKeysThanOneDeliveryTakes(t *testing.T) {
	t.Parallel()
	keys := make([]string, controller.MaxDeliveryKeys+1)
	b := newBench(t, func(context.Context, resources.Change) ([]string, error) { return keys, nil })
	b.settled("a")
	b.start()
	b.want(everyone, keys[1:]...)
	b.want(everyone, "")
	b.stop()
}

func TestWhatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]resources.Options{
		"image would follow itself": {Controller: owner, Keys: resources.SameKey},
		"controller name \"\"":      {Keys: resources.SameKey},
		"no Keys":                   {Controller: followed},
	} {
		if err := resources.New("r", o).Check(owner); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q in it", o, err, want)
		}
	}
}

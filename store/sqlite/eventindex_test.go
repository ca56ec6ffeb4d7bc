package sqlite

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"piworkflows/controller"
)

// recordUpTo records events of three resources by turns, the newest with the number of all.
func recordUpTo(t *testing.T, s *Store, upTo int) {
	t.Helper()
	err := s.update(t.Context(), func(tx *tx) error {
		head, err := tx.head()
		for n := head + 1; n <= int64(upTo) && err == nil; n++ {
			err = tx.tell(controller.Ref{Controller: "c", Key: strconv.FormatInt(n%3, 10)}, controller.EventRequested, n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The index of events by resource follows them in batches, which nobody can tell from
// what is found.
func TestEventsOfAResourceAreFoundWhereverTheIndexEnds(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	for _, step := range []struct{ upTo, end int }{
		{10, 0}, {indexEvery - 1, 0}, {indexEvery, indexEvery}, {indexEvery + 1, indexEvery}, {2*indexEvery + 1, 2 * indexEvery},
	} {
		recordUpTo(t, s, step.upTo)
		checkEvents(t, s, step.upTo)
		if got := integer(t, s, "SELECT seq FROM event_index_end"); got != step.end {
			t.Errorf("with %d events the index ends at %d, want %d", step.upTo, got, step.end)
		}
	}
}

func TestPruningKeepsTheIndexOfEvents(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	const each = indexEvery/3 + 10 // more than the index has of any
	recordUpTo(t, s, 3*each)
	for _, left := range []int{each - 5, 50} {
		p := controller.EventPruning{PerResource: left, Spare: time.Now().Add(time.Hour), Limit: maxPruned}
		want := integer(t, s, "SELECT count(*) FROM events") - 3*left
		for _, dry := range []bool{true, false} {
			p.DryRun = dry
			if n, err := s.PruneEvents(t.Context(), p); err != nil || n != want {
				t.Errorf("%d events removed (dry run: %t), want %d: %v", n, dry, want, err)
			}
		}
	}
	checkEvents(t, s, 150)
	if n := integer(t, s, "SELECT count(*) FROM event_index"); n != 150 {
		t.Errorf("%d events in the index, want 150", n)
	}
}

// What a restoration moves leaves the index, and comes into it again: events that were
// recorded since, or else the newest.
func TestEventsThatLeapAreFoundOnce(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	recordUpTo(t, s, indexEvery)
	for _, head := range []int64{indexEvery - 5, cursorGap + indexEvery} {
		if err := s.update(t.Context(), func(tx *tx) error { return tx.leap(head) }); err != nil {
			t.Fatal(err)
		}
		checkEvents(t, s, indexEvery)
		if err := s.update(t.Context(), (*tx).indexEvents); err != nil {
			t.Fatal(err)
		}
		checkEvents(t, s, indexEvery)
		if n := integer(t, s, "SELECT count(*) FROM event_index"); n != indexEvery {
			t.Errorf("%d events in the index, want %d", n, indexEvery)
		}
	}
}

// Where there is no space for the index to grow, pruning gives some.
func TestAFullFileIsPruned(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{
		Path: filepath.Join(t.TempDir(), "s.sqlite"), Scope: strings.Repeat("0", scopeDigits), MaxPages: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for err == nil {
		err = s.update(t.Context(), func(tx *tx) error {
			return tx.tell(controller.Ref{Controller: "c", Key: strings.Repeat("k", 100)}, controller.EventRequested, 1)
		})
	}
	recorded := integer(t, s, "SELECT count(*) FROM events")
	n, err := s.PruneEvents(t.Context(), controller.EventPruning{Before: time.Now().Add(time.Hour), Limit: maxPruned})
	if err != nil || n != recorded-1 {
		t.Errorf("%d of %d events removed, %v", n, recorded, err)
	}
}

// Who follows a resource looks after each commit of anybody.
func TestWhoFollowsAResourceReadsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	recordUpTo(t, s, indexEvery-1)
	q := controller.EventQuery{Controller: "c", Key: "1", After: encodeCursor(indexEvery - 2)}
	look := func() {
		if _, err := s.Events(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	look() // prepares the statements
	if got := costOf(t, s, look); got.steps > 100 {
		t.Errorf("%d steps for one new event, want at most 100", got.steps)
	}
}

// A copy whose index does not agree with its events is no copy to rely on.
func TestAnIndexThatDoesNotAgreeIsFound(t *testing.T) {
	t.Parallel()
	for _, change := range []string{
		"DELETE FROM events WHERE seq = 7",
		"DELETE FROM event_index WHERE seq = 7",
		"UPDATE event_index SET resource_key = 'another' WHERE seq = 7",
	} {
		s := openForCost(t)
		recordUpTo(t, s, indexEvery+1)
		err := s.update(t.Context(), func(tx *tx) error { return errors.Join(tx.indexed("before"), tx.exec(change)) })
		if err != nil {
			t.Fatal(err)
		}
		err = s.view(t.Context(), func(tx *tx) error { return tx.indexed("after") })
		if _, ok := errors.AsType[*DamagedError](err); !ok {
			t.Errorf("after %s: %v", change, err)
		}
	}
}

// checkEvents compares the events of each resource with those among all, which are so
// many.
func checkEvents(t *testing.T, s *Store, count int) {
	t.Helper()
	list := func(key string) []int64 {
		var seqs []int64
		q := controller.EventQuery{Controller: "c", Key: key, Limit: maxEvents}
		events, err := s.Events(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			seqs = append(seqs, e.Seq)
		}
		return seqs
	}
	all := list("")
	var together []int64
	for _, key := range []string{"0", "1", "2"} {
		together = append(together, list(key)...)
	}
	slices.Sort(together)
	if len(all) != count || !slices.Equal(all, together) {
		t.Errorf("%d events, %d of the resources, want %d", len(all), len(together), count)
	}
}

func integer(t *testing.T, s *Store, query string) (n int) {
	t.Helper()
	err := s.view(t.Context(), func(tx *tx) error {
		_, err := tx.first(query, nil, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

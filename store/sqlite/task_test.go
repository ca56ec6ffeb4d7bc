package sqlite

import (
	"errors"
	"sync"
	"testing"
)

// note writes a row that a test counts.
func note(scope string) func(*conn) error {
	return func(c *conn) error { return c.exec("INSERT INTO freezes VALUES (?, '{}')", scope) }
}

func notes(t *testing.T, s *Store) (count int) {
	t.Helper()
	err := s.writer.do(t.Context(), func(c *conn) error {
		_, err := c.first("SELECT count(*) FROM freezes", nil, &count)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// Whoever gets an error has written nothing, and nobody else pays for it.
func TestWhatFollowsAndFailsUndoesWhatItFollows(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	s := openForCost(t)
	release := s.Hold()
	var callers sync.WaitGroup
	for want, task := range map[error]*task{
		failed: {ctx: t.Context(), run: note("a"), then: func(*conn) error { return failed }},
		nil:    {ctx: t.Context(), run: note("b"), then: note("c")},
	} {
		callers.Go(func() {
			if err := s.writer.perform(task); !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
		})
	}
	s.AwaitQueued(2)
	release()
	callers.Wait()
	if got := notes(t, s); got != 2 {
		t.Errorf("%d rows, want those of the task that did not fail", got)
	}
}

func TestWhatFollowsComesAfterEverythingThatLasts(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	release := s.Hold()
	var callers sync.WaitGroup
	var seen [2]int
	for i, scope := range []string{"a", "b"} {
		callers.Go(func() {
			err := s.writer.perform(&task{ctx: t.Context(), run: note(scope), then: func(c *conn) error {
				_, err := c.first("SELECT count(*) FROM freezes", nil, &seen[i])
				return err
			}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	s.AwaitQueued(2)
	release()
	callers.Wait()
	if seen != [2]int{2, 2} {
		t.Errorf("they saw %v rows of both", seen)
	}
}

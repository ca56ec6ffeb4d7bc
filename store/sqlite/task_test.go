package sqlite

import (
	"errors"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"
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

// meanwhile performs a task, and another that comes while the first one runs. It
// returns the transactions in which they ran last.
func meanwhile(t *testing.T, s *Store, first, second *task, want ...error) (ran [2]int64) {
	t.Helper()
	tasks := []*task{first, second}
	runs, queued := make(chan struct{}), make(chan struct{})
	tell := sync.OnceFunc(func() { close(runs) })
	for i, task := range tasks {
		run := task.run
		task.run = func(c *conn) error {
			ran[i] = c.transaction
			if task == first {
				tell()
				<-queued
			}
			return run(c)
		}
	}
	var callers sync.WaitGroup
	for i, task := range tasks {
		callers.Go(func() {
			if err := s.writer.perform(task); !errors.Is(err, want[i]) {
				t.Errorf("error %v of task %d, want %v", err, i, want[i])
			}
		})
		<-runs
	}
	s.AwaitQueued(1)
	close(queued)
	callers.Wait()
	return ran
}

func TestWhoComesBeforeTheCommitSharesIt(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	first, second := &task{ctx: t.Context(), run: note("a")}, &task{ctx: t.Context(), run: note("b")}
	if ran := meanwhile(t, s, first, second, nil, nil); ran[0] != ran[1] {
		t.Errorf("they ran in the transactions %d and %d", ran[0], ran[1])
	}
	if got := notes(t, s); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
}

// Nobody who came first pays for who joined.
func TestWhoJoinsAndFailsUndoesNothingOfTheOthers(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	s := openForCost(t)
	first := &task{ctx: t.Context(), run: note("a")}
	second := &task{ctx: t.Context(), run: func(c *conn) error { return errors.Join(note("b")(c), failed) }}
	meanwhile(t, s, first, second, nil, failed)
	if got := notes(t, s); got != 1 {
		t.Errorf("%d rows, want that of the task that did not fail", got)
	}
}

// A transaction that began without need to last cannot get it later.
func TestNothingJoinsWhatNeedNotLast(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	c, err := openConn(s.o.toWrite(s.o.Path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	w := &writer{conn: c}
	for want, first := range map[bool]*task{
		false: {ctx: t.Context(), then: note("a")}, true: {ctx: t.Context(), run: note("b")},
	} {
		asked := false
		_, settled := w.together([]*task{first}, func(group []*task) []*task {
			asked = true
			return group
		})
		if asked != want || !settled || first.err != nil {
			t.Errorf("others could join: %t, want %t (%v)", asked, want, first.err)
		}
	}
}

// A claim finds the rows that its group may take, also where it joined one that began
// without claims.
func TestAClaimThatJoinsIsCounted(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	var want int
	first := &task{ctx: t.Context(), run: note("a")}
	second := &task{ctx: t.Context(), run: note("b"), then: func(*conn) error {
		want = s.writer.heads.want
		return nil
	}}
	meanwhile(t, s, first, second, nil, nil)
	if want != 1 {
		t.Errorf("room for %d claims, want 1", want)
	}
}

// Tasks that found the disk full run again once there is space, and nobody joins them
// unseen.
func TestWhoComesDuringTheSecondTryIsAnswered(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	var callers sync.WaitGroup
	tries := 0
	err := s.writer.do(t.Context(), func(c *conn) error {
		if tries++; tries == 1 {
			return sqlite3.FULL
		}
		callers.Go(func() {
			if err := s.writer.do(t.Context(), note("b")); err != nil {
				t.Error(err)
			}
		})
		s.AwaitQueued(1)
		return note("a")(c)
	})
	callers.Wait()
	if got := notes(t, s); err != nil || tries != 2 || got != 2 {
		t.Errorf("%d rows after %d tries, %v", got, tries, err)
	}
}

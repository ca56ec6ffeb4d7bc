package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"piworkflows/controller"
)

// openForCost opens a store whose statements a test looks at.
func openForCost(tb testing.TB) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), Options{
		Path: filepath.Join(tb.TempDir(), "s.sqlite"), Scope: strings.Repeat("0", scopeDigits),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// onConnections calls f with each connection of a store.
func onConnections(tb testing.TB, s *Store, f func(*conn)) {
	tb.Helper()
	visit := func(c *conn) error {
		f(c)
		return nil
	}
	if err := s.writer.do(tb.Context(), visit); err != nil {
		tb.Fatal(err)
	}
	for range maxReaders {
		if err := s.reader.do(tb.Context(), visit); err != nil {
			tb.Fatal(err)
		}
	}
}

// SQLite compiles a statement again when it thinks that the values bound to it
// may deserve another plan. Ours do not, and it costs ten times what they do.
func TestStatementsAreCompiledOnce(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	exercise(t, s)
	onConnections(t, s, func(c *conn) {
		for query, stmt := range c.stmts {
			// Once is for the schema, which came after the first statements.
			if n := stmt.Status(sqlite3.STMTSTATUS_REPREPARE, false); n > 1 {
				t.Errorf("compiled %d times more: %s", n, query)
			}
		}
	})
}

// cost is what a store has done so far.
type cost struct {
	statements, steps int
	written           int64
}

// spent adds up what the statements of all connections did, those of this
// function left out, and the size of the write-ahead log, which only grows until
// its first checkpoint.
func spent(tb testing.TB, s *Store) (c cost) {
	tb.Helper()
	onConnections(tb, s, func(on *conn) {
		for query, stmt := range on.stmts {
			if keyword, _, _ := strings.Cut(query, " "); keyword != "BEGIN" && keyword != "COMMIT" && keyword != "ROLLBACK" {
				c.statements += stmt.Status(sqlite3.STMTSTATUS_RUN, false)
				c.steps += stmt.Status(sqlite3.STMTSTATUS_VM_STEP, false)
			}
		}
	})
	info, err := os.Stat(s.o.Path + "-wal")
	if err != nil {
		tb.Fatal(err)
	}
	c.written = info.Size()
	return c
}

// of returns what f costs.
func costOf(tb testing.TB, s *Store, f func()) cost {
	tb.Helper()
	before := spent(tb, s)
	f()
	after := spent(tb, s)
	return cost{after.statements - before.statements, after.steps - before.steps, after.written - before.written}
}

func putKeys(tb testing.TB, s *Store, name string, count int) {
	tb.Helper()
	var callers sync.WaitGroup
	for i := range count {
		callers.Go(func() {
			p := controller.Put{Ref: controller.Ref{Controller: name, Key: strconv.Itoa(i)}, Spec: []byte(`{"image":"app:1.2.3"}`)}
			if _, err := s.Put(context.Background(), p); err != nil {
				tb.Error(err)
			}
		})
	}
	callers.Wait()
}

// settleNext ends a pass that changed nothing and claims for the controller c.
func settleNext(tb testing.TB, s *Store, c *controller.Claim) *controller.Claim {
	tb.Helper()
	_, next, err := s.FinishAndClaim(tb.Context(), c, controller.Finish{Settle: true}, []string{"c"}, time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	return next
}

func claimOne(tb testing.TB, s *Store) *controller.Claim {
	tb.Helper()
	c, err := s.Claim(tb.Context(), []string{"c"}, time.Minute)
	if err != nil || c == nil {
		tb.Fatalf("claimed %v, %v", c, err)
	}
	return c
}

// What a pass costs is counted, not timed: it is the same on every machine.
func TestALonePassHasFewStatementsAndWritesLittle(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	putKeys(t, s, "c", 10)
	c := claimOne(t, s)
	got := costOf(t, s, func() { settleNext(t, s, c) })
	// The claim is looked at, the row removed, the resource marked and the event
	// told; then the lanes are looked at, and the next row read and taken.
	if got.statements > 11 {
		t.Errorf("%d statements, want at most 11", got.statements)
	}
	if pages := got.written / 4096; pages > 5 {
		t.Errorf("%d pages written, want at most 5", pages)
	}
}

// effectPass is a pass with one effect, and the claim of the next.
func effectPass(tb testing.TB, s *Store, c *controller.Claim) {
	tb.Helper()
	_, _, err := s.ReserveEffect(tb.Context(), c, controller.EffectReservation{Key: "e", Kind: "e"})
	if err == nil {
		_, err = s.FinishEffect(tb.Context(), c, controller.EffectOutcome{
			Key: "e", State: controller.EffectApplied, Event: controller.EventEffectApplied,
		})
	}
	if err != nil {
		tb.Fatal(err)
	}
	settleNext(tb, s, c)
}

func TestAnEffectTakesFewStatementsAndWritesLittle(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	putKeys(t, s, "c", 10)
	c := claimOne(t, s)
	got := costOf(t, s, func() { effectPass(t, s, c) })
	// Those of a lone pass; then the record is looked for, made and told of, and looked
	// for, ended and told of.
	if got.statements > 11+6 {
		t.Errorf("%d statements, want at most 17", got.statements)
	}
	if pages := got.written / 4096; pages > 12 {
		t.Errorf("%d pages written, want at most 12", pages)
	}
}

// An IN of more than two values, in a query or in a check of the schema, makes a
// table of its own each time that the statement runs.
func TestAPassMakesNoTables(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	putKeys(t, s, "c", 10)
	effectPass(t, s, claimOne(t, s))
	seen := statements(t, s)
	if len(seen) < 15 {
		t.Fatalf("only %d statements seen", len(seen))
	}
	for query := range seen {
		for _, step := range program(t, s, query) {
			if strings.HasPrefix(step, "OpenEphemeral") {
				t.Errorf("a table is made by %s", query)
			}
		}
	}
}

func TestPassesThatShareACommitShareItsCost(t *testing.T) {
	t.Parallel()
	const together = 16
	s := openForCost(t)
	putKeys(t, s, "c", 2*together)
	claims := make([]*controller.Claim, together)
	for i := range claims {
		claims[i] = claimOne(t, s)
	}
	got := costOf(t, s, func() {
		release := s.Hold()
		var callers sync.WaitGroup
		for _, c := range claims {
			callers.Go(func() {
				if _, _, err := s.FinishAndClaim(context.Background(), c, controller.Finish{Settle: true}, []string{"c"}, time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		s.AwaitQueued(together)
		release()
		callers.Wait()
	})
	if each := got.statements / together; each > 6 {
		t.Errorf("%d statements a pass, want at most 6", each)
	}
	if each := got.written / together; each > 3000 {
		t.Errorf("%d bytes written a pass, want at most 3000", each)
	}
}

// The steps of SQLite's machine, of which each looks at one row at most.
func TestAClaimCostsTheSameHoweverManyRowsWait(t *testing.T) {
	t.Parallel()
	claim := func(waiting int, of string) int {
		s := openForCost(t)
		putKeys(t, s, "c", 10)
		putKeys(t, s, of, waiting)
		claimOne(t, s) // prepares the statements
		return costOf(t, s, func() { claimOne(t, s) }).steps
	}
	few := claim(10, "c")
	for _, of := range []string{"c", "at-its-limit"} {
		if many := claim(2000, of); many > few+few/10 {
			t.Errorf("with many rows of controller %s: %d steps, with few %d", of, many, few)
		}
	}
}

// Allocations are counted over all goroutines, so that nothing else may run.
func TestAPassAllocatesLittle(t *testing.T) { //nolint:paralleltest // see above
	const passes = 200
	s := openForCost(t)
	putKeys(t, s, "c", passes+10)
	c := claimOne(t, s)
	if got := testing.AllocsPerRun(passes, func() { c = settleNext(t, s, c) }); got > 45 {
		t.Errorf("%.0f allocations in the store for a pass, want at most 45", got)
	}
}

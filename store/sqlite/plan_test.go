package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// Queries on the way of every pass must not read more the more rows wait.
func TestQueriesTakeOneStepIntoAnIndex(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "s.sqlite"), Scope: strings.Repeat("0", scopeDigits)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	seen := exercise(t, s)
	for _, want := range []string{freeQuery, expiryQuery, nextRunQuery, nextDetachedQuery, wakeQuery, dueQuery} {
		if !seen[want] {
			t.Errorf("not exercised: %s", want)
		}
	}
	for query := range seen {
		for _, step := range plan(t, s, query) {
			if strings.Contains(step, "TEMP B-TREE") || isScan(step) {
				t.Errorf("%s\n\tof %s", step, query)
			}
		}
	}
}

// isScan reports whether a step reads a whole table. The claims of dead owners,
// the events of a project in order, and tables of one row, or one a project, are read whole.
func isScan(step string) bool {
	if !strings.HasPrefix(step, "SCAN ") {
		return false
	}
	for _, allowed := range []string{"queue_claimed", "runs_claimed", "schema_info", "event_index_end", "owners", "workers", "restorations", "sqlite_master", "CONSTANT ROW"} {
		if strings.Contains(step, allowed) {
			return false
		}
	}
	return true
}

// exercise does what passes do, and returns the statements that it took.
func exercise(t *testing.T, s *Store) map[string]bool {
	t.Helper()
	ctx := t.Context()
	ref := controller.Ref{Controller: "c", Key: "k"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Put(ctx, controller.Put{Ref: ref, Spec: []byte(`{}`)})
	must(err)
	c, err := s.Claim(ctx, []string{"c"}, 1e9)
	must(err)
	_, _, err = s.ReserveEffect(ctx, c, controller.EffectReservation{Key: "e", Kind: "e"})
	must(err)
	_, err = s.FinishEffect(ctx, c, controller.EffectOutcome{Key: "e", State: controller.EffectApplied})
	must(err)
	_, reserved, err := s.ReserveChild(ctx, c, controller.ChildReservation{
		RequestKey: "r", Workflow: "w", RunID: "run", Input: []byte(`{}`), Version: 1,
		AgentAttemptsPerHour: 1,
	})
	must(err)
	run, err := s.ClaimRun(ctx, runqueue.ClaimQuery{}, 1e9)
	must(err)
	must(s.StartChild(ctx, run))
	_, err = s.CountAgentAttempt(ctx, run)
	must(err)
	must(s.RenewRun(ctx, run, 1e9))
	must(s.FinishChild(ctx, run, controller.ChildOutcome{State: controller.RunSucceeded}))
	exerciseRuns(t, s)
	_, err = s.Enqueue(ctx, ref, "")
	must(err)
	must(s.Renew(ctx, c, 1e9))
	_, err = s.Finish(ctx, c, controller.Finish{
		Settle: true, Unsettled: 1, Write: &controller.Write{Version: reserved.Version},
	})
	must(err)
	must(s.WaitDue(ctx, []string{"c"}))
	_, err = s.Deliver(ctx, "c", controller.Delivery{Source: "s", ID: "1", Cursor: "1", Keys: []string{"k"}})
	must(err)
	_, err = s.Changes(ctx, "", controller.ChangeFilter{})
	must(err)
	_, err = s.Events(ctx, controller.EventQuery{Controller: "c", Key: "k"})
	must(err)
	_, err = s.Suspend(ctx, ref, "", "")
	must(err)
	_, err = s.Unsuspend(ctx, ref, "", "")
	must(err)
	_, err = s.RebuildQueue(ctx)
	must(err)
	_, err = s.RequestDeletion(ctx, controller.Deletion{Ref: ref})
	must(err)
	return statements(t, s)
}

// exerciseRuns takes interactive runs through their states.
func exerciseRuns(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	launch := func(runID, parent string) *runqueue.Claim {
		t.Helper()
		c, err := s.Launch(ctx, runqueue.NewRun{RunID: runID, Workflow: "w", Input: []byte(`{}`), ContinuationOf: parent}, 1e9)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	parked := launch("parent", "")
	err := s.ParkRun(ctx, parked, "")
	adopted, err2 := s.AdoptRun(ctx, "parent", "", 1e9)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	err = s.QueueRun(ctx, runqueue.NewRun{RunID: "queued", Workflow: "w", Input: []byte(`{}`)})
	_, err2 = s.ClaimRun(ctx, runqueue.ClaimQuery{Detached: true}, 1e9)
	_, err3 := s.OrderRun(ctx, "queued", runqueue.OrderPause, "")
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	err = s.FinishRun(ctx, adopted, runqueue.Done, "")
	err2 = s.AbandonRun(ctx, launch("child", "parent"), runqueue.Failed, "")
	_, err3 = s.Runs(ctx, runqueue.Query{})
	if err := errors.Join(err, err2, err3, s.WithdrawRun(ctx, "parent", "")); err != nil {
		t.Fatal(err)
	}
}

// statements collects what the connections of a store have prepared.
func statements(t *testing.T, s *Store) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	collect := func(c *conn) error {
		for query := range c.stmts {
			if fields := strings.Fields(query); len(fields) > 1 && fields[0] != "PRAGMA" {
				seen[query] = true
			}
		}
		return nil
	}
	if err := s.writer.do(t.Context(), collect); err != nil {
		t.Fatal(err)
	}
	for range maxReaders {
		if err := s.reader.do(t.Context(), collect); err != nil {
			t.Fatal(err)
		}
	}
	for query := range seen {
		switch strings.Fields(query)[0] {
		case "SELECT", "INSERT", "UPDATE", "DELETE":
		default:
			delete(seen, query)
		}
	}
	return seen
}

// plan asks SQLite how it would run a query.
func plan(t *testing.T, s *Store, query string) []string {
	t.Helper()
	var id, parent, unused int
	var step string
	return explained(t, s, "EXPLAIN QUERY PLAN "+query, &step, &id, &parent, &unused, &step)
}

// program asks SQLite for the instructions of a query.
func program(t *testing.T, s *Store, query string) []string {
	t.Helper()
	var address int
	var instruction string
	return explained(t, s, "EXPLAIN "+query, &instruction, &address, &instruction)
}

// explained collects one column of an explanation.
func explained(t *testing.T, s *Store, query string, column *string, dst ...any) []string {
	t.Helper()
	var steps []string
	err := s.writer.do(t.Context(), func(c *conn) error {
		steps = nil
		return c.each(query, nil, func() error {
			steps = append(steps, *column)
			return nil
		}, dst...)
	})
	if err != nil {
		t.Fatalf("%v\n\tof %s", err, query)
	}
	return steps
}

package storetest

import (
	"fmt"
	"strconv"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

var pruneTests = []test{
	{"old events go, and cursors stay good", pruneOldEvents},
	{"each resource keeps its newest events, and all that are young", pruneManyEvents},
	{"pruning stops at its limit and at its project", pruneBounded},
	{"an old delivery is forgotten", pruneDeliveries},
	{"runs that have ended are listed, the newest first", pruneEndedRuns},
	{"a run that something needs is not forgotten", pruneNeededRuns},
	{"a run is forgotten before its continuation", pruneContinuations},
}

// age makes everything that happened before an hour old, and returns the moment
// before which it happened.
func (k *kit) age() time.Time {
	k.Helper()
	k.Advance(time.Hour)
	k.enqueue("clock")
	list := k.events(controller.EventQuery{Controller: name, Key: "clock", Limit: 1})
	k.Advance(time.Second)
	return list[0].RecordedAt
}

func (k *kit) pruneEvents(p controller.EventPruning) int {
	k.Helper()
	n, err := k.Store.PruneEvents(k.Context(), p)
	k.must(err)
	return n
}

func pruneOldEvents(k *kit) {
	k.put("clock", `{}`)
	k.put("a", `{}`)
	cursor, before := k.head(), k.age()
	k.enqueue("a")
	all := k.events(controller.EventQuery{})
	equal(k, "would go", k.pruneEvents(controller.EventPruning{Before: before, DryRun: true}), 2)
	equal(k, "after a dry run", k.events(controller.EventQuery{}), all)
	equal(k, "gone", k.pruneEvents(controller.EventPruning{Before: before}), 2)
	equal(k, "gone again", k.pruneEvents(controller.EventPruning{Before: before}), 0)
	equal(k, "what is left", k.events(controller.EventQuery{}), all[2:])
	equal(k, "after the cursor", k.changes(cursor, controller.ChangeFilter{}).Events, all[2:])
	equal(k, "after nothing", k.changes("", controller.ChangeFilter{}).Events, all[2:])
	cursor = k.head()
	gone := k.pruneEvents(controller.EventPruning{Before: before.Add(time.Hour)})
	left := k.events(controller.EventQuery{})
	equal(k, "gone or left", gone+len(left), 2)
	if len(left) > 1 { // a store may keep the newest, for the sake of cursors
		k.Errorf("%d events are left of those that are old", len(left))
	}
	k.enqueue("a")
	equal(k, "after all were gone", len(k.changes(cursor, controller.ChangeFilter{}).Events), 1)
}

func pruneManyEvents(k *kit) {
	k.put("clock", `{}`)
	for _, key := range []string{"a", "b"} {
		k.put(key, `{}`)
		for range 4 {
			k.enqueue(key)
		}
	}
	k.put("c", `{}`)
	spare := k.age()
	k.enqueue("b")
	k.enqueue("b")
	equal(k, "gone", k.pruneEvents(controller.EventPruning{PerResource: 2, Spare: spare}), 3+5)
	for key, want := range map[string]int{"a": 2, "b": 2, "c": 1, "clock": 2} {
		equal(k, "events of "+key, len(k.eventTypes(key)), want)
	}
	for range 3 {
		k.enqueue("a")
	}
	equal(k, "young ones gone", k.pruneEvents(controller.EventPruning{PerResource: 2, Spare: spare}), 2)
	equal(k, "events of a", len(k.eventTypes("a")), 3)
}

func pruneBounded(k *kit) {
	k.put("clock", `{}`)
	for i := range 4 {
		k.put(strconv.Itoa(i), `{}`)
	}
	before := k.age()
	n, err := k.peer("other").Store.PruneEvents(k.Context(), controller.EventPruning{Before: before, PerResource: 1, Spare: before})
	k.must(err)
	equal(k, "gone by another project", n, 0)
	equal(k, "gone", k.pruneEvents(controller.EventPruning{Before: before, Limit: 3}), 3)
	equal(k, "the rest", k.pruneEvents(controller.EventPruning{Before: before, Limit: 3}), 2)
	_, err = k.Store.PruneEvents(k.Context(), controller.EventPruning{Limit: 10_001})
	wantKind[*controller.LimitError](k, err)
	_, err = k.Store.PruneDeliveries(k.Context(), controller.DeliveryPruning{Limit: 10_001})
	wantKind[*controller.LimitError](k, err)
}

func pruneDeliveries(k *kit) {
	k.put("clock", `{}`)
	old := controller.Delivery{ID: "old", Cursor: "c1", Keys: []string{"clock"}}
	k.deliver(old)
	before := k.age()
	young := controller.Delivery{ID: "young", Cursor: "c2", Keys: []string{"clock"}}
	k.deliver(young)
	prune := func(s *kit, dry bool) int {
		n, err := s.Store.PruneDeliveries(k.Context(), controller.DeliveryPruning{Before: before, DryRun: dry})
		k.must(err)
		return n
	}
	equal(k, "forgotten by another project", prune(k.peer("other"), false), 0)
	equal(k, "would be forgotten", prune(k, true), 1)
	equal(k, "forgotten", prune(k, false), 1)
	equal(k, "the young one", k.deliver(young).Duplicate, true)
	equal(k, "the old one", k.deliver(old).Duplicate, false)
}

// ended lists the runs that have ended, page by page.
func (k *kit) ended(limit int) (list []string) {
	k.Helper()
	q := runqueue.EndedQuery{Limit: limit}
	for {
		page, err := k.Runs.EndedRuns(k.Context(), q)
		k.must(err)
		for _, r := range page.Runs {
			list = append(list, fmt.Sprintf("%s %s %v", r.RunID, r.Status, r.Needed))
			if row := k.run(r.RunID); !r.EndedAt.Equal(row.UpdatedAt) || r.Workflow != row.Workflow ||
				r.ContinuationOf != row.ContinuationOf || r.Continued != (row.ContinuedBy != "") {
				k.Errorf("ended run %+v of row %+v", r, row)
			}
		}
		if q.Continue = page.Continue; q.Continue == "" {
			return list
		}
	}
}

func (k *kit) forget(runID string) bool {
	k.Helper()
	done, err := k.Runs.ForgetRun(k.Context(), runID)
	k.must(err)
	return done
}

func pruneEndedRuns(k *kit) {
	for i, status := range []runqueue.Status{runqueue.Done, runqueue.Failed, runqueue.Cancelled} {
		k.finishRun(k.launch(fmt.Sprintf("run-%d", i)), status)
	}
	k.launch("running")
	k.must(k.Runs.ParkRun(k.Context(), k.launch("parked"), ""))
	want := []string{"run-2 cancelled false", "run-1 failed false", "run-0 done false"}
	for limit := range 4 {
		equal(k, "ended runs", k.ended(limit), want)
	}
	equal(k, "of another project", len(k.peer("other").ended(0)), 0)
	equal(k, "forgotten by another project", k.peer("other").forget("run-1"), false)
	for runID, want := range map[string]bool{"run-1": true, "running": false, "parked": false, "never": false} {
		equal(k, "forgotten "+runID, k.forget(runID), want)
	}
	_, err := k.Runs.Run(k.Context(), "run-1")
	wantKind[*runqueue.NotFoundError](k, err)
	equal(k, "forgotten again", k.forget("run-1"), false)
	equal(k, "what is left", k.ended(0), []string{want[0], want[2]})
	if _, err := k.Runs.EndedRuns(k.Context(), runqueue.EndedQuery{Continue: "?"}); err == nil {
		k.Error("a cursor of another kind was accepted")
	}
}

func pruneNeededRuns(k *kit) {
	// A child run whose request waits for more, and one whose request has ended.
	for _, state := range []controller.RunState{
		controller.RunWaiting, controller.RunInterrupted, controller.RunSucceeded, controller.RunFailed,
	} {
		runID := "child-" + string(state)
		k.reserveChild(k.started(string(state)), "r", runID)
		k.finishChild(k.claimRun(runID), state)
		needed := state == controller.RunWaiting || state == controller.RunInterrupted
		equal(k, "forgotten "+runID, k.forget(runID), !needed)
	}
	equal(k, "what is left", len(k.ended(0)), 2)
}

// If its continuation went first, a run could be answered once more.
func pruneContinuations(k *kit) {
	k.waits()
	c, err := k.continuation("run-2", "run-1")
	k.must(err)
	equal(k, "ended runs", k.ended(0), []string{"run-1 done true"})
	equal(k, "forgotten while its continuation runs", k.forget("run-1"), false)
	k.finishRun(c, runqueue.Done)
	equal(k, "ended runs", k.ended(0), []string{"run-2 done false", "run-1 done false"})
	equal(k, "a continuation forgotten before its parent", k.forget("run-2"), false)
	equal(k, "forgotten", k.forget("run-1"), true)
	equal(k, "forgotten after its parent", k.forget("run-2"), true)
}

package storetest

import (
	"reflect"
	"slices"
	"sync"
	"testing"
)

// asked counts which operations tests have asked for, so that none is forgotten
// that is added to the contracts later.
type asked struct {
	mu    sync.Mutex
	kits  int
	names map[string]bool
}

// add counts what was asked of the store of a kit.
func (a *asked) add(k *kit) { a.took(k.asked.Took()) }

func (a *asked) took(names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kits++
	if a.names == nil {
		a.names = map[string]bool{}
	}
	for _, name := range names {
		a.names[name] = true
	}
}

// check fails if an operation is missing, unless only some of the kits ran.
func (a *asked) check(t *testing.T, kits int, except ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kits < kits {
		return
	}
	for _, name := range operations() {
		if !a.names[name] && !slices.Contains(except, name) {
			t.Errorf("nothing asks for %s", name)
		}
	}
}

// questions are operations that write nothing.
var questions = []string{
	"AwaitRun", "Backlog", "Changes", "CheckApply", "CheckRun", "Children", "Definitions", "EffectAttempts", "Effects", "EndedRuns",
	"Events", "Frozen", "Get", "Head", "List", "ListEffects", "NoticeCursor", "Notices", "Queue", "Restored", "Run", "Runs",
	"SourceCursor", "Sources", "WaitDue", "WaitRuns", "WaitWorkers", "Workers",
}

// operations are the names of all operations of a store.
func operations() (names []string) {
	for method := range reflect.TypeFor[Store]().Methods() {
		if method.Name != "Close" {
			names = append(names, method.Name)
		}
	}
	return names
}

package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/canonical"
)

var (
	before = time.Date(2027, 1, 5, 8, 0, 0, 0, time.UTC)
	now    = time.Date(2027, 1, 5, 10, 0, 0, 120_999_999, time.FixedZone("x", 2*3600))
	nowMs  = time.Date(2027, 1, 5, 8, 0, 0, 120_000_000, time.UTC)
)

// stored is a resource of generation 3 and version 7 with one old condition.
func stored() Raw {
	return Raw{
		Metadata: Metadata{Controller: "c", Key: "k", ResourceVersion: 7, Generation: 3, Finalizers: []string{"worktree"}},
		Status: Status[json.RawMessage]{
			ObservedGeneration: 2,
			Conditions:         []Condition{{Type: Ready, Status: True, Reason: "Done", ObservedGeneration: 2, LastTransitionTime: before}},
			ControllerStatus:   json.RawMessage(`{"phase":"old"}`),
		},
	}
}

func raw(s string) *json.RawMessage {
	r := json.RawMessage(s)
	return &r
}

func TestNewWrite(t *testing.T) {
	t.Parallel()
	old := stored().Status.Conditions[0]
	tests := []struct {
		name  string
		patch Patch[json.RawMessage]
		want  Write
	}{
		{"nothing keeps all but the observed generation", Patch[json.RawMessage]{},
			Write{Conditions: []Condition{old}, ControllerStatus: json.RawMessage(`{"phase":"old"}`), Finalizers: []string{"worktree"}}},
		{"a status becomes canonical", Patch[json.RawMessage]{ControllerStatus: raw(`{ "z": 1.0, "a": null }`)},
			Write{Conditions: []Condition{old}, ControllerStatus: json.RawMessage(`{"a":null,"z":1}`), Finalizers: []string{"worktree"}}},
		{"an empty list clears the finalizers", Patch[json.RawMessage]{Finalizers: []string{}},
			Write{Conditions: []Condition{old}, ControllerStatus: json.RawMessage(`{"phase":"old"}`), Finalizers: []string{}}},
		{"a list replaces the finalizers", Patch[json.RawMessage]{Finalizers: []string{"b", "a"}},
			Write{Conditions: []Condition{old}, ControllerStatus: json.RawMessage(`{"phase":"old"}`), Finalizers: []string{"b", "a"}}},
		{"the same status of a condition keeps its transition", Patch[json.RawMessage]{Conditions: []Condition{ConditionTrue(Ready, "Again", "m")}},
			Write{Conditions: []Condition{{Ready, True, "Again", "m", 3, before}}, ControllerStatus: json.RawMessage(`{"phase":"old"}`), Finalizers: []string{"worktree"}}},
		{"another status is a transition", Patch[json.RawMessage]{Conditions: []Condition{ConditionFalse(Ready, "Broken", "")}},
			Write{Conditions: []Condition{{Ready, False, "Broken", "", 3, nowMs}}, ControllerStatus: json.RawMessage(`{"phase":"old"}`), Finalizers: []string{"worktree"}}},
		{"a new type comes last and others stay", Patch[json.RawMessage]{Conditions: []Condition{ConditionUnknown("Checked", "Waiting", "")}},
			Write{Conditions: []Condition{old, {"Checked", Unknown, "Waiting", "", 3, nowMs}}, ControllerStatus: json.RawMessage(`{"phase":"old"}`), Finalizers: []string{"worktree"}}},
		{"what the author says about runtime fields is ignored", Patch[json.RawMessage]{Conditions: []Condition{{Ready, True, "Done", "", 99, nowMs}}},
			Write{Conditions: []Condition{{Ready, True, "Done", "", 3, before}}, ControllerStatus: json.RawMessage(`{"phase":"old"}`), Finalizers: []string{"worktree"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := newWrite(stored(), test.patch, now)
			if err != nil {
				t.Fatal(err)
			}
			test.want.Version, test.want.ObservedGeneration = 7, 3
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("write (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewWriteLeavesTheResourceAlone(t *testing.T) {
	t.Parallel()
	r := stored()
	patch := Patch[json.RawMessage]{Conditions: []Condition{ConditionFalse(Ready, "Broken", "")}, Finalizers: []string{}}
	if _, err := newWrite(r, patch, now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored(), r); diff != "" {
		t.Errorf("the resource changed (-before +after):\n%s", diff)
	}
}

func TestNewWriteCutsMessages(t *testing.T) {
	t.Parallel()
	patch := Patch[json.RawMessage]{Conditions: []Condition{ConditionFalse(Ready, "Broken", strings.Repeat("ä", MaxMessage+1))}}
	w, err := newWrite(stored(), patch, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := []rune(w.Conditions[0].Message); len(got) != MaxMessage || got[MaxMessage-1] != '…' {
		t.Errorf("the message has %d characters and ends in %q", len(got), got[len(got)-1])
	}
}

func TestNewWriteRefuses(t *testing.T) {
	t.Parallel()
	conditions := func(c ...Condition) Patch[json.RawMessage] { return Patch[json.RawMessage]{Conditions: c} }
	finalizers := func(f ...string) Patch[json.RawMessage] { return Patch[json.RawMessage]{Finalizers: f} }
	tests := []struct {
		name  string
		patch Patch[json.RawMessage]
		says  string
	}{
		{"a type twice", conditions(ConditionTrue("A", "X", ""), ConditionTrue("B", "X", ""), ConditionFalse("A", "Y", "")), "condition A is set twice"},
		{"no type", conditions(Condition{Status: True, Reason: "X"}), "condition type"},
		{"no reason", conditions(ConditionTrue("A", "", "")), "reason of condition A"},
		{"no status", conditions(Condition{Type: "A", Reason: "X"}), "true, false or unknown"},
		{"a finalizer twice", finalizers("a", "b", "a"), "finalizer a is listed twice"},
		{"a bad finalizer", finalizers("a b"), "finalizer"},
		{"a status that is no JSON", Patch[json.RawMessage]{ControllerStatus: raw(`{"a":`)}, "controller status"},
		{"a status with a number that changes", Patch[json.RawMessage]{ControllerStatus: raw(`{"id":9007199254740993}`)}, "/id"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := newWrite(stored(), test.patch, now); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error = %v, want one with %q", err, test.says)
			}
		})
	}
}

func TestNewWriteLimits(t *testing.T) {
	t.Parallel()
	many := func(n int) (c []Condition, f []string) {
		for i := range n {
			c = append(c, ConditionTrue(fmt.Sprintf("C%d", i), "X", ""))
			f = append(f, fmt.Sprintf("f%d", i))
		}
		return c, f
	}
	// One condition is there already.
	conditions, _ := many(MaxConditions)
	_, finalizers := many(MaxFinalizers + 1)
	status := strings.Repeat("x", MaxStatusBytes-statusBytes(t)-len(`""`))
	tests := []struct {
		name      string
		fits, not Patch[json.RawMessage]
		limit     int
	}{
		{"conditions", Patch[json.RawMessage]{Conditions: conditions[1:]}, Patch[json.RawMessage]{Conditions: conditions}, MaxConditions},
		{"finalizers", Patch[json.RawMessage]{Finalizers: finalizers[1:]}, Patch[json.RawMessage]{Finalizers: finalizers}, MaxFinalizers},
		{"status", Patch[json.RawMessage]{ControllerStatus: raw(`"` + status + `"`)}, Patch[json.RawMessage]{ControllerStatus: raw(`"` + status + `x"`)}, MaxStatusBytes},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := newWrite(stored(), test.fits, now); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := newWrite(stored(), test.not, now)
			var broken *LimitError
			if !errors.As(err, &broken) || broken.Limit != test.limit || broken.Size != test.limit+1 {
				t.Errorf("above the limit: %v", err)
			}
		})
	}
}

// statusBytes is the size of the stored status around its controller status.
func statusBytes(t *testing.T) int {
	t.Helper()
	s := stored().Status
	s.ObservedGeneration = 3
	text, err := canonical.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return len(text) - len(s.ControllerStatus)
}

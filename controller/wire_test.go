package controller_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

// The wire names are those of the specification; times have three digits.
func TestJSONOfResourcesAndEffects(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 5, 10, 0, 0, 0, time.FixedZone("x", 2*3600))
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"resource", controller.Raw{
			Metadata: controller.Metadata{UID: "u", Controller: "c", Key: "<k>", ResourceVersion: 2, Generation: 1},
			Spec:     json.RawMessage(`{"a":1}`),
			Status: controller.Status[json.RawMessage]{
				ObservedGeneration: 1,
				Conditions:         []controller.Condition{{Type: "Ready", Status: controller.Unknown, Reason: "R", ObservedGeneration: 1, LastTransitionTime: at}},
				WorkflowRun:        &controller.WorkflowRun{RequestID: "q", RunID: "r", State: controller.RunRunning, Attempt: 1},
				ControllerStatus:   json.RawMessage(`null`),
			},
		}, `{"metadata":{"uid":"u","controller":"c","key":"<k>","resourceVersion":2,"generation":1,"finalizers":[]},` +
			`"spec":{"a":1},"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"unknown","reason":"R",` +
			`"observedGeneration":1,"lastTransitionTime":"2027-01-05T08:00:00.000Z"}],` +
			`"workflowRun":{"requestId":"q","runId":"r","state":"running","attempt":1},"controllerStatus":null}}`},
		{"deleting", controller.Metadata{DeletionTimestamp: &at, Finalizers: []string{"f"}},
			`{"uid":"","controller":"","key":"","resourceVersion":0,"generation":0,"finalizers":["f"],"deletionTimestamp":"2027-01-05T08:00:00.000Z"}`},
		{"effect", controller.EffectRecord{Key: "k", Kind: "n", State: controller.EffectApplied, StartedAt: at, CompletedAt: &at},
			`{"key":"k","resourceUid":"","generation":0,"kind":"n","requestFingerprint":"","state":"applied","token":"",` +
				`"startedAt":"2027-01-05T08:00:00.000Z","completedAt":"2027-01-05T08:00:00.000Z"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := marshal(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourcesSurviveJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 5, 8, 0, 0, 120_000_000, time.UTC)
	want := controller.Raw{
		Metadata: controller.Metadata{UID: "u", DeletionTimestamp: &at, Finalizers: []string{"f"}},
		Spec:     json.RawMessage(`1`),
		Status: controller.Status[json.RawMessage]{
			Conditions:       []controller.Condition{{Type: "A", Status: controller.False, Reason: "R", LastTransitionTime: at}},
			ControllerStatus: json.RawMessage(`{}`),
		},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got controller.Raw
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resource (-before +after):\n%s", diff)
	}
}

func TestConditionStatusRefusesOtherValues(t *testing.T) {
	t.Parallel()
	var s controller.ConditionStatus
	for _, text := range []string{`"true"`, `null`, `1`, `"Unknown"`} {
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s was read as %q", text, s)
		}
	}
	if text, err := json.Marshal(controller.ConditionStatus("maybe")); err == nil {
		t.Errorf("maybe was written as %s", text)
	}
}

// marshal writes JSON as our commands do: no HTML escapes.
func marshal(v any) (string, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(text.String()), err
}

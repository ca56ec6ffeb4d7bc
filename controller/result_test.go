package controller

import (
	"encoding/json"
	"testing"
	"time"
)

func TestResultCheck(t *testing.T) {
	t.Parallel()
	none := Patch[json.RawMessage]{}
	tests := []struct {
		name   string
		result RawResult
		valid  bool
		reason RequeueReason
	}{
		{"settled", Settled(none), true, ""},
		{"requeue", Requeue(none), true, ReasonRequested},
		{"requeue later", RequeueAfter(time.Millisecond, none), true, ReasonDelay},
		{"retry", Retry(none), true, ReasonRetry},
		{"retry with a delay", RawResult{Kind: ResultRetry, After: time.Second}, false, ""},
		{"the zero result", RawResult{}, false, ""},
		{"another kind", RawResult{Kind: "done"}, false, ""},
		{"settled with a delay", RawResult{Kind: ResultSettled, After: time.Second}, false, ""},
		{"a negative delay", RequeueAfter(-time.Second, none), false, ""},
	}
	for _, test := range tests {
		err := test.result.check()
		if (err == nil) != test.valid {
			t.Errorf("%s: check = %v", test.name, err)
		}
		if test.valid && test.result.reason() != test.reason {
			t.Errorf("%s: reason = %q, want %q", test.name, test.result.reason(), test.reason)
		}
	}
}

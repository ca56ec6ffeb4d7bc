package provider

import (
	"encoding/json"
	"slices"
	"testing"

	"piworkflows/source/webhook"
)

func TestKeysOfEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, payload string
		want          []string
	}{
		{"a pull request", `{"number":7,"repository":{"full_name":"octo/house"}}`, []string{"octo/house#7"}},
		{
			"a check of two", `{"repository":{"full_name":"octo/house"},"check_run":{"pull_requests":[{"number":1},{"number":2}]}}`,
			[]string{"octo/house#1", "octo/house#2"},
		},
		{"something else", `{"repository":{"full_name":"octo/house"},"action":"starred"}`, nil},
	}
	for _, test := range tests {
		got, err := webhook.Typed(keysOf)(t.Context(), webhook.Event{Payload: json.RawMessage(test.payload)})
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}

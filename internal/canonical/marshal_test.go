package canonical_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"piworkflows/internal/canonical"
)

type label string

func (l label) MarshalText() ([]byte, error) { return []byte("label " + string(l)), nil }

func TestMarshal(t *testing.T) {
	t.Parallel()
	type inner struct {
		Raw     json.RawMessage `json:"raw"`
		Skipped string          `json:"-"`
		hidden  string
	}
	tests := []struct {
		value any
		want  string
	}{
		{nil, `null`},
		{map[string]any{"b": 1, "a": "<&>"}, `{"a":"<&>","b":1}`},
		{"\u2028 \\u2028 \u2029\\", "\"\u2028 \\\\u2028 \u2029\\\\\""},
		{json.RawMessage(` {"b" : "\u2028", "a":1} `), ` {"b" : "\u2028", "a":1} `},
		{inner{json.RawMessage(`"\ufffd"`), "\xff", "\xff"}, `{"raw":"\ufffd"}`},
		{"a real \uFFFD", "\"a real \uFFFD\""},
		{label("x"), `"label x"`},
		{(*label)(nil), `null`},
		{int64(1 << 53), `9007199254740992`},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), `"2026-01-02T03:04:05Z"`},
	}
	for _, test := range tests {
		got, err := canonical.Marshal(test.value)
		if err != nil || string(got) != test.want {
			t.Errorf("Marshal(%#v) = %s, %v; want %s", test.value, got, err, test.want)
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	t.Parallel()
	type tree struct {
		Name string  `json:"name"`
		Next *tree   `json:"next"`
		Many []any   `json:"many"`
		Pair [2]any  `json:"pair"`
		Raw  *label  `json:"raw"`
		Rest float64 `json:"rest"`
	}
	bad := "bad \xff"
	badLabel := label(bad)
	tests := []struct {
		name   string
		value  any
		reason string
	}{
		{"string", bad, "not valid UTF-8"},
		{"map value", map[string]any{"a": []any{bad}}, "not valid UTF-8"},
		{"map key", map[string]int{bad: 1}, "not valid UTF-8"},
		{"struct", &tree{Next: &tree{Name: bad}}, "not valid UTF-8"},
		{"array", tree{Pair: [2]any{1, bad}}, "not valid UTF-8"},
		{"own text", tree{Raw: &badLabel}, "not valid UTF-8"},
		{"beside a harmless escape", map[string]any{"a": json.RawMessage(`"\ufffd"`), "b": bad}, "not valid UTF-8"},
		{"raw at the top", json.RawMessage("\"" + bad + "\""), "not valid UTF-8"},
		{"raw inside", []any{json.RawMessage(`{"a":1,"a":2}`)}, "twice"},
		{"nil raw", json.RawMessage(nil), "ends where a value"},
		{"large integer", int64(1<<53 + 1), "as strings"},
		{"negative zero", math.Copysign(0, -1), "negative zero"},
		{"not a number", math.NaN(), "NaN"},
		{"no JSON", make(chan int), "chan int"},
		{"too deep", nested(canonical.MaxDepth + 1), "deeper"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := canonical.Marshal(test.value)
			if got := refusal(t, err).Reason; !strings.Contains(got, test.reason) {
				t.Errorf("reason %q does not contain %q", got, test.reason)
			}
		})
	}
}

func nested(depth int) any {
	var value any = 1
	for range depth {
		value = []any{value}
	}
	return value
}

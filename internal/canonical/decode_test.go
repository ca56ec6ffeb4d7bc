package canonical_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/canonical"
)

type common struct {
	Kind   string `json:"kind"`
	Shadow int    `json:"shadow"`
}

type Left struct{ Both, OnlyLeft int }
type Right struct{ Both, OnlyRight int }

type spec struct {
	common
	*Left
	Right    `json:"right"`
	Name     string `json:"name"`
	Shadow   string `json:"shadow"`
	Untagged int
	Small    int8              `json:"small"`
	Count    uint16            `json:"count"`
	Share    float64           `json:"share"`
	On       bool              `json:"on"`
	Parts    []part            `json:"parts"`
	ByName   map[string]*part  `json:"byName"`
	Pair     [2]int            `json:"pair"`
	Bytes    []byte            `json:"bytes"`
	When     time.Time         `json:"when"`
	Raw      json.RawMessage   `json:"raw"`
	Any      any               `json:"any"`
	Quoted   int               `json:"quoted,string"`
	ByID     map[int]int       `json:"byId"`
	Own      map[string]parity `json:"own"`
	Skipped  int               `json:"-"`
	hidden   int               //nolint:unused // the point: no key reaches it
}

type part struct {
	Size *int  `json:"size"`
	Next *part `json:"next"`
}

// parity decodes itself from true and false, and takes any keys.
type parity struct{ odd bool }

func (p *parity) UnmarshalJSON(raw []byte) error {
	p.odd = true
	return json.Unmarshal(raw, new(bool))
}

func TestDecodeStrict(t *testing.T) {
	t.Parallel()
	size := 3
	tests := []struct {
		name string
		text string
		want spec
	}{
		{"empty", `{}`, spec{}},
		{"embedded", `{"kind":"k","shadow":"s","Both":1,"OnlyLeft":2,"right":{"OnlyRight":3}}`,
			spec{common: common{Kind: "k"}, Shadow: "s", Left: &Left{1, 2}, Right: Right{OnlyRight: 3}}},
		{"nested", `{"parts":[{"size":3,"next":{"size":null}},{}],"byName":{"any Key":{"size":3},"n":null}}`,
			spec{Parts: []part{{&size, &part{}}, {}}, ByName: map[string]*part{"any Key": {Size: &size}, "n": nil}}},
		{"escaped key", `{"n\u0061me":"x"}`, spec{Name: "x"}},
		{"scalars", `{"Untagged":1,"small":-128,"count":65535,"share":1.5,"on":true,"pair":[1,2],"bytes":"AQI=","quoted":"7"}`,
			spec{Untagged: 1, Small: -128, Count: 65535, Share: 1.5, On: true, Pair: [2]int{1, 2}, Bytes: []byte{1, 2}, Quoted: 7}},
		{"left alone", `{"when":"2026-01-02T03:04:05Z","raw":{"X":[{"y":null}]},"any":{"X":null},"byId":{"4":2}}`,
			spec{When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Raw: json.RawMessage(`{"X":[{"y":null}]}`),
				Any: map[string]any{"X": nil}, ByID: map[int]int{4: 2}}},
		{"null where there is one", `{"parts":null,"byName":null,"any":null,"when":null}`, spec{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got spec
			if err := canonical.DecodeStrict([]byte(test.text), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(spec{}, parity{})); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeStrictRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, pointer, reason string }{
		{`{"name":"x"} 1`, "", "exactly one"},
		{`[]`, "", "expected an object, found an array"},
		{`null`, "", "expected an object, found null"},
		{`{"nam":"x"}`, "/nam", "unknown field"},
		{`{"Name":"x"}`, "/Name", "case-sensitive"},
		{`{"untagged":1}`, "/untagged", "case-sensitive"},
		{`{"Skipped":1}`, "/Skipped", "unknown field"},
		{`{"-":1}`, "/-", "unknown field"},
		{`{"hidden":1}`, "/hidden", "unknown field"},
		{`{"common":{}}`, "/common", "unknown field"},
		{`{"parts":[{},{"next":{"Size":1}}]}`, "/parts/1/next/Size", "unknown field"},
		{`{"byName":{"a/b":{"x~y":1}}}`, "/byName/a~1b/x~0y", "unknown field"},
		{`{"right":{"OnlyLeft":1}}`, "/right/OnlyLeft", "unknown field"},
		{`{"name":1}`, "/name", "expected a string, found the number 1"},
		{`{"name":null}`, "/name", "expected a string, found null"},
		{`{"on":"true"}`, "/on", "expected true or false, found a string"},
		{`{"small":128}`, "/small", "expected an integer from -128 to 127, found the number 128"},
		{`{"count":-1}`, "/count", "expected an integer from 0 to 65535, found the number -1"},
		{`{"Untagged":1.5}`, "/Untagged", "expected an integer, found the number 1.5"},
		{`{"share":[]}`, "/share", "expected a number, found an array"},
		{`{"parts":{}}`, "/parts", "expected an array, found an object"},
		{`{"parts":[{"size":1},{"size":true}]}`, "/parts/1/size", "expected an integer, found true"},
		{`{"byName":{"k":[]}}`, "/byName/k", "expected an object, found an array"},
		{`{"pair":[1,2,3]}`, "/pair/2", "more than 2 elements"},
		{`{"pair":"x"}`, "/pair", "expected an array, found a string"},
		{`{"bytes":"?"}`, "/bytes", "expected a string in base64"},
		{`{"when":"soon"}`, "/when", "soon"},
		{`{"own":{"a":true,"b":[1,"x",{}]}}`, "/own/b", "bool"},
		{`{"byId":{"x":1}}`, "", "number x"},
		{`{"quoted":"x"}`, "", "invalid use of ,string"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			got := refusal(t, canonical.DecodeStrict([]byte(test.text), new(spec)))
			if got.Pointer != test.pointer || !strings.Contains(got.Reason, test.reason) {
				t.Errorf("refused at %q: %s; want at %q: %s", got.Pointer, got.Reason, test.pointer, test.reason)
			}
		})
	}
}

func TestDecodeStrictHidesAmbiguousFields(t *testing.T) {
	t.Parallel()
	type tagged struct {
		Other int `json:"OnlyLeft"`
	}
	var into struct {
		Left
		Right
		tagged
	}
	if err := canonical.DecodeStrict([]byte(`{"OnlyLeft":1,"OnlyRight":2}`), &into); err != nil {
		t.Fatal(err)
	}
	if into.Left != (Left{}) || into.Other != 1 || into.OnlyRight != 2 {
		t.Errorf("decoded %+v; the tagged field must win", into)
	}
	got := refusal(t, canonical.DecodeStrict([]byte(`{"Both":1}`), &into))
	if got.Pointer != "/Both" {
		t.Errorf("refused at %q, want /Both", got.Pointer)
	}
}

func TestDecodeStrictNeedsAPointer(t *testing.T) {
	t.Parallel()
	for _, into := range []any{nil, spec{}, (*spec)(nil)} {
		got := refusal(t, canonical.DecodeStrict([]byte(`{}`), into))
		if !strings.Contains(got.Reason, "pass a pointer") {
			t.Errorf("into %T: %v", into, got)
		}
	}
}

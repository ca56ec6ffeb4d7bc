package canonical_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/canonical"
)

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `true`, `false`, `null`, " \t\r\n{ } \n",
		`{"a":{"b":[1,{"c":null}]},"b":"a"}`,
		`[{"a":1},{"a":2}]`,
		`{"":0}`,
		`9007199254740992`, `-9007199254740992`, `9007199254740992.0`, `9.007199254740992e15`, `900719925474099200e-2`,
		`123456789012345`, `1e15`, `1E+2`, `1.5e-3`, `0.1`, `5e-324`, `1e-400`, `0e5`, `-1`, `-0.5`,
		`"\ud83d\ude00"`, `"😀"`, `"\u0000"`, `"\"\\\/\b\f\n\r\t"`, `"\ufffd"`, "\"\uFFFD\"", "\"\u2028\"",
		`{"\u0061":1,"b":2}`,
		strings.Repeat("[", canonical.MaxDepth) + strings.Repeat("]", canonical.MaxDepth),
	} {
		if err := canonical.Check([]byte(text)); err != nil {
			t.Errorf("Check(%.60q) = %v, want nil", text, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		pointer string
		offset  int64
		reason  string // a part of it
	}{
		{``, "", 0, "ends where a value"},
		{`  `, "", 2, "ends where a value"},
		{"\ufeff{}", "", 0, "expected a value"},
		{`{} {}`, "", 3, "exactly one JSON value"},
		{`1 2`, "", 2, "exactly one JSON value"},
		{`{"a":1,}`, "", 7, "object key"},
		{`{a:1}`, "", 1, "object key"},
		{`{"a" 1}`, "/a", 5, "':'"},
		{`{"a":1 "b":2}`, "/a", 7, "',' or '}'"},
		{`[1,]`, "/1", 3, "expected a value"},
		{`[1 2]`, "/0", 3, "',' or ']'"},
		{`[1}`, "/0", 2, "',' or ']'"},
		{`[`, "/0", 1, "ends where a value"},
		{`{"a":[1,{"b":tru}]}`, "/a/1/b", 13, "expected a value"},
		{`nul`, "", 0, "expected a value"},
		{`NaN`, "", 0, "expected a value"},
		{`{"a":1,"a":2}`, "/a", 7, "twice"},
		{`{"x":{"a":1,"\u0061":2}}`, "/x/a", 12, "twice"},
		{`{"a/b~c":[00]}`, "/a~1b~0c/0", 10, "leading zeros"},
		{`9007199254740993`, "", 0, "as strings"},
		{`[0,-9007199254740993]`, "/1", 3, "as strings"},
		{`9007199254740992.5`, "", 0, "as strings"},
		{`9007199254740993e0`, "", 0, "as strings"},
		{`1e16`, "", 0, "as strings"},
		{`1e400`, "", 0, "as strings"},
		{`-0`, "", 0, "negative zero"},
		{`-0.0`, "", 0, "negative zero"},
		{`-0e1`, "", 0, "negative zero"},
		{`-1e-400`, "", 0, "negative zero"},
		{`-`, "", 1, "a digit"},
		{`1.`, "", 2, "a digit"},
		{`1e`, "", 2, "a digit"},
		{`+1`, "", 0, "expected a value"},
		{`.5`, "", 0, "expected a value"},
		{`"\ud83d"`, "", 1, "surrogate"},
		{`"\ude00"`, "", 1, "surrogate"},
		{`"\ud83d\u0041"`, "", 1, "surrogate"},
		{`"\ud83dxxxxxx"`, "", 1, "surrogate"},
		{`{"\ud800":1}`, "", 2, "surrogate"},
		{`"\u12g4"`, "", 1, "hexadecimal"},
		{`"\u+123"`, "", 1, "hexadecimal"},
		{`"\u12`, "", 1, "hexadecimal"},
		{`"\x"`, "", 1, "unknown escape"},
		{`"\`, "", 1, "inside a string"},
		{`"abc`, "", 4, "inside a string"},
		{"\"a\nb\"", "", 2, "control character"},
		{"[\"a\xff\"]", "/0", 3, "not valid UTF-8"},
		{"\"\xed\xa0\x80\"", "", 1, "not valid UTF-8"}, // a surrogate in UTF-8
		{"{}\x00", "", 2, "exactly one"},
		{"[\x00]", "/0", 1, "expected a value"},
		{strings.Repeat("[", canonical.MaxDepth+1), strings.Repeat("/0", canonical.MaxDepth), canonical.MaxDepth, "deeper than 512"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%.40q", test.text), func(t *testing.T) {
			t.Parallel()
			got := refusal(t, canonical.Check([]byte(test.text)))
			if !strings.Contains(got.Reason, test.reason) {
				t.Errorf("reason %q does not contain %q", got.Reason, test.reason)
			}
			want := &canonical.Error{Pointer: test.pointer, Reason: got.Reason, Offset: test.offset}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// The set that replaces the comparison one by one must behave the same.
func TestCheckFindsDuplicatesInLargeObjects(t *testing.T) {
	t.Parallel()
	for _, size := range []int{2, 15, 16, 17, 18, 100} {
		var members []string
		for i := range size {
			members = append(members, fmt.Sprintf(`"k%d":{"k0":%d}`, i, i))
		}
		unique := "{" + strings.Join(members, ",") + "}"
		if err := canonical.Check([]byte(unique)); err != nil {
			t.Errorf("%d unique keys: %v", size, err)
		}
		for _, again := range []int{0, size / 2, size - 1} {
			text := fmt.Sprintf(`%s,"k%d":0}`, strings.TrimSuffix(unique, "}"), again)
			if got, want := refusal(t, canonical.Check([]byte(text))).Pointer, fmt.Sprintf("/k%d", again); got != want {
				t.Errorf("%d keys: pointer %q, want %q", size, got, want)
			}
		}
	}
}

func TestErrorMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  canonical.Error
		want string
	}{
		{canonical.Error{Reason: "why"}, "invalid JSON at the root: why"},
		{canonical.Error{Pointer: "/a/0", Reason: "why", Offset: 7}, "invalid JSON at /a/0 (byte 7): why"},
		{canonical.Error{Pointer: strings.Repeat("/é", 100), Reason: "why"},
			"invalid JSON at " + strings.Repeat("/é", 66) + "/…: why"},
	}
	for _, test := range tests {
		if got := test.err.Error(); got != test.want {
			t.Errorf("message %q, want %q", got, test.want)
		}
	}
}

func refusal(t *testing.T, err error) *canonical.Error {
	t.Helper()
	var refused *canonical.Error
	if !errors.As(err, &refused) {
		t.Fatalf("error is %T (%v), want *canonical.Error", err, err)
	}
	return refused
}

func BenchmarkCheck(b *testing.B) {
	member := `{"name":"a plain text","list":[1,2.5,true,null],"inner":{"sha":"0123456789abcdef"}}`
	raw := []byte("[" + strings.TrimSuffix(strings.Repeat(member+",", 1000), ",") + "]")
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := canonical.Check(raw); err != nil {
			b.Fatal(err)
		}
	}
}

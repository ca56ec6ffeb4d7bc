package canonical_test

import (
	"strings"
	"testing"

	"piworkflows/internal/canonical"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{" { } ", `{}`},
		{`{"b":1,"a":{"d":[2, 1],"c":null}}`, `{"a":{"c":null,"d":[2,1]},"b":1}`},
		{`[1.0, 1e2, 10e-1, 0.10, 1e-7, 9007199254740992.0, 1e-400]`, `[1,100,1,0.1,1e-7,9007199254740992,0]`},
		{`"\u0041\/\u000a\u001F\u20ac\ud83d\ude00<>&\u2028"`, "\"A/\\n\\u001f€😀<>&\u2028\""},
		// Keys sort by UTF-16 code units: the emoji is a surrogate pair and so
		// comes before U+FB33 (RFC 8785, section 3.2.3).
		{`{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"1":4,"\r":5}`, "{\"\\r\":5,\"1\":4,\"€\":3,\"😀\":2,\"\ufb33\":1}"},
		// JavaScript moves keys that look like numbers to the front and takes __proto__
		// for something else; here they are keys like every other.
		{`{"a":0,"2":1,"10":2,"__proto__":{"b":1},"constructor":3}`, `{"10":2,"2":1,"__proto__":{"b":1},"a":0,"constructor":3}`},
	}
	for _, test := range tests {
		got, err := canonical.Canonical([]byte(test.text))
		if err != nil || string(got) != test.want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", test.text, got, err, test.want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{`{}`, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
		{"\n{ \"he\\u0061d\" : \"a\" }\n", "40764401a76928bdb533b0a6f4fcdb0c89d16c453354f704c610c36d3b3bb063"},
	}
	for _, test := range tests {
		got, err := canonical.Fingerprint([]byte(test.text))
		if err != nil || got != test.want {
			t.Errorf("Fingerprint(%s) = %s, %v; want %s", test.text, got, err, test.want)
		}
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, true},
		{`[1,2]`, `[2,1]`, false},
		{`null`, `{}`, false},
		{`"1"`, `1`, false},
	}
	for _, test := range tests {
		got, err := canonical.Equal([]byte(test.a), []byte(test.b))
		if err != nil || got != test.want {
			t.Errorf("Equal(%s, %s) = %v, %v; want %v", test.a, test.b, got, err, test.want)
		}
	}
}

func TestCanonicalFormRefusesWhatCheckRefuses(t *testing.T) {
	t.Parallel()
	bad, good := []byte(`{"a":[1e16]}`), []byte(`{}`)
	calls := map[string]func() error{
		"Canonical":    func() error { _, err := canonical.Canonical(bad); return err },
		"Fingerprint":  func() error { _, err := canonical.Fingerprint(bad); return err },
		"Equal left":   func() error { _, err := canonical.Equal(bad, good); return err },
		"Equal right":  func() error { _, err := canonical.Equal(good, bad); return err },
		"Marshal":      func() error { _, err := canonical.Marshal(map[string]any{"a": []any{1e16}}); return err },
		"DecodeStrict": func() error { return canonical.DecodeStrict(bad, new(any)) },
	}
	for name, call := range calls {
		if got := refusal(t, call()).Pointer; got != "/a/0" {
			t.Errorf("%s: pointer %q, want /a/0", name, got)
		}
	}
}

// The library recurses; the deepest text that Check lets through must be safe.
func TestCanonicalAtMaxDepth(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`{"a":`, canonical.MaxDepth) + "1" + strings.Repeat("}", canonical.MaxDepth)
	got, err := canonical.Canonical([]byte(text))
	if err != nil || string(got) != text {
		t.Errorf("Canonical of a text at the depth limit: %v", err)
	}
}

package canonical_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"piworkflows/internal/canonical"
)

func FuzzCheck(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := canonical.Check(raw)
		var refused *canonical.Error
		if err != nil && !errors.As(err, &refused) {
			t.Fatalf("error of type %T", err)
		}
		if want := acceptable(raw); (err == nil) != want {
			t.Fatalf("Check(%q) = %v, the model says %v", raw, err, want)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := canonical.Canonical(raw)
		if (err == nil) != (canonical.Check(raw) == nil) {
			t.Fatalf("Canonical(%q): %v, but Check: %v", raw, err, canonical.Check(raw))
		}
		if err != nil {
			return
		}
		if want, err := jcs.Transform(raw); err != nil || !bytes.Equal(text, want) {
			t.Fatalf("Canonical(%q) = %q, the library makes %q of it (%v)", raw, text, want, err)
		}
		if err := canonical.Check(text); err != nil {
			t.Fatalf("Canonical(%q) = %q, which is refused: %v", raw, text, err)
		}
		again, err := canonical.Canonical(text)
		if err != nil || !bytes.Equal(text, again) {
			t.Fatalf("not idempotent: %q, then %q (%v)", text, again, err)
		}
		if before, after := decoded(t, raw), decoded(t, text); !reflect.DeepEqual(before, after) {
			t.Fatalf("Canonical(%q) = %q changed the value from %v to %v", raw, text, before, after)
		}
		// Go's own encoder orders keys and writes numbers alike, up to the
		// order of characters outside of the basic plane.
		if encoded, err := canonical.Marshal(decoded(t, raw)); err != nil {
			t.Fatalf("value of %q is not encodable: %v", raw, err)
		} else if equal, err := canonical.Equal(encoded, text); err != nil || !equal {
			t.Fatalf("Canonical(%q) = %q, encoder %q (%v)", raw, text, encoded, err)
		}
	})
}

func seed(f *testing.F) {
	f.Helper()
	for _, text := range []string{
		`{}`, `{"a":[1,2.5e3,-1,"x\u0041\ud83d\ude00"],"b":{"a":null,"":true}}`, `{"a":1,"\u0061":2}`,
		`9007199254740993`, `9007199254740992.0`, `1e400`, `-0.0`, `1e-400`, `0E10000000000000000000`, `"\ud800"`, "\"\xff\"", `[[[[1]]]]`, ` "a" `,
		"[\"\u2028\"]", `"\ufffd"`, `[1,]`, `{"a":}`, `01`, `0.1e`, `[1 2]`, "\ufeff1", `{"b":1,"a":2,"b":3}`,
		`{"":[],"a":{"A":-10,"B":"é "},"b":0}`, `{"a":1,"A":2}`, `{"\ufb33":1,"😀":2}`, `[1.0]`, `[1e3]`, `["\/"]`, `[1 ]`,
	} {
		f.Add([]byte(text))
	}
}

// acceptable is the specification of Check in terms of encoding/json: slower,
// and written independently of it.
func acceptable(raw []byte) bool {
	if !json.Valid(raw) || !utf8.Valid(raw) || loneSurrogate(raw) {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	ok, err := acceptableValue(decoder, 0)
	return err == nil && ok
}

func acceptableValue(decoder *json.Decoder, depth int) (ok bool, err error) {
	token, err := decoder.Token()
	if err != nil {
		return false, err
	}
	switch token := token.(type) {
	case json.Number:
		return exact(token.String()), nil
	case json.Delim:
		if depth == canonical.MaxDepth {
			return false, nil
		}
		keys := map[string]bool{}
		for decoder.More() {
			if token == '{' {
				key, err := decoder.Token()
				if err != nil || keys[key.(string)] {
					return false, err
				}
				keys[key.(string)] = true
			}
			if ok, err := acceptableValue(decoder, depth+1); !ok || err != nil {
				return false, err
			}
		}
		_, err = decoder.Token()
		return true, err
	default:
		return true, nil
	}
}

func exact(number string) bool {
	near, err := strconv.ParseFloat(number, 64)
	if err != nil || near == 0 && strings.HasPrefix(number, "-") {
		return false
	}
	if near == 0 { // package big does not take every exponent
		return true
	}
	value, _, err := big.ParseFloat(number, 10, 4096, big.ToNearestEven)
	if err != nil {
		return false
	}
	return value.Abs(value).Cmp(big.NewFloat(1<<53)) <= 0
}

var surrogates = regexp.MustCompile(`(?i)\\\\|\\u(d[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}|\\u(d[89a-f][0-9a-f]{2})`)

func loneSurrogate(raw []byte) bool {
	for _, match := range surrogates.FindAllSubmatch(raw, -1) {
		if match[2] != nil {
			return true
		}
	}
	return false
}

func decoded(t *testing.T, raw []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("decode %q: %v", raw, err)
	}
	return value
}

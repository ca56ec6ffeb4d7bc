package secret_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piworkflows/secret"
)

// known makes a value known to the redactor of this process.
func known(t *testing.T, value string) string {
	t.Helper()
	got, err := write(t, value, 0o600).Resolve(t.Context())
	if err != nil || got != value {
		t.Fatalf("Resolve = %q, %v; want %q", got, err, value)
	}
	return value
}

func TestEveryFormOfASecretIsMasked(t *testing.T) {
	t.Parallel()
	value := known(t, `c0rrect "horse"/battery+staple? <&>\ ü%`)
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	nested, err := json.Marshal(string(quoted))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain":              value,
		"query":              url.QueryEscape(value),
		"path":               url.PathEscape(value),
		"user":               url.UserPassword("me", value).String(),
		"lower":              strings.ToLower(url.QueryEscape(value)),
		"base64":             base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 of a URL":    base64.URLEncoding.EncodeToString([]byte(value)),
		"basic, one before":  base64.StdEncoding.EncodeToString([]byte("x" + value)),
		"basic, two before":  base64.StdEncoding.EncodeToString([]byte("me" + value + "!")),
		"basic, many before": base64.RawURLEncoding.EncodeToString([]byte("me:" + value + "!!")),
		"JSON":               string(quoted),
		"JSON in JSON":       string(nested),
		"JSON of a browser":  strings.ReplaceAll(string(quoted), "/", `\/`),
	} {
		masked := secret.Redact("before " + text + " after")
		if !strings.HasPrefix(masked, "before ") || !strings.HasSuffix(masked, " after") || !strings.Contains(masked, secret.Mask) {
			t.Errorf("%s: %s", name, masked)
		}
		for _, part := range []string{"c0rrect", "horse", "battery", "staple"} {
			if strings.Contains(masked, part) {
				t.Errorf("%s: %s is left in %s", name, part, masked)
			}
		}
		if left := len(masked) - len("before  after") - len(secret.Mask); left > 10 {
			t.Errorf("%s: %d bytes are left in %s", name, left, masked)
		}
	}
}

// Texts are cut to their bounds after they were made; what is left of a secret
// then is masked too.
func TestTheBeginningOfASecretIsMasked(t *testing.T) {
	t.Parallel()
	value := known(t, "a-long-secret-that-will-be-cut")
	for cut := 16; cut <= len(value); cut++ {
		if got := secret.Redact("-" + value[:cut] + "…"); got != "-"+secret.Mask+"…" {
			t.Errorf("cut to %d bytes: %s", cut, got)
		}
	}
}

func TestTheLinesOfASecretAreMasked(t *testing.T) {
	t.Parallel()
	known(t, "-----BEGIN LINES-----\nMIIEowIBAAKCAQEAlines\nlast/line/of/the/key=\n-----END LINES-----")
	if got := secret.Redact("1: MIIEowIBAAKCAQEAlines\n2: last/line/of/the/key=\n3: -----END"); got != "1: [redacted]\n2: [redacted]\n3: -----END" {
		t.Error(got)
	}
}

func TestJSONStaysJSON(t *testing.T) {
	t.Parallel()
	value := known(t, `json","secret":"quote`)
	raw, err := json.Marshal(map[string]any{
		"value": value, value: 1, "list": []string{"a" + value, "clean\n"}, "n": 12345678901,
	})
	if err != nil {
		t.Fatal(err)
	}
	masked := secret.RedactJSON(raw)
	var got map[string]any
	if err := json.Unmarshal(masked, &got); err != nil {
		t.Fatalf("%v: %s", err, masked)
	}
	want := `{"[redacted]":1,"list":["a[redacted]","clean\n"],"n":12345678901,"value":"[redacted]"}`
	if again, err := json.Marshal(got); string(again) != want || err != nil {
		t.Errorf("got %s, want %s", again, want)
	}
	// What looks like the secret, but is several strings, is none.
	if clean := json.RawMessage(`{"json":"json","secret":"quote"}`); string(secret.RedactJSON(clean)) != string(clean) {
		t.Errorf("%s became %s", clean, secret.RedactJSON(clean))
	}
}

func TestAValueThatMeansSomethingIsRefused(t *testing.T) {
	t.Parallel()
	value := known(t, "must-not-be-in-a-spec")
	err := secret.Check("resource spec", json.RawMessage(`{"token":"`+value+`"}`))
	var leak *secret.LeakError
	if !errors.As(err, &leak) || leak.What != "resource spec" || strings.Contains(err.Error(), value) {
		t.Errorf("Check = %v, want a LeakError without the value", err)
	}
	if err := secret.CheckText("key", "k:"+value); !errors.As(err, &leak) {
		t.Errorf("CheckText = %v, want a LeakError", err)
	}
	if err := errors.Join(secret.Check("spec", json.RawMessage(`"clean"`)), secret.CheckText("key", "clean")); err != nil {
		t.Errorf("clean values: %v", err)
	}
}

// TestNoPieceOfASecretPasses cuts a text at random and masks piece by piece, as a
// stream does.
func TestNoPieceOfASecretPasses(t *testing.T) {
	t.Parallel()
	value := known(t, "stream-secret-0123456789")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "before") + value + rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "between") +
			value[:rapid.IntRange(0, 10).Draw(t, "prefix")] + value
		var held string
		var out strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			held, rest = held+rest[:n], rest[n:]
			whole := len(held) - secret.Begun(held)
			out.WriteString(secret.Redact(held[:whole]))
			held = held[whole:]
		}
		out.WriteString(secret.Redact(held))
		if got, want := out.String(), secret.Redact(text); got != want || strings.Contains(got, "0123456789") {
			t.Fatalf("in pieces %s, at once %s", got, want)
		}
	})
}

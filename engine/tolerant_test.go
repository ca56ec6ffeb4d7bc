package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"piworkflows/internal/canonical"
)

func TestTolerant(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"object":                  {` {"a": 1} `, `{"a": 1}`},
		"scalar":                  {"true", "true"},
		"number":                  {"\n42\n", "42"},
		"string":                  {`"done"`, `"done"`},
		"byte order mark":         {"\ufeff[1]", "[1]"},
		"fence":                   {"```\n{\"a\":1}\n```", `{"a":1}`},
		"tagged fence in prose":   {"Here it is:\n\n```JSON\n {\"a\":1}\n```\nAnything else?", `{"a":1}`},
		"scalar in a fence":       {"The answer is ```json 42```.", "42"},
		"tag without white space": {"```json{\"a\":1}```", `{"a":1}`}, // found by the scan
		"other tag":               {"```js\n{\"a\":1}\n```", `{"a":1}`},
		"second fence":            {"```sh\nls\n```\n```json\n{\"a\":1}\n```", `{"a":1}`},
		"open fence":              {"```json\n{\"a\":1}", `{"a":1}`},
		"prose before and after":  {`I choose {"route": "go", "reason": "} \" ]"} because of it.`, `{"route": "go", "reason": "} \" ]"}`},
		"first that parses":       {`{not this} but [1, 2] and {"a":1}`, "[1, 2]"},
		"inside of what does not": {`{see [1]}`, "[1]"},
		"mismatched brackets":     {`{"a":[1}, {"b":2}`, `{"b":2}`},
		"prototype":               {`{"__proto__": {"route":"go"}}`, `{"__proto__": {"route":"go"}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tolerant(test.text)
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestTolerantFindsNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, why string }{
		"nothing":       {" \n\t", "empty"},
		"prose":         {"I am done.", "no JSON object or array"},
		"empty fence":   {"```json\n```", "no JSON object or array"},
		"broken object": {`{"route": "go",}`, "byte"},
		"broken fence":  {"So:\n```json\n{'route': 'go'}\n```", "key in double quotes"},
		"cut off":       {`{"route": "go`, "ends inside a string"},
		"too many places": {
			strings.Repeat("{ ", maxStarts) + `{"a":1}`, "key in double quotes",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tolerant(test.text)
			if err == nil || !strings.Contains(err.Error(), test.why) {
				t.Errorf("got %s, %v; want an error with %q", got, err, test.why)
			}
		})
	}
}

// A value that is too deep for every reader must be found, so that it is refused
// and not taken for prose.
func TestTolerantFindsWhatIsTooDeep(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{canonical.MaxDepth + 1, 20_000} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		for _, text := range []string{deep, "```json\n" + deep + "\n```", "So: " + deep + "."} {
			if got, err := tolerant(text); err != nil || string(got) != deep {
				t.Errorf("depth %d in %.10q: got %.20s, %v", depth, text, got, err)
			}
		}
	}
}

// The texts that cost most: each place is looked at up to the end.
func BenchmarkTolerant(b *testing.B) {
	const size = 1 << 20
	for name, text := range map[string]string{
		"open brackets": strings.Repeat("[", size),
		"open strings":  strings.Repeat(`{"`, size/2) + "x",
		"pairs":         strings.Repeat("[}", size/2),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if value, err := tolerant(text); err == nil {
					b.Fatalf("found %.20s", value)
				}
			}
		})
	}
}

func FuzzTolerant(f *testing.F) {
	for _, text := range []string{
		"", `{"a":1}`, "```json\n{\"a\":1}\n```", "``` json ```", "a ``` b", `so {"a":"}"} it is`, `[[[]`, `{"a":[}`, `"\"`, "\xff{}", "\ufeff1",
		`{"__proto__":1}`, `[1] {"a":2}`, "```js\n[1]\n```", `{"a":1,"a":2}`, strings.Repeat("[", 600) + strings.Repeat("]", 600),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := tolerant(text)
		if (value == nil) == (err == nil) {
			t.Fatalf("tolerant(%q) = %q, %v", text, value, err)
		}
		if err != nil {
			if json.Valid([]byte(text)) {
				t.Fatalf("JSON was not found: %q, %v", text, err)
			}
			return
		}
		if !strings.Contains(text, string(value)) {
			t.Fatalf("tolerant(%q) = %q, which does not stand there", text, value)
		}
		if _, depth := balanced(string(value)); !json.Valid(value) && depth <= canonical.MaxDepth {
			t.Fatalf("tolerant(%q) = %q, which is no JSON", text, value)
		}
		again, err := tolerant(string(value))
		if err != nil || string(again) != string(value) {
			t.Fatalf("tolerant(%q) = %q, and of that %q, %v", text, value, again, err)
		}
	})
}

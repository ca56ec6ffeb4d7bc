package cli

import (
	"testing"

	"piworkflows/internal/canonical"
)

// The examples of RFC 7386, appendix A, and what JSON text adds to them.
func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"n":9007199254740991}`, `{"m":1.50}`, `{"n":9007199254740991,"m":1.50}`},
		{`{"t":"<&>"}`, `{}`, `{"t":"<&>"}`},
	} {
		got, err := mergePatch([]byte(c.target), []byte(c.patch))
		if err != nil {
			t.Errorf("%s + %s: %v", c.target, c.patch, err)
			continue
		}
		if same, err := canonical.Equal(got, []byte(c.want)); err != nil || !same {
			t.Errorf("%s + %s = %s, want %s", c.target, c.patch, got, c.want)
		}
	}
}

func TestMergePatchRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	for _, patch := range []string{``, `{`, `{"a":1,"a":2}`, `{"n":9007199254740993}`, `"\ud800"`} {
		if got, err := mergePatch([]byte(`{}`), []byte(patch)); err == nil {
			t.Errorf("patch %q was taken: %s", patch, got)
		}
	}
}

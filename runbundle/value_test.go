package runbundle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piworkflows/internal/canonical"
	"piworkflows/internal/durable"
)

func newDecoder(t testing.TB, dir string) *decoder {
	t.Helper()
	d := decoderIn(dir)
	t.Cleanup(d.close)
	return d
}

func TestEncode(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", inlineBytes)
	wide := strings.Repeat("é", inlineBytes/2)
	ref := `{"$artifact":{"path":"artifacts/sha256-`
	tests := []struct{ name, in, want string }{
		{"scalars", ` [1.50, 1e2, true, null, "a b"] `, `[1.50,1e2,true,null,"a b"]`},
		{"empty", `{"a": {}, "b": [ ], "": ""}`, `{"a":{},"b":[],"":""}`},
		{"order and spelling", `{"b":"\u0041","a":"<"}`, `{"b":"\u0041","a":"<"}`},
		{"exactly the limit", `"` + text + `"`, `"` + text + `"`},
		{"bytes, not characters", `"` + wide + `"`, `"` + wide + `"`},
		{"escapes do not count", `"` + strings.Repeat(`\n`, inlineBytes) + `"`, `"` + strings.Repeat(`\n`, inlineBytes) + `"`},
		{"over the limit", `{"a":["` + text + `y"]}`, `{"a":[` + ref},
		{"one over in bytes", `"` + wide + `y"`, ref},
		{"keys stay", `{"` + text + `y":1}`, `{"` + text + `y":1}`},
		{"artifact key alone", `{"$artifact":1}`, `{"$escaped":{"$artifact":1}}`},
		{"escaped key alone", `[{ "$escaped" : { } }]`, `[{"$escaped":{"$escaped":{}}}]`},
		{"nested", `{"$escaped":{"$artifact":[]}}`, `{"$escaped":{"$escaped":{"$escaped":{"$artifact":[]}}}}`},
		{"key in disguise", `{"\u0024artifact":1}`, `{"$escaped":{"$artifact":1}}`},
		{"two keys", `{"$artifact":{"a":"}"},"b":1}`, `{"$artifact":{"a":"}"},"b":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			a := artifacts{fs: durable.OS(), dir: dir}
			got, err := a.encode([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want && !(strings.Contains(test.want, ref) && strings.HasPrefix(string(got), test.want)) {
				t.Fatalf("encode = %.300s, want %.300s", got, test.want)
			}
			back, err := newDecoder(t, dir).decode(got)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := canonical.Equal(back, []byte(test.in)); !same || err != nil {
				t.Fatalf("decode = %.300s, %v, want %.300s", back, err, test.in)
			}
		})
	}
}

func TestEncodeRefusesWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	a := artifacts{fs: durable.OS(), dir: t.TempDir()}
	for _, text := range []string{"", "{", `{"a":1,}`, "nil", `"a`, "1 2"} {
		if got, err := a.encode([]byte(text)); err == nil {
			t.Errorf("encode(%q) = %s", text, got)
		}
	}
}

// values are JSON values that try to look like ours.
func values() *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int32(), func(i int32) any { return i }), rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.IntRange(inlineBytes-2, inlineBytes+2), func(n int) any { return strings.Repeat("é", n/2) + "\n" }),
	)
	keys := rapid.OneOf(rapid.SampledFrom([]string{artifactKey, escapedKey, "a"}), rapid.String())
	value := scalar
	for range 4 {
		inner := value
		value = rapid.OneOf(scalar,
			rapid.Map(rapid.MapOfN(keys, inner, 0, 2), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(s []any) any { return s }))
	}
	return value
}

func TestDecodeUndoesEncode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := artifacts{fs: durable.OS(), dir: dir}
	rapid.Check(t, func(rt *rapid.T) {
		raw, err := canonical.Marshal(values().Draw(rt, "value"))
		if err != nil {
			rt.Skip(err)
		}
		encoded, err := a.encode(raw)
		if err != nil {
			rt.Fatal(err)
		}
		back, err := newDecoder(t, dir).decode(encoded)
		if err != nil {
			rt.Fatal(err)
		}
		if string(back) != string(raw) {
			rt.Fatalf("%s became %s by way of %s", raw, back, encoded)
		}
	})
}

func TestArtifactIsWrittenOnce(t *testing.T) {
	t.Parallel()
	writes := 0
	a := artifacts{dir: t.TempDir(), fs: durable.WithHook(func(op durable.Op, path string) error {
		if op == durable.OpWrite {
			writes++
		}
		return nil
	})}
	text := textOf(strings.Repeat("x", inlineBytes+1))
	for range 3 {
		if _, err := a.encode(text); err != nil {
			t.Fatal(err)
		}
	}
	if writes != 1 {
		t.Errorf("written %d times", writes)
	}
}

func TestDecodeRefusesBadReferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := artifacts{fs: durable.OS(), dir: filepath.Join(dir, "bundle")}
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	good, err := a.put(strings.Repeat("x", inlineBytes+1))
	if err != nil {
		t.Fatal(err)
	}
	changed, err := a.put(strings.Repeat("y", inlineBytes+1))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.dir, changed.Path), []byte(strings.Repeat("z", inlineBytes+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	linked := good
	linked.Path = artifactsDir + "/sha256-" + strings.Repeat("0", 64) + ".txt"
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(a.dir, linked.Path)); err != nil {
		t.Fatal(err)
	}
	with := func(change func(r *reference)) any {
		r := good
		change(&r)
		return r
	}
	tests := []struct {
		name string
		ref  any
	}{
		{"changed content", changed},
		{"out of the bundle", with(func(r *reference) { r.Path = "../secret" })},
		{"absolute", with(func(r *reference) { r.Path = secret })},
		{"dressed up", with(func(r *reference) { r.Path = "artifacts/../" + r.Path })},
		{"link out of the bundle", linked},
		{"missing", with(func(r *reference) { r.Path = artifactsDir + "/sha256-" + strings.Repeat("1", 64) + ".txt" })},
		{"another hash", with(func(r *reference) { r.SHA256 = strings.Repeat("0", 64) })},
		{"smaller than it is", with(func(r *reference) { r.Bytes-- })},
		{"negative", with(func(r *reference) { r.Bytes = -1 })},
		{"too large", with(func(r *reference) { r.Bytes = maxArtifactBytes + 1 })},
		{"no object", "text"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(map[string]any{artifactKey: test.ref})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := newDecoder(t, a.dir).decode(raw); err == nil {
				t.Fatalf("decoded %.50s", got)
			}
		})
	}
}

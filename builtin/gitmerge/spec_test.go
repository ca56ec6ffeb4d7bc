package gitmerge

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

func TestValidateSpec(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	valid := map[string]any{
		"repository": f.dir, "branch": "feature/one", "target": "main",
		"expectedHead": f.at("main"), "check": []string{"make", "test"}, "checkTimeout": "90s", "approved": true,
	}
	long := strings.Repeat("x", MaxCheckBytes)
	tests := []struct {
		name   string
		change map[string]any // nil removes a field
		want   []string       // pointers of the problems
	}{
		{"valid", nil, nil},
		{"clone", map[string]any{"repository": f.clone}, nil},
		{"SHA-256", map[string]any{"expectedHead": strings.Repeat("a1", 32)}, nil},
		{"defaults", map[string]any{"checkTimeout": nil, "approved": nil}, nil},
		{"longest check", map[string]any{"checkTimeout": "24h"}, nil},
		{"unknown field", map[string]any{"base": "main"}, []string{"/base"}},
		{"wrong type", map[string]any{"approved": "yes"}, []string{"/approved"}},
		{"number for a duration", map[string]any{"checkTimeout": 90}, []string{"/checkTimeout"}},
		{"unit missing", map[string]any{"checkTimeout": "90"}, []string{"/checkTimeout"}},
		{"negative timeout", map[string]any{"checkTimeout": "-1s"}, []string{"/checkTimeout"}},
		{"timeout too long", map[string]any{"checkTimeout": "24h1s"}, []string{"/checkTimeout"}},
		{"relative repository", map[string]any{"repository": "repo.git"}, []string{"/repository"}},
		{"control character", map[string]any{"repository": f.dir + "\n"}, []string{"/repository"}},
		{"no repository there", map[string]any{"repository": f.root}, []string{"/repository"}},
		{"long repository", map[string]any{"repository": "/" + strings.Repeat("x", MaxPathBytes)}, []string{"/repository"}},
		{"full ref names", map[string]any{"branch": "refs/heads/a"}, []string{"/branch"}},
		{"invalid target", map[string]any{"target": "a..b"}, []string{"/target"}},
		{"into itself", map[string]any{"branch": "main"}, []string{"/target"}},
		{"short head", map[string]any{"expectedHead": "abc123"}, []string{"/expectedHead"}},
		{"upper case head", map[string]any{"expectedHead": strings.Repeat("A", 40)}, []string{"/expectedHead"}},
		{"no check", map[string]any{"check": []string{}}, []string{"/check"}},
		{"no program", map[string]any{"check": []string{"", "x"}}, []string{"/check"}},
		{"NUL", map[string]any{"check": []string{"echo", "a\x00"}}, []string{"/check"}},
		{"many words", map[string]any{"check": slices.Repeat([]string{"x"}, MaxCheckArgs+1)}, []string{"/check"}},
		{"long words", map[string]any{"check": []string{"echo", long}}, []string{"/check"}},
		{"everything", map[string]any{
			"repository": nil, "branch": nil, "target": nil, "expectedHead": nil, "check": nil,
		}, []string{"/branch", "/check", "/expectedHead", "/repository", "/target", "/target"}},
	}
	validate := Controller(Options{}).ValidateSpec
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			spec := maps.Clone(valid)
			for name, value := range test.change {
				if spec[name] = value; value == nil {
					delete(spec, name)
				}
			}
			raw, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = validate(raw)
			if refused := (*controller.SpecError)(nil); errors.As(err, &refused) {
				for _, p := range refused.Problems {
					got = append(got, p.Pointer)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestSpecIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	const without = `{"repository":"/r","branch":"b","target":"t","expectedHead":"h","check":["c"],"approved":false}`
	const with = `{"repository":"/r","branch":"b","target":"t","expectedHead":"h","check":["c"],"checkTimeout":"1m30s","approved":false}`
	for _, text := range []string{without, with} {
		var s Spec
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(s); err != nil || string(got) != text {
			t.Errorf("%s, %v; want %s", got, err, text)
		}
		want := DefaultCheckTimeout
		if text == with {
			want = 90 * time.Second
		}
		if got := time.Duration(s.CheckTimeout.orDefault()); got != want {
			t.Errorf("timeout %s, want %s", got, want)
		}
	}
}

package view

import (
	"strings"
	"testing"
	"unicode"
)

// Whatever a record claims to be its graph is drawn or refused, and commands no
// terminal.
func FuzzReadGraph(f *testing.F) {
	// Short ones: the fuzzer spends its time on making long ones shorter.
	const head = `{"schema":"pi-workflows.definition-snapshot.v1","name":"x","startAt":"m",`
	f.Add(head + `"nodes":{"m":{"nodeType":"compute"},"a":{"nodeType":"action","actionExecution":"shell"}},` +
		`"edges":[{"from":"m","switch":{"on":"$.route","cases":{"a":"a","b":"m"}}},{"from":"a","to":"m"}]}`)
	f.Add(head + `"nodes":{"m":{"mountPath":["m"],"includeTransition":"entry"},"m/a":{"mountPath":["m"]}},` +
		`"edges":[{"from":"m","to":"m/a"},{"from":"m/a","to":"m/a"}],"composition":{"mounts":[{"mountPath":["m"]}]}}`)
	f.Add(head + `"nodes":{"m":{"mountPath":["\u001b[2J"]}},"edges":[{"from":"m","switch":{"cases":{"":"m","\n":"m"}}}],` +
		`"composition":{"mounts":[{"mountPath":["\u001b[2J"]},{"mountPath":[]},{"mountPath":["a","","b"]}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ReadGraph([]byte(text))
		if err != nil {
			return
		}
		full := DrawOptions{Style: Style{Width: 40}, Folds: Folds{Full: true}}
		for _, drawing := range []string{g.Draw(DrawOptions{}), g.Draw(full), g.Mermaid(), g.DOT()} {
			if i := strings.IndexFunc(drawing, func(c rune) bool { return c != '\n' && (unicode.IsControl(c) || steers(c)) }); i >= 0 {
				t.Fatalf("not cleaned: %q", drawing[i:])
			}
		}
	})
}

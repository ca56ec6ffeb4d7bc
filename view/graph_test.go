package view

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"piworkflows/internal/golden"
)

func TestDrawings(t *testing.T) {
	t.Parallel()
	loop, deep := readGraph(t, "loop.json"), readGraph(t, "deep.json")
	golden.Check(t, "loop.txt", loop.Draw(DrawOptions{}))
	golden.Check(t, "loop.mmd", loop.Mermaid())
	golden.Check(t, "loop.dot", loop.DOT())
	golden.Check(t, "deep.txt", deep.Draw(DrawOptions{}))
	golden.Check(t, "deep-50.txt", deep.Draw(DrawOptions{Style: Style{Width: 50}}))
}

// The rules of the control-loop spec, section Visualization.
func TestLoopShowsWhatTheSpecAsksFor(t *testing.T) {
	t.Parallel()
	lines := strings.Split(readGraph(t, "loop.json").Draw(DrawOptions{}), "\n")
	count := func(part string) int {
		n := 0
		for _, l := range lines {
			n += strings.Count(l, part)
		}
		return n
	}
	for part, want := range map[string]int{
		"◇ decide ":    1,
		"─ prepare ─":  1,
		"─ merge ─":    1,
		"─ check ─":    1,
		"─ complete ─": 1,
		"─ blocked ─":  1,
		"↩ observe":    6,
		"→ finish":     2,
		" ■":           2, // the node and the legend
	} {
		if got := count(part); got != want {
			t.Errorf("%q occurs %d times, want %d", part, got, want)
		}
	}
}

func TestReadGraphKeepsTheOrderOfNodesAndCases(t *testing.T) {
	t.Parallel()
	g := readGraph(t, "loop.json")
	if got := g.Nodes[2]; got != (Node{ID: "prepareWorktree", Kind: "action"}) {
		t.Errorf("third node = %+v", got)
	}
	if got := g.Nodes[3].Kind; got != "shell" {
		t.Errorf("kind of a shell action = %q", got)
	}
	if got := g.Edges[1]; got != (Edge{"decide", "mergeCandidate", "merge", "$.route"}) {
		t.Errorf("second case = %+v", got)
	}
}

func TestReadGraphRefusesWhatCannotBeDrawn(t *testing.T) {
	t.Parallel()
	const head = `{"schema":"pi-workflows.definition-snapshot.v1","name":"x","startAt":"a",`
	for name, text := range map[string]string{
		"no JSON":         `{`,
		"another schema":  `{"schema":"other.v1"}`,
		"no nodes":        head + `"nodes":{},"edges":[]}`,
		"nodes as a list": head + `"nodes":[],"edges":[]}`,
		"node as text":    head + `"nodes":{"a":"b"},"edges":[]}`,
		"edge to nowhere": head + `"nodes":{"a":{"nodeType":"compute"}},"edges":[{"from":"a","to":"b"}]}`,
		"case as number":  head + `"nodes":{"a":{"nodeType":"compute"}},"edges":[{"from":"a","switch":{"on":"$.x","cases":{"y":1}}}]}`,
	} {
		_, err := ReadGraph([]byte(text))
		if _, ok := errors.AsType[*SnapshotError](err); !ok {
			t.Errorf("%s: error = %v, want a *SnapshotError", name, err)
		}
	}
}

func TestNamesFromARecordCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	g, err := ReadGraph([]byte(`{"schema":"pi-workflows.definition-snapshot.v1","name":"x","startAt":"a\u001b[2Jb\u202ec\n",
		"nodes":{"a\u001b[2Jb\u202ec\n":{"nodeType":"com\u0007pute"}},"edges":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, drawing := range []string{g.Draw(DrawOptions{}), g.Mermaid(), g.DOT()} {
		if strings.ContainsAny(drawing, "\x1b\x07\u202e") || !strings.Contains(drawing, "ab\uFFFDc") {
			t.Errorf("not cleaned: %q", drawing)
		}
	}
}

func TestExportsQuoteNames(t *testing.T) {
	t.Parallel()
	g := &Graph{
		Name: `a "b"`, StartAt: `x"]; y`, Nodes: []Node{{ID: `x"]; y`, Kind: "compute"}, {ID: `z\`, Kind: "compute"}},
		Edges: []Edge{{`x"]; y`, `z\`, "a|b<c>", "$.x"}},
	}
	golden.Check(t, "quoted.mmd", g.Mermaid())
	golden.Check(t, "quoted.dot", g.DOT())
}

func TestColoursChangeNothingButColour(t *testing.T) {
	t.Parallel()
	g := readGraph(t, "loop.json")
	plain, coloured := g.Draw(DrawOptions{}), g.Draw(DrawOptions{Style: Style{Palette: Colors()}})
	if plain == coloured {
		t.Error("no colours")
	}
	if ansi.Strip(coloured) != plain {
		t.Error("the coloured drawing is not the plain one with colours")
	}
}

// Whatever the graph: no line is too wide, each node is drawn once, and each
// edge ends at its node or at a reference to it.
func TestAnyGraphIsDrawnWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := anyGraph(t)
		width := rapid.IntRange(30, 100).Draw(t, "width")
		drawing := g.Draw(DrawOptions{Style: Style{Width: width}})
		body := drawing[:strings.LastIndex(drawing, "\n\n")]
		for line := range strings.Lines(body) {
			if w := Width(strings.TrimRight(line, "\n")); w > width {
				t.Fatalf("line of %d cells in %d: %q", w, width, line)
			}
		}
		if got := strings.Count(body, "○ ") + strings.Count(body, "◇ "); got != len(g.Nodes) {
			t.Fatalf("%d nodes drawn of %d:\n%s", got, len(g.Nodes), drawing)
		}
		o := newOutline(g)
		references := 0
		for i := range g.Edges {
			if !o.inline[i] {
				references++
			}
		}
		if got := strings.Count(body, "↩ ") + strings.Count(body, "→ "); got < references {
			t.Fatalf("%d references drawn of %d:\n%s", got, references, drawing)
		}
	})
}

func anyGraph(t *rapid.T) *Graph {
	n := rapid.IntRange(1, 14).Draw(t, "nodes")
	g := &Graph{Name: "any", StartAt: "n0"}
	id := func(i int) string { return fmt.Sprintf("n%d", i) }
	for i := range n {
		g.Nodes = append(g.Nodes, Node{ID: id(i), Kind: "compute"})
	}
	for i := range n {
		ways := rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 4).Draw(t, "ways")
		for j, to := range ways {
			e := Edge{From: id(i), To: id(to)}
			if len(ways) > 1 {
				e.Label, e.On = fmt.Sprintf("case%d", j), "$.next"
			}
			g.Edges = append(g.Edges, e)
		}
	}
	return g
}

// Dominance by its definition: without the dominator there is no path.
func TestReturnsAreEdgesToADominator(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := anyGraph(t)
		o := newOutline(g)
		for i, e := range g.Edges {
			if !reaches(g, e.From, "") {
				continue
			}
			want := e.From == e.To || !reaches(g, e.From, e.To)
			if got := o.returns(i); got != want {
				t.Fatalf("returns(%s -> %s) = %v, want %v", e.From, e.To, got, want)
			}
		}
	})
}

// reaches walks from the start to a node without entering another.
func reaches(g *Graph, target, without string) bool {
	seen := map[string]bool{}
	var walk func(id string) bool
	walk = func(id string) bool {
		if id == without || seen[id] {
			return false
		}
		seen[id] = true
		if id == target {
			return true
		}
		for _, e := range g.Edges {
			if e.From == id && walk(e.To) {
				return true
			}
		}
		return false
	}
	return walk(g.StartAt)
}

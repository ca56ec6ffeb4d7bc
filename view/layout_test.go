package view

import (
	"fmt"
	"strings"
	"testing"

	"piworkflows/internal/golden"
)

// chain is a graph whose nodes follow each other.
func chain(names ...string) *Graph {
	g := &Graph{Name: "chain", StartAt: names[0]}
	for i, name := range names {
		g.Nodes = append(g.Nodes, Node{ID: name, Kind: "compute"})
		if i > 0 {
			g.Edges = append(g.Edges, Edge{From: names[i-1], To: name})
		}
	}
	return g
}

// choice is a graph of one switch.
func choice(labels ...string) *Graph {
	g := &Graph{Name: "choice", StartAt: "choose", Nodes: []Node{{ID: "choose", Kind: "agent"}}}
	for i, label := range labels {
		id := fmt.Sprintf("do%d", i)
		g.Nodes = append(g.Nodes, Node{ID: id, Kind: "action"})
		g.Edges = append(g.Edges, Edge{From: "choose", To: id, Label: label, On: "$.route"})
	}
	return g
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]*Graph{
		"chain":  chain("fetch", "unpack", "build", "test", "sign", "publish", "announce"),
		"switch": choice("a", "bb", "ccc", "dddd", "eeeee", "f", "g", "h", "i", "j", "k", "l"),
		"wide":   choice(strings.Repeat("a-long-label-", 8), "short", strings.Repeat("x", 24), strings.Repeat("y", 25)),
		"cjk":    choice("\u65e5\u672c\u8a9e", "\ud55c\uad6d", "e\u0301", "\U0001f680", strings.Repeat("\u4e2d\u6587", 20)),
	} {
		golden.Check(t, "layout-"+name+".txt", g.Draw(DrawOptions{}))
		golden.Check(t, "layout-"+name+"-40.txt", g.Draw(DrawOptions{Style: Style{Width: 40}}))
		for _, width := range []int{20, 24, 40, 80} {
			for line := range strings.Lines(g.Draw(DrawOptions{Style: Style{Width: width}})) {
				if w := Width(strings.TrimSuffix(line, "\n")); w > width && !strings.Contains(line, "chooses") {
					t.Errorf("%s: line of %d cells in %d: %q", name, w, width, line)
				}
			}
		}
	}
}

// A generated graph may be far longer than any that a person writes.
func TestAVeryLongChainIsDrawn(t *testing.T) {
	t.Parallel()
	names := make([]string, 20_000)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	if got := strings.Count(chain(names...).Draw(DrawOptions{}), "○ "); got != len(names) {
		t.Errorf("%d nodes drawn of %d", got, len(names))
	}
}

// For a file nothing is cut, but the layout is the same.
func TestAWholeDrawing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long-", 40)
	g := choice(long, "b")
	g.Nodes[1].ID, g.Edges[0].To = long, long
	drawing := g.Draw(DrawOptions{Style: Style{Whole: true}})
	if strings.Contains(drawing, "…") || strings.Count(drawing, long) != 3 {
		t.Errorf("cut:\n%s", drawing)
	}
}

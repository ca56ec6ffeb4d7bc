package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piworkflows/internal/golden"
	"piworkflows/runbundle"
)

func TestDrawingsOfGroups(t *testing.T) {
	t.Parallel()
	g := readGraph(t, "nested.json")
	full := Folds{Full: true}
	golden.Check(t, "nested.txt", g.Draw(DrawOptions{}))
	golden.Check(t, "nested-full.txt", g.Draw(DrawOptions{Folds: full}))
	golden.Check(t, "nested-full-60.txt", g.Draw(DrawOptions{Style: Style{Width: 60}, Folds: full}))
	golden.Check(t, "nested-48.txt", g.Draw(DrawOptions{Style: Style{Width: 48}}))
	golden.Check(t, "nested-inner.txt", g.Draw(DrawOptions{Folds: Folds{Set: map[string]bool{"verification": true}}}))
	golden.Check(t, "nested.mmd", g.Mermaid())
	golden.Check(t, "nested.dot", g.DOT())
}

// The parent shows the exits of a group, and nothing of how it comes to them.
func TestAFoldedGroupKeepsItsRoutingToItself(t *testing.T) {
	t.Parallel()
	drawing := readGraph(t, "nested.json").Draw(DrawOptions{})
	for _, private := range []string{"plan", "repair", "giveUp", "accept", "runTests", "run-checks", "__piw", "/"} {
		if strings.Contains(drawing, private) {
			t.Errorf("%q is shown:\n%s", private, drawing)
		}
	}
	for part, want := range map[string]int{
		"⊞ verification ": 1, "◇ decide ": 1, "─ ready ─": 1, "─ blocked: yes ─": 1, "─ blocked: no ─": 1, "↩ observe": 3,
	} {
		if got := strings.Count(drawing, part); got != want {
			t.Errorf("%q occurs %d times, want %d:\n%s", part, got, want, drawing)
		}
	}
}

// nestedStory is a run that goes into the included workflows, and into the inner
// one twice.
func nestedStory(t *testing.T) *story {
	t.Helper()
	s := newStoryOf(t, "nested.json")
	s.step("observe", "compute", time.Millisecond, `{}`)
	s.step("decide", "agent", time.Second, `{"route":"verify","reason":"it is implemented"}`)
	s.step("verification", "compute", 0, `{"schema":"pi-workflows.include-entry.v1","invocation":1,"input":null}`)
	s.step("verification/plan", "agent", time.Second, `{}`)
	s.checks(1)
	s.step("verification/decide", "compute", 0, `{"route":"repair","reason":"a test fails"}`)
	s.step("verification/repair", "agent", 3*time.Second, `{}`)
	return s
}

// checks goes through the inner workflow.
func (s *story) checks(invocation int) {
	s.step("verification/check", "compute", 0, fmt.Sprintf(`{"invocation":%d,"input":null}`, invocation))
	s.step("verification/check/runTests", "action", time.Second, `null`)
	s.step("verification/check/read", "compute", 0, `{"failed":1}`)
	s.step("verification/check/__piw_exit_done", "compute", 0, `{"exit":"done","output":{"failed":1}}`)
}

func TestRunInsideAGroup(t *testing.T) {
	t.Parallel()
	s := nestedStory(t)
	s.step("verification/check", "compute", 0, `{"invocation":2,"input":null}`)
	s.enter("verification/check/runTests", "action")
	b := s.read()
	golden.Check(t, "nested-running.txt", draw(t, b, RunOptions{}))
	golden.Check(t, "nested-step-6.txt", draw(t, b, RunOptions{Step: 6}))
	golden.Check(t, "nested-folded.txt", draw(t, b, RunOptions{
		DrawOptions: DrawOptions{Folds: Folds{Set: map[string]bool{"verification": false}}},
	}))
}

func TestRunThatLeftAGroup(t *testing.T) {
	t.Parallel()
	s := nestedStory(t)
	s.checks(2)
	s.step("verification/decide", "compute", 0, `{"route":"giveUp","reason":"it stays red"}`)
	s.step("verification/giveUp", "compute", 0, `{"final":true}`)
	s.step("verification/__piw_exit_blocked", "compute", 0, `{"exit":"blocked","output":{"final":"yes"}}`)
	s.step("prepareBlocked", "compute", 0, `{}`)
	s.append(runbundle.Draft{Payload: runbundle.RunEnded{Status: runbundle.Completed, FinalOutput: json.RawMessage(`{}`)}})
	golden.Check(t, "nested-left.txt", draw(t, s.read(), RunOptions{}))
}

// What failed is what one wants to see.
func TestAGroupInWhichTheRunFailedIsOpen(t *testing.T) {
	t.Parallel()
	s := nestedStory(t)
	s.fail("verification/check", 0, "failed", "no input", nil)
	s.append(runbundle.Draft{Payload: runbundle.RunEnded{Status: runbundle.Failed, Error: "no input"}})
	text := draw(t, s.read(), RunOptions{})
	for _, part := range []string{"✗ ⊟ verification  workflow verify-change failed", "✗ ⊟ check  workflow run-checks ×2 failed", "✗ failed   0ms  no input"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// The decision that is shown is that of the present invocation, and each
// workflow around the position has its own.
func TestDecisionsOfNestedLoops(t *testing.T) {
	t.Parallel()
	s := nestedStory(t)
	r, err := NewReplay(s.read())
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[int][]string{
		1:  nil,
		2:  {"decision  decide → verify: it is implemented"},
		7:  {"decision  decide → verify: it is implemented"},
		9:  {"decision  decide → verify: it is implemented", "decision  verification/decide → repair: a test fails"},
		10: {"decision  decide → verify: it is implemented", "decision  verification/decide → repair: a test fails"},
	} {
		m, err := r.At(step)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.decisionLines(); !slices.Equal(got, want) {
			t.Errorf("step %d: %q, want %q", step, got, want)
		}
	}
}

// A record whose groups contradict each other is drawn without them.
func TestContradictoryGroupsAreForgotten(t *testing.T) {
	t.Parallel()
	const head = `{"schema":"pi-workflows.definition-snapshot.v1","name":"x","startAt":"a",`
	const mount = `"composition":{"mounts":[{"mountPath":["m"],"workflowName":"w"}]}}`
	entry := `"m":{"nodeType":"compute","mountPath":["m"],"localNodeId":"m","includeTransition":"entry"}`
	inner := `"m/b":{"nodeType":"compute","mountPath":["m"],"localNodeId":"b"}`
	for name, text := range map[string]string{
		"no entry":             head + `"nodes":{"a":{},` + inner + `},"edges":[{"from":"a","to":"m/b"}],` + mount,
		"a node of no group":   head + `"nodes":{"a":{},` + entry + `,` + inner + `},"edges":[{"from":"m","to":"m/b"}]}`,
		"an edge into a group": head + `"nodes":{"a":{},` + entry + `,` + inner + `},"edges":[{"from":"m","to":"m/b"},{"from":"a","to":"m/b"}],` + mount,
		"an entry to nowhere":  head + `"nodes":{"a":{},` + entry + `,` + inner + `},"edges":[],` + mount,
		"a start in a group":   strings.Replace(head, `"a"`, `"m/b"`, 1) + `"nodes":{"a":{},` + entry + `,` + inner + `},"edges":[{"from":"m","to":"m/b"}],` + mount,
		"no parent":            head + `"nodes":{"a":{}},"edges":[],"composition":{"mounts":[{"mountPath":["m","n"],"workflowName":"w"}]}}`,
	} {
		g, err := ReadGraph([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(g.Groups) > 0 || slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Group != "" }) {
			t.Errorf("%s: the groups are kept", name)
		}
		if drawing := g.Draw(DrawOptions{}); strings.Contains(drawing, "⊞") {
			t.Errorf("%s:\n%s", name, drawing)
		}
	}
}

// Whatever is included where: opened, every node is drawn once, no line is too
// wide, and a folded group shows nothing of what is in it.
func TestAnyGroupsAreDrawn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := &Graph{Name: "any", StartAt: "n0"}
		addScope(t, g, "", 0)
		if !g.grouped() {
			t.Fatal("the generator makes groups that contradict each other")
		}
		width := rapid.IntRange(60, 120).Draw(t, "width")
		full := compose(g)
		lines := (&sheet{DrawOptions: DrawOptions{Style: Style{Width: width}, Folds: Folds{Full: true}}, whole: full}).draw()
		seen := map[string]int{}
		for _, l := range lines {
			if w := Width(l.Text); w > width {
				t.Fatalf("line of %d cells in %d: %q", w, width, l.Text)
			}
			seen[l.Node]++
		}
		for _, n := range g.Nodes {
			if seen[n.ID] == 0 {
				t.Fatalf("%s is not drawn:\n%s", n.ID, joined(lines))
			}
		}
		for _, l := range (&sheet{whole: full}).draw() {
			if n, ok := full.index[l.Node]; ok && full.within[n] != root && g.Nodes[n].Role == Inner {
				t.Fatalf("%s is shown folded", l.Node)
			}
		}
	})
}

// addScope adds a workflow with up to two others included, three deep.
func addScope(t *rapid.T, g *Graph, path string, depth int) {
	id := func(name string) string {
		if path == "" {
			return name
		}
		return path + "/" + name
	}
	var ends, froms []string
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		name := fmt.Sprintf("n%d", i)
		g.Nodes = append(g.Nodes, Node{ID: id(name), Kind: "compute", Group: path, Local: name})
		ends, froms = append(ends, id(name)), append(froms, id(name))
	}
	for i := range rapid.IntRange(0, 2-min(depth, 2)).Draw(t, "groups") {
		inner := id(fmt.Sprintf("m%d", i))
		g.Groups = append(g.Groups, Group{Path: inner, Workflow: "w"})
		g.Nodes = append(g.Nodes, Node{ID: inner, Group: inner, Local: inner, Role: Entry})
		g.Edges = append(g.Edges, Edge{From: inner, To: inner + "/n0"})
		ends = append(ends, inner)
		for j := range rapid.IntRange(0, 2).Draw(t, "exits") {
			exit := Node{ID: fmt.Sprintf("%s/__piw_exit_e%d", inner, j), Group: inner, Local: fmt.Sprintf("e%d", j), Role: Exit}
			g.Nodes = append(g.Nodes, exit)
			froms = append(froms, exit.ID)
		}
		addScope(t, g, inner, depth+1)
	}
	for _, n := range g.Nodes {
		if n.Group == path && n.Role == Exit {
			ends = append(ends, n.ID)
		}
	}
	for _, from := range froms {
		for i, to := range rapid.SliceOfN(rapid.SampledFrom(ends), 0, 3).Draw(t, "ways") {
			g.Edges = append(g.Edges, Edge{From: from, To: to, Label: fmt.Sprintf("case%d", i), On: "$.next"})
		}
	}
}

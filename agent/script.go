package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/workflow"
)

// The bounds of a script.
const (
	// MaxScriptBytes bounds the text of a script: room for a few submissions at
	// their limit.
	MaxScriptBytes = 8 << 20
	// MaxTurns bounds the turns of one node.
	MaxTurns = 10_000
)

// ScriptSchema names the format of a script.
const ScriptSchema = "pi-workflows.agent-script.v1"

// Script is an executor whose answers stand in a file. For each agent node the
// file has a list of turns; every attempt of the node takes the next one, and
// goes on with the one after it when its answer is rejected, when it is reminded,
// and when it is resumed. A script serves one run and is safe for concurrent use.
//
// The file is a JSON object:
//
//	{
//	  "schema": "pi-workflows.agent-script.v1",
//	  "nodes": {
//	    "decide": [
//	      {"text": "I would say: {\"route\": \"go\"}"},
//	      {"submit": {"route": "go", "reason": "it is time"}, "after": "2s"}
//	    ]
//	  }
//	}
//
// Each turn does exactly one thing: "submit" hands in a JSON value and "text" a
// text as an agent would write it; "update" publishes an update with its "type",
// "key" and "data"; "silent": true ends the turn without an answer; "hold"
// interrupts the agent for a time, after which the step is delivered again;
// "fail" ends the attempt with that message. "after" waits before. Times are
// those of Go, for example "1m30s". "schema" may be left out.
type Script struct {
	clock clock.Clock
	turns map[string][]turn

	mu    sync.Mutex
	taken map[string]int
}

// turn is what the agent does next.
type turn struct {
	After  period           `json:"after"`
	Submit json.RawMessage  `json:"submit"`
	Text   *string          `json:"text"`
	Update *workflow.Update `json:"update"`
	Silent *bool            `json:"silent"`
	Hold   *period          `json:"hold"`
	Fail   *string          `json:"fail"`
}

// period is a time that is written as Go writes it.
type period time.Duration

// UnmarshalText reads a time that is not negative.
func (p *period) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%.40q is no time: write, for example, \"500ms\" or \"1m30s\"", text)
	}
	*p = period(d)
	return nil
}

// ParseScript reads a script; its delays pass on the clock. The error is a
// *canonical.Error with a JSON pointer for a text that is not of the format, a
// *ScriptError for one that means nothing, or a *limit.Error.
func ParseScript(raw []byte, c clock.Clock) (*Script, error) {
	if err := limit.Bytes("agent script", raw, MaxScriptBytes); err != nil {
		return nil, err
	}
	var file struct {
		Schema *string           `json:"schema"`
		Nodes  map[string][]turn `json:"nodes"`
	}
	if err := canonical.DecodeStrict(raw, &file); err != nil {
		return nil, fmt.Errorf("agent script: %w", err)
	}
	var p problems
	if file.Schema != nil && *file.Schema != ScriptSchema {
		p.addf("/schema", "%.80q is not known here: write %q", *file.Schema, ScriptSchema)
	}
	if len(file.Nodes) == 0 {
		p.addf("/nodes", "no node has a turn: name the agent nodes that are to answer")
	}
	for _, id := range slices.Sorted(maps.Keys(file.Nodes)) {
		p.turns(id, file.Nodes[id])
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return &Script{clock: c, turns: file.Nodes, taken: map[string]int{}}, nil
}

// Check returns a *ScriptError if the script answers for nodes that are no agent
// nodes of the workflow.
func (s *Script) Check(g *workflow.Graph) error {
	var p problems
	for _, id := range slices.Sorted(maps.Keys(s.turns)) {
		switch node, found := g.Node(id); {
		case !found:
			p.addf(at(id), "workflow %s has no such node", g.Name())
		case node.Type() != workflow.TypeAgent:
			p.addf(at(id), "node %s of workflow %s asks no agent: its type is %s", id, g.Name(), node.Type())
		}
	}
	return p.err()
}

// take returns the next turn of a node.
func (s *Script) take(node string) (turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.taken[node]
	if n == len(s.turns[node]) {
		return turn{}, &ExhaustedError{NodeID: node, Turns: n}
	}
	s.taken[node] = n + 1
	return s.turns[node][n], nil
}

// Unused returns an *UnusedError if turns are left that nobody asked for.
func (s *Script) Unused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := map[string]int{}
	for node, turns := range s.turns {
		if n := len(turns) - s.taken[node]; n > 0 {
			left[node] = n
		}
	}
	if len(left) == 0 {
		return nil
	}
	return &UnusedError{Left: left}
}

// problems collects what is wrong with a script.
type problems struct{ list []workflow.Problem }

func (p *problems) addf(pointer, format string, args ...any) {
	p.list = append(p.list, workflow.Problem{Place: pointer, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &ScriptError{Problems: p.list}
}

func (p *problems) turns(id string, turns []turn) {
	if len(turns) == 0 || len(turns) > MaxTurns {
		p.addf(at(id), "has %d turns: write 1 to %d, or leave the node out", len(turns), MaxTurns)
		return
	}
	for i, t := range turns {
		p.turn(at(id, strconv.Itoa(i)), t)
	}
}

func (p *problems) turn(pointer string, t turn) {
	var does []string
	for name, given := range map[string]bool{
		"submit": t.Submit != nil, "text": t.Text != nil, "update": t.Update != nil,
		"silent": t.Silent != nil, "hold": t.Hold != nil, "fail": t.Fail != nil,
	} {
		if given {
			does = append(does, name)
		}
	}
	slices.Sort(does)
	switch {
	case len(does) == 0:
		p.addf(pointer, "does nothing: write one of submit, text, update, silent, hold, fail")
	case len(does) > 1:
		p.addf(pointer, "does %s: write them as turns of their own", strings.Join(does, " and "))
	case t.Silent != nil && !*t.Silent:
		p.addf(pointer+"/silent", "must be true: leave it out otherwise")
	case t.Update != nil:
		if _, err := t.Update.Normalised(); err != nil {
			p.addf(pointer+"/update", "%v", err)
		}
	}
}

// at is the JSON pointer of a node, or of a place in its list.
func at(id string, tokens ...string) string {
	id = strings.NewReplacer("~", "~0", "/", "~1").Replace(id)
	return strings.Join(append([]string{"/nodes", id}, tokens...), "/")
}

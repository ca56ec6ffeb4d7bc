package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piworkflows/agent"
	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/engine"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/runbundle"
)

type script = agent.Script

func parse(text string, c clock.Clock) (*script, error) { return agent.ParseScript([]byte(text), c) }

func TestScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.script(`{
	  "schema": "pi-workflows.agent-script.v1",
	  "nodes": {
	    "answer": [{"submit": null}, {"text": "none"}, {"silent": true}, {"submit": 1}, {"text": "I counted:\n%s\n2\n%s\n"}],
	    "more": [{"text": "yes"}, {"text": "{\"route\":\"yes\",\"reason\":\"I see another\"}"}, {"submit": {"route": "no", "reason": "all gone"}}]
	  }
	}`, "```json", "```")
	if err := s.Check(w.graph(count())); err != nil {
		t.Error(err)
	}
	result := w.run(count(), s)
	want(t, result, runbundle.Completed, "", "")
	if string(result.FinalOutput) != "2" {
		t.Errorf("output %s", result.FinalOutput)
	}
	if err := s.Unused(); err != nil {
		t.Error(err)
	}
}

// The script in the documentation is one.
func TestScriptOfTheDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n```json\n")
	example, _, _ := strings.Cut(rest, "\n```\n")
	if _, err := parse(example, clock.System()); err != nil {
		t.Errorf("%v in:\n%s", err, example)
	}
}

func TestScriptEnds(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, nodes, code, message, left string }{
		{"exhausted", `"answer": [{"submit": 0}]`, "script_exhausted", "no turn left for node answer, which had 1", ""},
		{"no turns", `"more": [{"text": "no"}]`, "script_exhausted", "no turns for node answer", "1 for node more"},
		{"fails", `"answer": [{"fail": "overloaded"}, {"submit": 1}, {"submit": 2}]`, "script_failed", "fails node answer: overloaded", "2 for node answer"},
		{"silent", `"answer": [{"silent": true}, {"submit": 0}, {"silent": true}, {"silent": true}, {"submit": 1}]`,
			"agent_silent", "node answer, 2 reminders", "1 for node answer"},
		{"blocked", `"answer": [{"submit": 1}], "more": [{"text": "1"}, {"text": "2"}, {"text": "3"}, {"text": "4"}]`,
			engine.CodeDecisionBlocked, "decision more is blocked", "1 for node more"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.script(`{"nodes": {%s}}`, test.nodes)
			want(t, w.run(count(), s), runbundle.Failed, test.code, test.message)
			err := s.Unused()
			if (err == nil) != (test.left == "") || err != nil && !strings.Contains(err.Error(), test.left) {
				t.Errorf("unused: %v, want %q", err, test.left)
			}
		})
	}
}

func TestScriptPublishesUpdates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.script(`{"nodes": {"answer": [{"update": {"type": "count", "key": "left", "data": {"n": 3}}}, {"submit": 3}]}}`)
	run := w.start(single(), s)
	want(t, run.Wait(), runbundle.Completed, "", "")
	b, err := runbundle.Read(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Events {
		if e.Type == runbundle.EventUpdatePublished && strings.Contains(string(e.Payload), `{"n":3}`) {
			return
		}
	}
	t.Errorf("no update among %d events", len(b.Events))
}

// Those who look on see what the agent writes.
func TestScriptSaysItsTexts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := newWorld(t).script(`{"nodes": {"answer": [{"text": "Let me see."}, {"submit": 6}, {"text": "It is 7."}]}}`)
	submitted := 0
	_, err := s.Execute(t.Context(), engine.AgentRequest{
		Contract: engine.AgentContract{NodeID: "answer"}, Output: &out,
		Accept: func(context.Context, json.RawMessage) error {
			if submitted++; submitted < 3 {
				return &engine.SubmissionError{NodeID: "answer", Err: errNotPositive}
			}
			return nil
		},
	})
	if err != nil || out.String() != "Let me see.\nIt is 7.\n" {
		t.Errorf("said %q, %v", out.String(), err)
	}
}

// Delays and holds pass on the injected clock, and held time does not count for
// the limit of a decision.
func TestScriptTakesItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moving := newWatched()
	w.clock = moving
	s := w.script(`{"nodes": {
	  "answer": [{"submit": 1, "after": "3s"}],
	  "more": [{"hold": "1h"}, {"submit": {"route": "no", "reason": "all gone"}, "after": "14m59s"}]
	}}`)
	run := w.start(count(), s)
	for _, pause := range []time.Duration{3 * time.Second, time.Hour, 14*time.Minute + 59*time.Second} {
		moving.await(t, pause)
		moving.Advance(pause)
	}
	want(t, run.Wait(), runbundle.Completed, "", "")
	if got := moving.Now().Sub(clocktest.Epoch); got != 3*time.Second+time.Hour+14*time.Minute+59*time.Second {
		t.Errorf("the run took %s", got)
	}
}

func TestScriptIsCancelled(t *testing.T) {
	t.Parallel()
	for _, turn := range []string{`{"submit": 1, "after": "1h"}`, `{"hold": "1h"}`} {
		w := newWorld(t)
		still := newWatched()
		w.clock = still
		run := w.start(single(), w.script(`{"nodes": {"answer": [%s]}}`, turn))
		still.await(t, time.Hour)
		run.Cancel()
		want(t, run.Wait(), runbundle.Cancelled, engine.CodeCancelled, "")
	}
}

func TestScriptsThatAreNone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, pointer, message string }{
		"no JSON":        {`{"nodes":`, "/nodes", "invalid JSON"},
		"no object":      {`[]`, "", "expected an object, found an array"},
		"unknown field":  {`{"nodes":{},"answers":1}`, "/answers", "unknown field"},
		"unknown action": {`{"nodes":{"a":[{"submit":1},{"say":1}]}}`, "/nodes/a/1/say", "unknown field"},
		"no list":        {`{"nodes":{"a":{"submit":1}}}`, "/nodes/a", "expected an array, found an object"},
		"number as text": {`{"nodes":{"a":[{"text":1}]}}`, "/nodes/a/0/text", "expected a string"},
		"node twice":     {`{"nodes":{"a":[{"submit":1}],"a":[{"submit":1}]}}`, "/nodes/a", "twice"},
		"no time":        {`{"nodes":{"a":[{"hold":"soon"}]}}`, "/nodes/a/0/hold", `"soon" is no time`},
		"negative time":  {`{"nodes":{"a":[{"after":"-1s","text":"b"}]}}`, "/nodes/a/0/after", "is no time"},
		"number as time": {`{"nodes":{"a":[{"hold":5}]}}`, "/nodes/a/0/hold", "number"},
	}
	for name, test := range tests {
		_, err := parse(test.text, clock.System())
		e := wantErr[*canonical.Error](t, err)
		if e.Pointer != test.pointer || !strings.Contains(err.Error(), test.message) || !strings.HasPrefix(err.Error(), "agent script: ") {
			t.Errorf("%s: %v, want %s and %q", name, err, test.pointer, test.message)
		}
	}
	_, err := parse(`{"nodes":{"a":[{"text":"`+strings.Repeat("x", agent.MaxScriptBytes)+`"}]}}`, clock.System())
	wantErr[*limit.Error](t, err)
}

// All that means nothing is told at once.
func TestScriptsThatMeanNothing(t *testing.T) {
	t.Parallel()
	_, err := parse(`{"schema":"v2","nodes":{
	  "empty":[],"a/b":[{},{"submit":1,"text":"x"},{"silent":false},{"after":"1s"},{"text":null},{"submit":null},{"update":{"type":"X","data":1}}]
	}}`, clock.System())
	e := wantErr[*agent.ScriptError](t, err)
	var places []string
	for _, p := range e.Problems {
		places = append(places, p.Place)
		if !strings.Contains(err.Error(), p.Message) {
			t.Errorf("the message leaves out %q: %v", p.Message, err)
		}
	}
	if diff := cmp.Diff([]string{
		"/schema", "/nodes/a~1b/0", "/nodes/a~1b/1", "/nodes/a~1b/2/silent", "/nodes/a~1b/3", "/nodes/a~1b/4", "/nodes/a~1b/6/update",
		"/nodes/empty",
	}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	_, err = parse(`{}`, clock.System())
	wantErr[*agent.ScriptError](t, err)
	_, err = parse(`{"nodes":{"a":[`+strings.Repeat(`{"silent":true},`, agent.MaxTurns)+`{"silent":true}]}}`, clock.System())
	wantErr[*agent.ScriptError](t, err)
}

func TestScriptForAnotherWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.script(`{"nodes":{"answer":[{"text":"1"}],"end":[{"text":"1"}],"a/b":[{"text":"1"}]}}`)
	e := wantErr[*agent.ScriptError](t, s.Check(w.graph(count())))
	if len(e.Problems) != 2 || e.Problems[0].Place != "/nodes/a~1b" || !strings.Contains(e.Problems[1].Message, "its type is compute") {
		t.Errorf("%v", e)
	}
}

// Random scripts end as a reader would say that they end.
func TestScriptsAgainstAModel(t *testing.T) {
	t.Parallel()
	type move struct{ turn, does string }
	moves := []move{
		{`{"submit": 7}`, "right"}, {`{"submit": 0}`, "wrong"}, {`{"text": "none"}`, "wrong"},
		{`{"silent": true}`, "silent"}, {`{"hold": "0s"}`, "held"}, {`{"fail": "no"}`, "fail"},
	}
	rapid.Check(t, func(rt *rapid.T) {
		drawn := rapid.SliceOfN(rapid.SampledFrom(moves), 1, 8).Draw(rt, "moves")
		code, used := "script_exhausted", len(drawn)
		reminders := 0
		texts := make([]string, len(drawn))
		for i, m := range drawn {
			texts[i] = m.turn
			if m.does == "silent" {
				reminders++
			}
			end := map[string]string{"right": "", "fail": "script_failed", "silent": "agent_silent"}
			if ends, ok := end[m.does]; ok && (m.does != "silent" || reminders > agent.DefaultReminders) && used == len(drawn) && code == "script_exhausted" {
				code, used = ends, i+1
			}
		}
		w := newWorld(t)
		s := w.script(`{"nodes": {"answer": [%s]}}`, strings.Join(texts, ","))
		if got := w.run(single(), s); got.ErrorCode != code {
			rt.Fatalf("%s ended with %q %s, want %q", texts, got.ErrorCode, got.Error, code)
		}
		left := 0
		if unused, ok := errors.AsType[*agent.UnusedError](s.Unused()); ok {
			left = unused.Left["answer"]
		}
		if left != len(drawn)-used {
			rt.Fatalf("%s: %d turns are left, want %d", texts, left, len(drawn)-used)
		}
	})
}

// What an agent writes arrives as it wrote it, bytes that are no text included.
func TestText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var back string
		if err := json.Unmarshal(agent.Text(text), &back); err != nil || back != text {
			t.Fatalf("%q became %q, %v", text, back, err)
		}
	})
	if got := string(agent.Text("a\xff\"\n\x00")); got != "\"a\xff\\\"\\u000a\\u0000\"" {
		t.Errorf("got %q", got)
	}
}

func FuzzParseScript(f *testing.F) {
	for _, text := range []string{
		`{"nodes":{"a":[{"submit":{"b":1},"after":"1s"},{"text":"x"},{"silent":true},{"hold":"1ms"},{"fail":"x"}]}}`,
		`{"schema":"pi-workflows.agent-script.v1","nodes":{"a":[{}]}}`, `{"nodes":{"a":[{"submit":null}]}}`, `{"nodes":null}`, `[]`, `{`,
		`{"nodes":{"a":[{"after":"1e9h","text":""}]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := agent.ParseScript(raw, clock.System())
		if (s == nil) == (err == nil) {
			t.Fatalf("%q: %v, %v", raw, s, err)
		}
		if s != nil && s.Unused() == nil {
			t.Fatalf("%q: a script without turns", raw)
		}
		if err == nil {
			return
		}
		_, isScript := errors.AsType[*agent.ScriptError](err)
		_, isJSON := errors.AsType[*canonical.Error](err)
		if !isScript && !isJSON {
			t.Fatalf("%q: error of type %T", raw, fmt.Sprint(err))
		}
	})
}

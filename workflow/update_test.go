package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"piworkflows/internal/limit"
	"piworkflows/workflow"
)

func rejected(t *testing.T, err error) *workflow.UpdateError {
	t.Helper()
	var rejected *workflow.UpdateError
	if !errors.As(err, &rejected) {
		t.Fatalf("error = %v, want an UpdateError", err)
	}
	if rejected.ErrorCode() != "invalid_update" {
		t.Errorf("code %s", rejected.ErrorCode())
	}
	return rejected
}

func TestUpdateIsChecked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind, key, data string
		want            []flaw
	}{
		"plain":            {"note", "a", `{}`, nil},
		"longest names":    {"n" + strings.Repeat("-", 63), "K" + strings.Repeat("/", 127), `{}`, nil},
		"every character":  {"a0.-z", "0aZ._:/-", `{"__proto__":{"x":[null,1.5]}}`, nil},
		"no type":          {"", "a", `{}`, []flaw{{"type", "does not match"}}},
		"long type":        {"n" + strings.Repeat("o", 64), "a", `{}`, []flaw{{"type", "does not match"}}},
		"capital type":     {"Note", "a", `{}`, []flaw{{"type", "does not match"}}},
		"type with a line": {"note\n", "a", `{}`, []flaw{{"type", "does not match"}}},
		"no key":           {"note", "", `{}`, []flaw{{"key", "does not match"}}},
		"long key":         {"note", strings.Repeat("k", 129), `{}`, []flaw{{"key", "does not match"}}},
		"key begins wrong": {"note", ".a", `{}`, []flaw{{"key", "does not match"}}},
		"no data":          {"note", "a", ``, []flaw{{"data", "the text ends"}}},
		"null":             {"note", "a", `null`, []flaw{{"data", "must be a JSON object"}}},
		"list":             {"note", "a", ` [1]`, []flaw{{"data", "must be a JSON object"}}},
		"key twice":        {"note", "a", `{"x":1,"x":2}`, []flaw{{"data", "this key twice"}}},
		"number too large": {"note", "a", `{"x":1e300}`, []flaw{{"data", "/x"}}},
		"all at once":      {"N", "", `1`, []flaw{{"type", "does"}, {"key", "does"}, {"data", "object"}}},
		"progress":         {"progress", "a", `{"schema":"pi-workflows.progress.v1","status":"running"}`, nil},
		"bad progress":     {"progress", "a", `{"status":"on"}`, []flaw{{"data.schema", "must be"}, {"data.status", `"on" is none of pending,`}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Update{Type: test.kind, Key: test.key, Data: json.RawMessage(test.data)}.Normalised()
			if test.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantFlaws(t, rejected(t, err).Problems, test.want)
		})
	}
}

func TestUpdateHasItsOwnCompactData(t *testing.T) {
	t.Parallel()
	data := json.RawMessage(" {\"b\" : \"\u2028<\",\n\"a\":1.50}")
	u, err := workflow.Update{Type: "note", Key: "a", Data: data}.Normalised()
	if err != nil {
		t.Fatal(err)
	}
	copy(data, "xxxxxxxxxxx")
	if want := "{\"b\":\"\u2028<\",\"a\":1.50}"; string(u.Data) != want {
		t.Errorf("data %s, want %s", u.Data, want)
	}
}

func TestUpdateDataHasALimit(t *testing.T) {
	t.Parallel()
	u := workflow.Update{Type: "note", Key: "a"}
	u.Data = json.RawMessage(`{"x": "` + strings.Repeat("y", workflow.MaxUpdateBytes-len(`{"x":""}`)) + `"}`)
	if _, err := u.Normalised(); err != nil {
		t.Errorf("white space counts: %v", err)
	}
	u.Data = json.RawMessage(`{"x":"` + strings.Repeat("y", workflow.MaxUpdateBytes-len(`{"x":""}`)+1) + `"}`)
	var over *limit.Error
	if _, err := u.Normalised(); !errors.As(err, &over) || over.Limit != 65_536 || over.Size != 65_537 {
		t.Errorf("error %v", err)
	}
}

func TestReadUpdate(t *testing.T) {
	t.Parallel()
	u, err := workflow.ReadUpdate(json.RawMessage(`{"key":"k","type":"note","data":{"x":1}}`))
	if err != nil || u.Type != "note" || u.Key != "k" || string(u.Data) != `{"x":1}` {
		t.Errorf("%+v %v", u, err)
	}
	for _, text := range []string{`{"key":"k","type":"note","data":{},"more":1}`, `{"Key":"k"}`, `[]`, `{"type":1}`, `{`, ``} {
		_, err := workflow.ReadUpdate(json.RawMessage(text))
		if got := rejected(t, err); got.Problems[0].Place != "update" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReceiptAsJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 5, 9, 15, 0, 120_999_999, time.FixedZone("", 3600))
	text, err := json.Marshal(workflow.UpdateReceipt{UpdateID: "upd_1", Seq: 7, At: at, Type: "note", Key: "k"})
	want := `{"updateId":"upd_1","seq":7,"at":"2027-01-05T08:15:00.120Z","type":"note","key":"k"}`
	if err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
}

func TestPublishWhereNobodyTakesUpdates(t *testing.T) {
	t.Parallel()
	c := &workflow.Context{RunID: "r"}
	_, err := c.Publish(t.Context(), workflow.Update{})
	var refused *workflow.NotPublishingError
	if !errors.As(err, &refused) || refused.RunID != "r" || refused.ErrorCode() != "updates_unavailable" {
		t.Errorf("error %v", err)
	}
	c.Publisher = func(_ context.Context, u workflow.Update) (workflow.UpdateReceipt, error) {
		return workflow.UpdateReceipt{Key: u.Key}, nil
	}
	if got, err := c.Publish(t.Context(), workflow.Update{Key: "k"}); err != nil || got.Key != "k" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestCheckLineUpdates(t *testing.T) {
	t.Parallel()
	parse := func(context.Context, *workflow.Context, workflow.Line) ([]workflow.Update, error) { return nil, nil }
	tests := map[string]struct {
		updates workflow.LineUpdates
		want    []flaw
	}{
		"default streams": {workflow.LineUpdates{Parse: parse}, nil},
		"both streams":    {workflow.LineUpdates{Parse: parse, Streams: []workflow.Stream{workflow.Stderr, workflow.Stdout}}, nil},
		"no parser":       {workflow.LineUpdates{}, []flaw{{"nodes.a.updates.parse", "required"}}},
		"unknown stream":  {workflow.LineUpdates{Parse: parse, Streams: []workflow.Stream{"log"}}, []flaw{{"nodes.a.updates.streams", `"log" is neither`}}},
		"stream twice": {
			workflow.LineUpdates{Parse: parse, Streams: []workflow.Stream{workflow.Stderr, workflow.Stderr}},
			[]flaw{{"nodes.a.updates.streams", "twice"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := chain("a")
			d.Nodes = []workflow.Node{workflow.Shell{ID: "a", Exec: command, Updates: &test.updates}}
			wantCheck(t, d, test.want)
		})
	}
}

func TestLineUpdatesFrom(t *testing.T) {
	t.Parallel()
	tests := []struct {
		streams        []workflow.Stream
		stdout, stderr bool
	}{
		{nil, true, false},
		{[]workflow.Stream{workflow.Stdout}, true, false},
		{[]workflow.Stream{workflow.Stderr}, false, true},
		{[]workflow.Stream{workflow.Stderr, workflow.Stdout}, true, true},
	}
	for _, test := range tests {
		u := workflow.LineUpdates{Streams: test.streams}
		if u.From(workflow.Stdout) != test.stdout || u.From(workflow.Stderr) != test.stderr {
			t.Errorf("%v: stdout %v, stderr %v", test.streams, u.From(workflow.Stdout), u.From(workflow.Stderr))
		}
	}
}

package runbundle

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A text of a rapid test: any string, valid or not, and those that JSON escapes.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(), rapid.SampledFrom([]string{"", "a b", "<&>", "\x7f", "\xff", "\u2028", `"\`, "\t\n", "é"}),
	)
}

func anyTime() *rapid.Generator[Time] {
	return rapid.Custom(func(t *rapid.T) Time {
		return At(time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "ms")))
	})
}

func anyValue() *rapid.Generator[json.RawMessage] {
	return rapid.SampledFrom([]json.RawMessage{
		nil, raw("null"), raw("1.50"), raw(" true\n"), raw(`"a\u2028<"`), raw("{}"), raw(`[ ]`), raw(`{"b":[1,{"a":{}}],"a":"\n"}`), raw("[ 1 ]"),
	})
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// What is written by hand is what encoding/json writes.

func TestLineIsTheJSONOfTheEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := Event{
			Seq: rapid.Int64Min(1).Draw(t, "seq"), At: anyTime().Draw(t, "at"), RunID: anyText().Draw(t, "run"),
			Scope: Scope(anyText().Draw(t, "scope")), Type: EventType(anyText().Draw(t, "type")),
			NodeID: anyText().Draw(t, "node"), AttemptID: anyText().Draw(t, "attempt"),
			Payload: rapid.SampledFrom([]json.RawMessage{raw("{}"), raw(`{"a":["<",{}]}`)}).Draw(t, "payload"),
		}
		want, err := encodeJSON(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendLine([]byte("before"), e); string(got) != "before"+string(want)+"\n" {
			t.Fatalf("line %s, want %s", got, want)
		}
	})
}

func TestStepTextIsTheIndentedJSONOfTheStep(t *testing.T) {
	t.Parallel()
	receipts := []*Receipt{
		nil, {ActionType: ActionFunction},
		{ActionType: ActionShell, CommandReceipt: &CommandReceipt{Command: "<make>", Args: []string{"a\n"}, Dir: "/", ExitCode: new(1)}},
	}
	rapid.Check(t, func(t *rapid.T) {
		s := Step{
			AttemptID: anyText().Draw(t, "attempt"), NodeID: anyText().Draw(t, "node"), NodeType: anyText().Draw(t, "type"),
			Outcome: Outcome(anyText().Draw(t, "outcome")), StartedAt: anyTime().Draw(t, "start"), FinishedAt: anyTime().Draw(t, "end"),
			Prompt: anyValue().Draw(t, "prompt"), Output: anyValue().Draw(t, "output"),
			Error: anyText().Draw(t, "error"), ErrorCode: anyText().Draw(t, "code"), Action: rapid.SampledFrom(receipts).Draw(t, "action"),
			Conversation: rapid.SampledFrom([]*Conversation{nil, {FirstEntryID: "\u2028", LastEntryID: "b"}}).Draw(t, "conversation"),
		}
		want, err := encodeJSON(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendStep([]byte("before"), s)
		if err != nil {
			t.Fatal(err)
		}
		if want := "before" + stepMargin + string(indented(want, stepMargin)); string(got) != want {
			t.Fatalf("step\n%s\nwant\n%s", got, want)
		}
	})
}

// A payload that passes for plain is encoded as it is.
func TestPlainTextIsItsOwnEncodedForm(t *testing.T) {
	t.Parallel()
	a := artifacts{}
	values := []string{`{"$artifact":1}`, `{"\u0024artifact":1}`, `{"a":{"\u0024escaped":{}}}`, `{"a":"b"}`, `{"$":1}`, `"\n"`}
	plain := 0
	for _, value := range values {
		encoded, err := a.encode(raw(value))
		if err != nil {
			t.Fatal(err)
		}
		if isPlain(raw(value)) {
			plain++
			if string(encoded) != value {
				t.Errorf("%s passes for plain and is encoded as %s", value, encoded)
			}
		}
	}
	if plain != 2 {
		t.Errorf("%d of %d are plain", plain, len(values))
	}
}

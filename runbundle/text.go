package runbundle

import (
	"bytes"
	"encoding/json"
	"strconv"

	"piworkflows/clock"
	"piworkflows/internal/canonical"
)

// The two texts that every step needs are put together by hand: encoding/json
// would take as long for them as all the rest of a step. They are what it would
// write.

// appendLine adds the line of an event to a text. Its payload is compact.
func appendLine(to []byte, e Event) []byte {
	to = append(to, `{"seq":`...)
	to = strconv.AppendInt(to, e.Seq, 10)
	to = appendTime(append(to, `,"at":`...), e.At)
	to = appendText(append(to, `,"runId":`...), e.RunID)
	to = appendText(append(to, `,"scope":`...), string(e.Scope))
	to = appendText(append(to, `,"type":`...), string(e.Type))
	if e.NodeID != "" {
		to = appendText(append(to, `,"nodeId":`...), e.NodeID)
	}
	if e.AttemptID != "" {
		to = appendText(append(to, `,"attemptId":`...), e.AttemptID)
	}
	to = append(append(to, `,"payload":`...), e.Payload...)
	return append(to, '}', '\n')
}

// stepMargin is how far the steps in state.json stand to the right, fieldMargin
// how far what is in them.
const (
	stepMargin  = "    "
	fieldMargin = stepMargin + "  "
)

// appendStep adds a step as it stands in state.json to a text.
func appendStep(to []byte, s Step) ([]byte, error) {
	to = append(to, stepMargin+"{\n"...)
	to = appendText(append(to, fieldMargin+`"attemptId": `...), s.AttemptID)
	to = appendText(appendKey(to, "nodeId"), s.NodeID)
	to = appendText(appendKey(to, "nodeType"), s.NodeType)
	to = appendText(appendKey(to, "outcome"), string(s.Outcome))
	to = appendTime(appendKey(to, "startedAt"), s.StartedAt)
	to = appendTime(appendKey(to, "finishedAt"), s.FinishedAt)
	to = appendValue(appendKey(to, "prompt"), s.Prompt)
	to = appendValue(appendKey(to, "output"), s.Output)
	if s.Error != "" {
		to = appendText(appendKey(to, "error"), s.Error)
	}
	if s.ErrorCode != "" {
		to = appendText(appendKey(to, "errorCode"), s.ErrorCode)
	}
	if s.Action != nil {
		raw, err := encodeJSON(s.Action)
		if err != nil {
			return nil, err
		}
		to = appendValue(appendKey(to, "action"), raw)
	}
	if s.Conversation != nil {
		raw, err := encodeJSON(s.Conversation)
		if err != nil {
			return nil, err
		}
		to = appendValue(appendKey(to, "conversation"), raw)
	}
	return append(to, "\n"+stepMargin+"}"...), nil
}

// appendKey begins another field of a step.
func appendKey(to []byte, key string) []byte {
	to = append(to, ",\n"+fieldMargin+`"`...)
	return append(append(to, key...), `": `...)
}

// appendValue adds a value, nil as null.
func appendValue(to []byte, raw json.RawMessage) []byte {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return append(to, "null"...)
	case raw[0] == '{' || raw[0] == '[':
		return append(to, indented(raw, fieldMargin)...)
	default:
		return append(to, raw...)
	}
}

func appendTime(to []byte, t Time) []byte {
	to = t.UTC().AppendFormat(append(to, '"'), clock.Layout)
	return append(to, '"')
}

// appendText adds a string.
func appendText(to []byte, text string) []byte {
	to, plain := canonical.AppendPlain(to, text)
	if plain {
		return to
	}
	return append(to, textOf(text)...)
}

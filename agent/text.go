package agent

import (
	"encoding/json"
	"fmt"
)

// Text returns a text as a submission: a JSON string in which the engine looks
// for JSON. Bytes that are not UTF-8 stay, so that the engine rejects them
// instead of us changing what the agent wrote.
func Text(text string) json.RawMessage {
	quoted := make([]byte, 0, len(text)+2)
	quoted = append(quoted, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < ' ':
			quoted = fmt.Appendf(quoted, `\u%04x`, c)
		default:
			quoted = append(quoted, c)
		}
	}
	return append(quoted, '"')
}

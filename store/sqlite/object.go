package sqlite

import (
	"encoding/json"
	"strconv"

	"piworkflows/internal/canonical"
)

// object writes a JSON object, member by member. The payloads of events are
// written within the transaction, for which others wait, and the general encoder
// would take as long for them as SQLite.
type object struct {
	text []byte
	err  error
}

// usualObject is what most payloads need, in bytes.
const usualObject = 256

func (o *object) name(name string) {
	separator := byte(',')
	if len(o.text) == 0 {
		separator = '{'
		o.text = make([]byte, 0, usualObject)
	}
	o.text = append(o.text, separator, '"')
	o.text = append(o.text, name...)
	o.text = append(o.text, '"', ':')
}

// string adds a member; names are plain text.
func (o *object) string(name, value string) {
	o.name(name)
	var plain bool
	if o.text, plain = canonical.AppendPlain(o.text, value); plain {
		return
	}
	quoted, err := canonical.Marshal(value)
	if err != nil {
		o.err = err
	}
	o.text = append(o.text, quoted...)
}

// stringIfAny adds a member unless it is empty.
func (o *object) stringIfAny(name, value string) {
	if value != "" {
		o.string(name, value)
	}
}

func (o *object) number(name string, value int64) {
	o.name(name)
	o.text = strconv.AppendInt(o.text, value, 10)
}

func (o *object) yes(name string) {
	o.name(name)
	o.text = append(o.text, "true"...)
}

// done ends the object.
func (o *object) done() (json.RawMessage, error) {
	if len(o.text) == 0 {
		return json.RawMessage("{}"), o.err
	}
	return append(o.text, '}'), o.err
}

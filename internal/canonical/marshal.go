package canonical

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// Marshal returns the JSON text of a Go value, as encoding/json writes it with
// these differences: no character is escaped without need (HTML characters,
// U+2028 and U+2029 stay), text that is not valid UTF-8 is refused instead of
// changed, and the result has passed [Check]. A json.RawMessage at the top is
// checked and returned as it is. Every error is an [*Error].
func Marshal(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		if err := Check(raw); err != nil {
			return nil, err
		}
		return raw, nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	raw := bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	// The encoder writes this escape only where it replaced invalid bytes; but
	// a json.RawMessage inside may hold it too, hence the second look.
	if bytes.Contains(raw, []byte(`\ufffd`)) {
		if bad, found := invalidText(reflect.ValueOf(v)); found {
			return nil, &Error{Reason: fmt.Sprintf("the text %.60q is not valid UTF-8; encode it as UTF-8", bad)}
		}
	}
	raw = unescapeSeparators(raw)
	if err := Check(raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// unescapeSeparators writes U+2028 and U+2029 as themselves: the encoder always
// escapes them, for readers that take JSON for JavaScript source.
func unescapeSeparators(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u202`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		size := 1
		if raw[0] == '\\' {
			size = 2
		}
		switch {
		case bytes.HasPrefix(raw, []byte(`\u2028`)):
			out, size = append(out, "\u2028"...), 6
		case bytes.HasPrefix(raw, []byte(`\u2029`)):
			out, size = append(out, "\u2029"...), 6
		default:
			out = append(out, raw[:size]...)
		}
		raw = raw[size:]
	}
	return out
}

// invalidText finds a string that is not valid UTF-8 in a value that was
// encoded without error, and so has no cycles. Values that write their own JSON
// are left to [Check].
func invalidText(v reflect.Value) (text string, found bool) {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", false
	}
	if v.CanInterface() {
		switch own := v.Interface().(type) {
		case json.Marshaler:
			return "", false
		case encoding.TextMarshaler:
			return ownText(own)
		}
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return invalidText(v.Elem())
	case reflect.Struct:
		return anyInvalid(v.NumField(), func(i int) []reflect.Value {
			return encodedField(v, i)
		})
	case reflect.Slice, reflect.Array:
		return anyInvalid(v.Len(), func(i int) []reflect.Value { return []reflect.Value{v.Index(i)} })
	case reflect.Map:
		keys := v.MapKeys()
		return anyInvalid(len(keys), func(i int) []reflect.Value { return []reflect.Value{keys[i], v.MapIndex(keys[i])} })
	default:
		return "", false
	}
}

func ownText(value encoding.TextMarshaler) (text string, found bool) {
	raw, err := value.MarshalText()
	return string(raw), err == nil && !utf8.Valid(raw)
}

func anyInvalid(count int, parts func(int) []reflect.Value) (text string, found bool) {
	for i := range count {
		for _, part := range parts(i) {
			if text, found = invalidText(part); found {
				return text, true
			}
		}
	}
	return "", false
}

// encodedField returns the field if the encoder looks at it.
func encodedField(v reflect.Value, index int) []reflect.Value {
	field := v.Type().Field(index)
	if field.Tag.Get("json") == "-" || !field.IsExported() && !field.Anonymous {
		return nil
	}
	return []reflect.Value{v.Field(index)}
}

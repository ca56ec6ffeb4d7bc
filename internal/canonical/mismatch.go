package canonical

import (
	"bytes"
	"fmt"
	"reflect"
)

// mismatch says what a type wanted and what stands there.
func mismatch(raw []byte, into reflect.Type) (reason string) {
	return "expected " + expectation(into) + ", found " + finding(bytes.TrimSpace(raw))
}

func expectation(into reflect.Type) string {
	switch kind := into.Kind(); kind {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if into.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "an array"
	case reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Int8, reflect.Int16, reflect.Int32:
		limit := int64(1) << (into.Bits() - 1)
		return fmt.Sprintf("an integer from %d to %d", -limit, limit-1)
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return "an integer that is not negative"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return fmt.Sprintf("an integer from 0 to %d", uint64(1)<<into.Bits()-1)
	default:
		return "a value of Go type " + into.String()
	}
}

func finding(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n', 't', 'f':
		return string(raw)
	default:
		return "the number " + shorten(string(raw), 40)
	}
}

package canonical

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// DecodeStrict decodes one JSON value into what `into` points to, and refuses
// what encoding/json lets pass: text that [Check] refuses, fields that the Go
// type does not have, keys that differ from a field in case only, null for a
// type that has no null, and more elements than an array holds. Every error is
// an [*Error] that names the place; after an error `into` may be partly filled.
//
// Types with their own UnmarshalJSON or UnmarshalText decide for themselves.
func DecodeStrict(raw []byte, into any) error {
	if err := Check(raw); err != nil {
		return err
	}
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return &Error{Reason: fmt.Sprintf("cannot decode into %T; pass a pointer", into)}
	}
	if err := walk(raw, target.Type().Elem(), nil); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		if located := walk(raw, target.Type().Elem(), tryLeaf); located != nil {
			return located
		}
		return &Error{Reason: err.Error()}
	}
	return nil
}

// walk follows a checked text and a Go type together. The leaf function, if
// any, sees each value that has no parts of its own in the type.
func walk(raw []byte, into reflect.Type, leaf leafFunc) error {
	w := walker{cursor: cursor{raw: raw}, leaf: leaf}
	if err := w.value(into); err != nil {
		return err
	}
	return nil
}

// leafFunc says why a value does not fit a type; "" if it does.
type leafFunc func(raw []byte, into reflect.Type) (reason string)

type walker struct {
	cursor
	path []string
	leaf leafFunc
}

func (w *walker) value(into reflect.Type) *Error {
	w.space()
	if w.peek() == 'n' && !nullable(into) {
		return w.refuse(mismatch(w.skipValue(), into))
	}
	for into.Kind() == reflect.Pointer && !decodesItself(into) {
		into = into.Elem()
	}
	switch kind := into.Kind(); {
	case decodesItself(into):
		return w.scalar(into)
	case w.peek() == '{' && kind == reflect.Struct:
		return w.structure(fieldsOf(into))
	case w.peek() == '{' && kind == reflect.Map:
		return w.object(func(string) *Error { return w.value(into.Elem()) })
	case w.peek() == '[' && kind == reflect.Slice:
		return w.array(into.Elem(), -1)
	case w.peek() == '[' && kind == reflect.Array:
		return w.array(into.Elem(), into.Len())
	default:
		return w.scalar(into)
	}
}

func (w *walker) scalar(into reflect.Type) *Error {
	raw := w.skipValue()
	if w.leaf == nil {
		return nil
	}
	if reason := w.leaf(raw, into); reason != "" {
		return w.refuse(reason)
	}
	return nil
}

func (w *walker) structure(fields map[string]field) *Error {
	return w.object(func(key string) *Error {
		known, ok := fields[key]
		switch {
		case !ok:
			return w.refuse("unknown field; remove it or correct its name (names are case-sensitive)")
		case known.quoted:
			w.space()
			w.skipValue()
			return nil
		default:
			return w.value(known.kind)
		}
	})
}

func (w *walker) object(member func(key string) *Error) *Error {
	return w.parts('}', func(int) *Error {
		start := w.pos
		escaped := w.skipText()
		key := unquote(w.raw[start:w.pos], escaped)
		w.space()
		w.pos++ // the colon
		return w.at(key, func() *Error { return member(key) })
	})
}

// array walks the elements; limit is negative for a type that holds any number.
func (w *walker) array(element reflect.Type, limit int) *Error {
	return w.parts(']', func(index int) *Error {
		return w.at(strconv.Itoa(index), func() *Error {
			if index == limit {
				return w.refuse(fmt.Sprintf("the array has more than %d elements", limit))
			}
			return w.value(element)
		})
	})
}

// parts calls part at the start of each member or element up to the closer.
func (w *walker) parts(end byte, part func(index int) *Error) *Error {
	w.pos++
	w.space()
	for index := 0; w.peek() != end; index++ {
		if err := part(index); err != nil {
			return err
		}
		w.space()
		if w.peek() == ',' {
			w.pos++
			w.space()
		}
	}
	w.pos++
	return nil
}

func (w *walker) at(token string, inner func() *Error) *Error {
	w.path = append(w.path, token)
	err := inner()
	w.path = w.path[:len(w.path)-1]
	return err
}

func (w *walker) refuse(reason string) *Error {
	return &Error{Pointer: pointer(w.path), Reason: reason}
}

// tryLeaf decodes one value by itself, to find the one that does not fit.
func tryLeaf(raw []byte, into reflect.Type) (reason string) {
	err := json.Unmarshal(raw, reflect.New(into).Interface())
	switch {
	case err == nil:
		return ""
	case decodesItself(into):
		return err.Error()
	default:
		return mismatch(raw, into)
	}
}

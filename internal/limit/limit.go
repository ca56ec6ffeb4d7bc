// Package limit is the one error for a value that is larger than a bound.
package limit

import "fmt"

// Error says which bound a value broke. Rooms that check bounds alias it, so
// that callers find it with errors.As under the room's name.
type Error struct {
	// What names the value, for example "resource spec".
	What string
	// Limit is the largest size allowed and Size the one found, both in Unit.
	Limit, Size int
	// Unit is "bytes" or "characters" or the thing counted.
	Unit string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s is %d %s, over the limit of %d: make it smaller or store it elsewhere and refer to it",
		e.What, e.Size, e.Unit, e.Limit)
}

// ErrorCode is the stable code of a broken bound.
func (*Error) ErrorCode() string { return "limit_exceeded" }

// Bytes returns an *Error if b is longer than limit bytes.
func Bytes(what string, b []byte, limit int) error {
	if len(b) <= limit {
		return nil
	}
	return &Error{What: what, Limit: limit, Size: len(b), Unit: "bytes"}
}

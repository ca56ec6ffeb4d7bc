package secret

import "fmt"

// RefError refuses a text that is no reference to a secret. It does not have the
// text, which may be a secret.
type RefError struct{ Reason string }

func (e *RefError) Error() string {
	return "this is no reference to a secret (the text is not shown, it may be one): " + e.Reason +
		"; write env:NAME or file:PATH"
}

// ErrorCode is the stable code of the error.
func (*RefError) ErrorCode() string { return "invalid_secret_ref" }

// UnavailableError says that a secret cannot be had. It never contains a part of
// the value.
type UnavailableError struct {
	Ref Ref
	Err error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("secret %s is not available: %v", e.Ref, e.Err)
}

// Unwrap returns why.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error.
func (*UnavailableError) ErrorCode() string { return "secret_unavailable" }

// LeakError refuses a value that contains a secret and has to be stored as it is.
// Nothing was written.
type LeakError struct {
	// What names the value, for example "resource spec".
	What string
}

func (e *LeakError) Error() string {
	return fmt.Sprintf("the %s contains a secret, which would be stored: put its reference there, env:NAME or file:PATH, "+
		"and resolve it where it is used", e.What)
}

// ErrorCode is the stable code of the error.
func (*LeakError) ErrorCode() string { return "secret_in_value" }

package controller

import "runtime/debug"

// guard calls an author's function and turns a panic, or a goroutine that ends
// itself, into a *PanicError. It is a defer because only that sees both.
func guard(in string, err *error, returned *bool) {
	if *returned {
		return
	}
	*err = &PanicError{In: in, Value: recover(), Stack: debug.Stack()}
}

// call runs f, an author's function, so that a panic is an error.
func call[R any](in string, f func() (R, error)) (r R, err error) {
	returned := false
	defer guard(in, &err, &returned)
	r, err = f()
	returned = true
	return r, err
}

package controller

import "runtime/debug"

// rescue turns a panic into a *PanicError. It is to be deferred.
func rescue(in string, err *error, returned *bool) {
	if *returned {
		return
	}
	*err = &PanicError{In: in, Value: recover(), Stack: debug.Stack()}
}

// guarded runs f, an author's function, so that a panic is an error.
func guarded[R any](in string, f func() (R, error)) (r R, err error) {
	returned := false
	defer rescue(in, &err, &returned)
	r, err = f()
	returned = true
	return r, err
}

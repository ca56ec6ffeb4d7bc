// Package crashpoint marks the places where something has just become durable,
// so that a crash test can kill the process exactly there. Without a test it
// does nothing.
package crashpoint

import "sync/atomic"

var hook atomic.Pointer[func(step string)]

// Install makes every later Reached call f, until the returned function is
// called. f is called from many goroutines.
func Install(f func(step string)) (remove func()) {
	hook.Store(&f)
	return func() { hook.Store(nil) }
}

// Reached says that a step is durable: an operation of the file layer, or a
// commit of the store.
func Reached(step string) {
	if f := hook.Load(); f != nil {
		(*f)(step)
	}
}

// Package crashpoint marks the places where something has just become durable,
// so that a crash test can kill the process exactly there. Without a test it
// does nothing.
package crashpoint

import (
	"os"
	"sync"
	"sync/atomic"
)

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

// DieAt kills this process at its n-th step from now on, or never if n is zero. It
// returns a function that counts the steps.
func DieAt(n int) (reached func() int) {
	var mu sync.Mutex // one step at a time: none is reached beside the kill
	count := 0
	Install(func(string) {
		mu.Lock()
		defer mu.Unlock()
		if count++; count == n {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {} // nothing happens after the kill
		}
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

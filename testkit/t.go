package testkit

import "context"

// T is what a kit needs of a test. *testing.T, *testing.B and *rapid.T are one,
// so a program that imports this package carries no package testing.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	// Fatalf ends the test: it does not return.
	Fatalf(format string, args ...any)
	// Cleanup calls f when the test has ended, the last one first.
	Cleanup(f func())
	// Context ends with the test, before what Cleanup was given.
	Context() context.Context
}

// logger writes a log to the log of a test.
type logger struct{ t T }

// Write implements io.Writer.
func (l logger) Write(line []byte) (int, error) {
	l.t.Logf("%s", line)
	return len(line), nil
}

//go:build !windows

package cli

import (
	"os"
	"syscall"
)

// stopSignals ask the program to stop: Ctrl-C, a supervisor, a closed terminal.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

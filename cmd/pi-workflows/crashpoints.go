//go:build crashpoints

package main

import (
	"os"
	"strconv"
	"sync/atomic"

	"piworkflows/internal/crashpoint"
)

// A program that is built with the tag crashpoints kills itself at the n-th
// durable step, as a power cut would; crash tests build it. It writes the
// number of each step to the file of the second variable, so that a test knows
// how many there are.
const (
	crashAtEnv  = "PI_WORKFLOWS_CRASH_AT"
	crashLogEnv = "PI_WORKFLOWS_CRASH_LOG"
)

func init() {
	at, _ := strconv.ParseInt(os.Getenv(crashAtEnv), 10, 64)
	log, err := os.OpenFile(os.Getenv(crashLogEnv), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	var reached atomic.Int64
	crashpoint.Install(func(step string) {
		n := reached.Add(1)
		_, _ = log.WriteString(strconv.FormatInt(n, 10) + " " + step + "\n")
		if n == at {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {} // nothing happens after the kill
		}
	})
}

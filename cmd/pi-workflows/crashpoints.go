//go:build crashpoints

package main

import (
	"os"
	"strconv"
	"sync"

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
	var mu sync.Mutex // one step at a time: the log is whole up to the kill
	reached := int64(0)
	crashpoint.Install(func(step string) {
		mu.Lock()
		defer mu.Unlock()
		reached++
		_, _ = log.WriteString(strconv.FormatInt(reached, 10) + " " + step + "\n")
		if reached == at {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {} // nothing happens after the kill
		}
	})
}

package host_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain turns the test program into a process that can be killed, if asked.
func TestMain(m *testing.M) {
	if dir := os.Getenv(victimEnv); dir != "" {
		runVictim(dir)
		return
	}
	if dir := os.Getenv(travellerEnv); dir != "" {
		runTraveller(dir)
		return
	}
	if dir := os.Getenv(marketEnv); dir != "" {
		runMarket(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

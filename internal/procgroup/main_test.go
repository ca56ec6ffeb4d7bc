package procgroup

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperEnv makes the test program a process that can be killed: the owner of the
// ledger that it names.
const helperEnv = "PI_WORKFLOWS_PROCGROUP_TEST_HELPER"

func TestMain(m *testing.M) {
	if text := os.Getenv(helperEnv); text != "" {
		owner(text)
		return
	}
	goleak.VerifyTestMain(m)
}

package cli

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"piworkflows/host"
)

func TestMain(m *testing.M) {
	if os.Getenv(stubbornEnv) != "" {
		stubborn()
	}
	testscript.Main(leakFree{m}, map[string]func(){
		"pi-workflows": func() { os.Exit(program(testDefinitions())) },
		"pi-other":     func() { os.Exit(program(host.Definitions{})) },
		"pi-broken":    func() { os.Exit(program(brokenDefinitions())) },
		"pi-ringing":   func() { os.Exit(program(ringingDefinitions())) },
	})
}

// leakFree runs the tests and then looks for goroutines that they left.
type leakFree struct{ *testing.M }

func (l leakFree) Run() int {
	code := l.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, errors.Join(errors.New("goroutines were left"), err))
		return 1
	}
	return code
}

// program is a main function around definitions.
func program(d host.Definitions) int {
	return Main(Options{Definitions: d, Version: "v1.2.3", Actor: "ada@engine"})
}

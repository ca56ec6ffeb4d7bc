package testproc_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"piworkflows/internal/testproc"
)

const roleEnv = "TESTPROC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "listen":
		listen()
	case "silent":
		fmt.Print("no whole line")
	default:
		os.Exit(m.Run())
	}
}

// listen says its address, and takes connections until it is killed.
func listen() {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	for {
		_, _ = l.Accept()
	}
}

// Its port is closed as soon as Kill has returned.
func TestNothingRunsAfterAKill(t *testing.T) {
	t.Parallel()
	p, err := testproc.Start(t.Context(), roleEnv, "listen")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if p.PID() == os.Getpid() {
		t.Error("it is the process of the test")
	}
	for _, alive := range []bool{true, false} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Said)
		if err == nil {
			_ = c.Close()
		}
		if (err == nil) != alive {
			t.Errorf("alive %t, and connecting to it: %v", alive, err)
		}
		p.Kill() // twice
	}
}

func TestAProcessThatSaysNothing(t *testing.T) {
	t.Parallel()
	p, err := testproc.Start(t.Context(), roleEnv, "silent")
	if err == nil || !strings.Contains(err.Error(), `"no whole line"`) {
		t.Errorf("Start = %v, %v", p, err)
	}
}

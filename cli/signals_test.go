package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// stubbornEnv makes the test binary a program that does not stop when it is
// asked to.
const stubbornEnv = "PI_WORKFLOWS_TEST_STUBBORN"

func stubborn() {
	ctx, _ := interruptible(context.Background())
	fmt.Println("at work")
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	select {}
}

func TestTheFirstSignalAsksAndTheSecondEnds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no process can send an interrupt to another one")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), stubbornEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"at work", ErrInterrupted.Error()} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("line %q, want %q", lines.Text(), want)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	ended, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	if !ok || ended.ExitCode() != exitInterrupted {
		t.Errorf("it ended with %v, want exit code %d", ended, exitInterrupted)
	}
}

func TestStopReleasesTheSignals(t *testing.T) {
	t.Parallel()
	ctx, stop := interruptible(t.Context())
	stop()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		t.Errorf("cause = %v", cause)
	}
}

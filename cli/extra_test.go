package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
)

// extra is a program with a command of its own.
func extra(run func(a *App, cmd *cobra.Command) error) (*App, *strings.Builder, *strings.Builder) {
	var out, errs strings.Builder
	return New(Options{
		Definitions: testDefinitions(), Stdout: &out, Stderr: &errs,
		ExtraCommands: func(a *App) []*cobra.Command {
			return []*cobra.Command{{
				Use: "extra", Args: cobra.NoArgs,
				RunE: func(cmd *cobra.Command, _ []string) error { return run(a, cmd) },
			}}
		},
	}), &out, &errs
}

func TestExtraCommandsShareFlagsAndErrors(t *testing.T) {
	t.Parallel()
	a, _, errs := extra(func(a *App, _ *cobra.Command) error {
		if a.Places().Project != "somewhere" || !a.JSON() || a.Live() || a.Interactive() {
			return fmt.Errorf("flags: %+v", a.flags)
		}
		return &controller.ConflictError{}
	})
	if code := a.Execute(t.Context(), []string{"extra", "--project", "somewhere", "-o", "json"}); code != exitConflict {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if !strings.Contains(errs.String(), `{"error":{"code":"version_conflict"`) {
		t.Errorf("stderr is %s", errs)
	}
	if code := a.Execute(t.Context(), []string{"extra", "argument"}); code != exitUsage {
		t.Errorf("exit code of a wrong argument is %d", code)
	}
}

func TestACommandRunsAnother(t *testing.T) {
	t.Parallel()
	a, out, errs := extra(func(a *App, cmd *cobra.Command) error {
		return errors.Join(a.Run(cmd.Context(), "graph", "greet", "--format", "mermaid"), a.Run(cmd.Context(), "graph", "nothing"))
	})
	if code := a.Execute(t.Context(), []string{"extra", "--no-color"}); code != exitNotFound {
		t.Errorf("exit code %d", code)
	}
	if !strings.HasPrefix(out.String(), "flowchart TD\n") {
		t.Errorf("stdout is %q", out)
	}
	if diff := cmp.Diff("pi-workflows: no workflow is named \"nothing\": known are build, greet, survey\n", errs.String()); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

func TestDefaultsAreThoseOfTheProcess(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	if a.Clock() == nil || a.Stdout() == nil || a.Stderr() == nil || a.o.Version != "dev" {
		t.Errorf("options are %+v", a.o)
	}
	if name, machine, ok := strings.Cut(a.actor(), "@"); !ok || name == "" || machine == "" {
		t.Errorf("the actor is %q", a.actor())
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAResultThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	a := New(Options{Definitions: testDefinitions(), Stdout: failingWriter{}, Stderr: &errs})
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}, {"graph", "greet"}} {
		errs.Reset()
		if code := a.Execute(t.Context(), args); code != exitFailed || !strings.Contains(errs.String(), "write the result") {
			t.Errorf("%v: exit code %d: %s", args, code, &errs)
		}
	}
}

// What a stop cut off is told; another error after a signal comes of the signal.
func TestASignalHidesNothingThatWasCutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{fmt.Errorf("run: %w", &host.DrainError{After: time.Second}), exitFailed, `"code":"drain_timeout"`},
		{&controller.StopError{Abandoned: 2}, exitFailed, `stopped with 2 passes`},
		{&controller.NotFoundError{}, exitInterrupted, "pi-workflows: interrupted\n"},
	} {
		a, _, errs := extra(func(*App, *cobra.Command) error { return c.err })
		ctx, signal := context.WithCancelCause(t.Context())
		signal(ErrInterrupted)
		if code := a.Execute(ctx, []string{"extra", "-o", "json"}); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: exit code %d, want %d; stderr is %s", c.err, code, c.code, errs)
		}
	}
}

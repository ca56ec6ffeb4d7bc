//go:build !windows

package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"piworkflows/controller"
	"piworkflows/host"
)

// sessionEnv makes the process of a market a session beside its host.
const sessionEnv = "PI_WORKFLOWS_HOST_TEST_SESSION"

// teller is a log that tells of whom a session waits for.
type teller struct {
	slog.Handler

	told func(line string)
}

func (t teller) Enabled(context.Context, slog.Level) bool { return true }

func (t teller) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "holder" {
			t.told("waits " + a.Value.String())
		}
		return true
	})
	return nil
}

// runSession works beside a host, and runs an errand of its own for each line that it
// is given.
func (m market) runSession(o host.Options, w *world) error {
	o.Logger = slog.New(teller{slog.DiscardHandler, m.told})
	h, err := host.Join(context.Background(), o, w.store)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	for said := bufio.NewScanner(os.Stdin); said.Scan(); {
		result, err := host.RunWorkflow(ctx, o, w.store, "errand", nil)
		m.told("ran " + string(result.Status))
		if err != nil {
			break
		}
	}
	stop()
	return errors.Join(<-ended, h.Close())
}

// A session beside a host sees who runs the workers, runs its own runs meanwhile, and
// takes over once the host is gone, whether that was killed or stopped.
func TestASessionBesideAHostTakesOver(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := market{dir: t.TempDir(), told: func(string) {}}
			w, err := m.load()
			must(t, err)
			defer w.store.Close()
			must(t, os.WriteFile(m.file("open"), nil, 0o600)) // so that an errand ends
			pass := func(key string, by *marketHost) {
				t.Helper()
				ref := controller.Ref{Controller: "charge", Key: key}
				w.request(t, ref)
				by.hears(t, map[string]int{"passed": 1})
				w.mustBePassed(t, ref, by)
			}

			first := m.start(t)
			pass("one", first)
			session := m.start(t, sessionEnv+"=1")
			if holder := session.says(t, "waits"); !slices.Contains(strings.Fields(holder), strconv.Itoa(first.Process.Pid)) {
				t.Errorf("it waits for %q, want process %d", holder, first.Process.Pid)
			}
			_, err = io.WriteString(session.in, "\n")
			must(t, err)
			if status := session.says(t, "ran"); status != "completed" {
				t.Errorf("its errand is %s", status)
			}
			pass("two", first)

			must(t, first.Process.Signal(signal))
			if err := first.Wait(); (err == nil) != (signal == syscall.SIGTERM) {
				t.Errorf("the host ended with %v", err)
			}
			pass("three", session)
			must(t, session.in.Close())
			must(t, session.Wait())
		})
	}
}

// says returns the rest of the next line that begins with a word.
func (h *marketHost) says(t *testing.T, word string) string {
	t.Helper()
	for h.lines.Scan() {
		if begin, rest, _ := strings.Cut(h.lines.Text(), " "); begin == word {
			return rest
		}
	}
	t.Fatalf("the process ended, and %q was not said", word)
	return ""
}

// mustBePassed waits until a resource is ready, and finds who made it so.
func (w *world) mustBePassed(t *testing.T, ref controller.Ref, by *marketHost) {
	t.Helper()
	var after controller.Cursor
	for {
		r, err := w.store.Get(t.Context(), ref)
		must(t, err)
		if controller.ReadinessOf(r).Status == controller.True {
			var who string
			must(t, json.Unmarshal(r.Status.ControllerStatus, &who))
			if who != "process "+strconv.Itoa(by.Process.Pid) {
				t.Errorf("%s was passed by %s, want process %d", ref, who, by.Process.Pid)
			}
			return
		}
		changes, err := w.store.Changes(t.Context(), after, controller.ChangeFilter{})
		must(t, err)
		after = changes.Next
	}
}

//go:build !windows

package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
	"piworkflows/workflow"
)

// A market is a project for hosts that are processes of their own: "charge" makes
// one entry in a ledger for each key, "job" asks for a run that is a command, and
// "slow" waits in the middle of its pass for a word from outside. Its host tells on
// stdout what it does.

const (
	// marketEnv names the folder of a market that a process is the host of.
	marketEnv = "PI_WORKFLOWS_HOST_TEST_MARKET"
	// leaseEnv is the lease of that host, onceEnv lets it end when nothing is left.
	leaseEnv = "PI_WORKFLOWS_HOST_TEST_LEASE"
	onceEnv  = "PI_WORKFLOWS_HOST_TEST_ONCE"
)

type market struct {
	dir string
	who string
	// told writes a line; word blocks until somebody says something.
	told func(line string)
	word func()
}

// file is one of those of the market: the ledger of effects, "stall", which keeps
// some of them from answering, "open", which lets commands end, and the numbers of
// the commands that began and the runs that ended.
func (m market) file(name string) string { return filepath.Join(m.dir, name) }

// define is a controller that makes one entry for each key, after something.
func (m market) define(name string, before func()) *controller.Definition {
	return &controller.Definition{Name: name, Reconcile: func(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		key := r.Metadata.Key
		before()
		_, err := p.Effects.Ensure(ctx, controller.Effect{
			Key: "entry", Kind: "entry", Request: key,
			Observe: func(context.Context) (controller.Observation, error) { return m.observe(key) },
			Apply:   func(ctx context.Context, _ string) (controller.Application, error) { return m.apply(ctx, key) },
		})
		m.told(fmt.Sprintf("passed %s %v", key, err == nil))
		if err != nil {
			return controller.RawResult{}, err
		}
		status := json.RawMessage(strconv.Quote(m.who))
		return controller.Settled(controller.Patch[json.RawMessage]{
			ControllerStatus: &status, Conditions: []controller.Condition{controller.ConditionTrue(controller.Ready, "Charged", "")},
		}), nil
	}}
}

func (m market) observe(key string) (controller.Observation, error) {
	entries, err := lines(m.file("ledger"))
	if slices.Contains(entries, key) {
		return controller.Observation{State: controller.ObservedApplied}, err
	}
	return controller.Observation{State: controller.ObservedNotApplied}, err
}

// apply makes the entry; the answer of every other one is lost while there is a stall.
func (m market) apply(ctx context.Context, key string) (controller.Application, error) {
	if err := note(m.file("ledger"), key); err != nil {
		return controller.Application{}, err
	}
	if strings.HasSuffix(key, "1") && exists(m.file("stall")) {
		m.told("stalled " + key)
		<-ctx.Done()
		return controller.Application{}, context.Cause(ctx)
	}
	return controller.Application{State: controller.EffectApplied}, nil
}

// command notes itself, waits until the market is open, and notes its end. It has a
// companion that would outlive it.
func (m market) command(name string) *workflow.Definition {
	return &workflow.Definition{
		Name: name, Revision: "1", StartAt: "do",
		Nodes: []workflow.Node{workflow.Shell{ID: "do", Exec: func(_ context.Context, c *workflow.Context) (workflow.Command, error) {
			m.told("runs " + c.RunID)
			return workflow.Command{Command: "/bin/sh", Dir: m.dir, Args: []string{"-c",
				`sleep 600 & echo $$ >> pids; echo $! >> pids; while [ ! -e open ]; do sleep 0.05; done; echo "$0" >> ends`, c.RunID}}, nil
		}}},
	}
}

func note(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

func lines(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}

// load opens the project of the market.
func (m market) load() (*world, error) {
	w, err := load(m.dir, newWork(), clock.System())
	if err != nil {
		return nil, err
	}
	w.catalog, err = host.Definitions{
		Controllers: []*controller.Definition{
			controller.Define("job", jobs{}), m.define("charge", func() {}),
			m.define("slow", func() {
				m.told("in the middle")
				m.word()
			}),
		},
		Workflows: []*workflow.Definition{m.command("work"), m.command("errand")},
	}.Compile()
	return w, err
}

// runMarket is the host process.
func runMarket(dir string) {
	var mu sync.Mutex
	said := bufio.NewReader(os.Stdin)
	m := market{
		dir: dir, who: "process " + strconv.Itoa(os.Getpid()),
		told: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Println(line)
		},
		word: func() { _, _ = said.ReadString('\n') },
	}
	w, err := m.load()
	if err != nil {
		panic(err)
	}
	o := w.options()
	o.Workers = 30
	o.Lease, _ = time.ParseDuration(os.Getenv(leaseEnv))
	run := m.runHost
	if os.Getenv(sessionEnv) != "" {
		run = m.runSession
	}
	if err := errors.Join(run(o, w), w.store.Close()); err != nil {
		panic(err)
	}
}

func (market) runHost(o host.Options, w *world) error {
	h, err := host.New(context.Background(), o, w.store)
	if err != nil {
		return err
	}
	if os.Getenv(onceEnv) != "" {
		_, err = h.RunOnce(context.Background())
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err = h.Run(ctx)
	}
	return errors.Join(err, h.Close())
}

// marketHost is a host process of a market.
type marketHost struct {
	*exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	lines *bufio.Scanner
	began time.Time
}

func (m market) start(t *testing.T, env ...string) *marketHost {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	h := &marketHost{Cmd: exec.CommandContext(ctx, os.Args[0])}
	h.Env = append(append(os.Environ(), marketEnv+"="+m.dir), env...)
	h.Stderr = os.Stderr
	in, err := h.StdinPipe()
	out, err2 := h.StdoutPipe()
	h.in, h.out, h.lines, h.began = in, out, bufio.NewScanner(out), time.Now()
	if err := errors.Join(err, err2, h.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.Process.Kill()
		_ = h.Wait()
	})
	return h
}

// hears reads until each of the beginnings was said so often.
func (h *marketHost) hears(t *testing.T, want map[string]int) {
	t.Helper()
	for len(want) > 0 {
		if !h.lines.Scan() {
			t.Fatalf("the host ended, and %v was not said", want)
		}
		begin, _, _ := strings.Cut(h.lines.Text(), " ")
		if want[begin]--; want[begin] <= 0 {
			delete(want, begin)
		}
	}
}

// A host that is killed in the middle of three runs and twenty passes: the next one
// ends every run once, makes every effect once, leaves no process behind, and goes
// on within two seconds.
func TestEverythingGoesOnAfterAHostWasKilled(t *testing.T) {
	t.Parallel()
	m := market{dir: t.TempDir(), told: func(string) {}}
	w, err := m.load()
	if err != nil {
		t.Fatal(err)
	}
	defer w.store.Close()
	keys := make([]string, 20)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d-%d", i, i%2)
		w.request(t, controller.Ref{Controller: "charge", Key: keys[i]})
	}
	w.put(t, "one", "x")
	w.put(t, "two", "x")
	errand, err := host.QueueWorkflow(t.Context(), w.options(), w.store, "errand", nil)
	if err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(m.file("stall"), nil, 0o600))
	first := m.start(t)
	first.hears(t, map[string]int{"runs": 3, "stalled": 10, "passed": 10})
	awaitLines(t, m.file("pids"), 6)
	must(t, first.Process.Kill())
	_ = first.Wait()

	must(t, os.Remove(m.file("stall")))
	second := m.start(t, onceEnv+"=1")
	second.hears(t, map[string]int{"passed": 1})
	if took := time.Since(second.began); took > 2*time.Second {
		t.Errorf("the next host went on after %s", took)
	}
	must(t, os.WriteFile(m.file("open"), nil, 0o600)) // for what was left, too, if it were there
	_, err = io.Copy(io.Discard, second.out)          // until it has ended
	must(t, errors.Join(err, second.Wait()))

	entries, err := lines(m.file("ledger"))
	must(t, err)
	slices.Sort(entries)
	slices.Sort(keys)
	if !slices.Equal(entries, keys) {
		t.Errorf("the ledger has %v, want each of %v once", entries, keys)
	}
	for _, key := range keys {
		w.mustBeReady(t, controller.Ref{Controller: "charge", Key: key})
	}
	ends, err := lines(m.file("ends"))
	must(t, err)
	runs := []string{errand}
	for _, key := range []string{"one", "two"} {
		w.mustBeReady(t, job(key))
		children, err := w.store.Children(t.Context(), job(key))
		if err != nil || len(children) != 1 || children[0].Attempt != 2 {
			t.Fatalf("children of %s: %+v, %v", key, children, err)
		}
		runs = append(runs, children[0].RunID)
	}
	slices.Sort(ends)
	slices.Sort(runs)
	if !slices.Equal(ends, runs) {
		t.Errorf("ended %v, want each of %v once", ends, runs)
	}
	w.mustBe(t, errand, runqueue.Done, runbundle.Completed)
	m.mustBeGone(t)
}

// request makes a resource.
func (w *world) request(t *testing.T, ref controller.Ref) {
	t.Helper()
	_, err := w.store.Put(t.Context(), controller.Put{Ref: ref, Spec: []byte(`{}`), InitialStatus: []byte(`null`)})
	must(t, err)
}

func (w *world) mustBeReady(t *testing.T, ref controller.Ref) {
	t.Helper()
	r, err := w.store.Get(t.Context(), ref)
	must(t, err)
	if ready := controller.ReadinessOf(r); ready.Status != controller.True {
		t.Errorf("%s: %+v", ref, ready)
	}
}

// awaitLines waits until commands have noted something: they tell nobody else.
func awaitLines(t *testing.T, file string, n int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond) //nolint:forbidigo // see above
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if got, err := lines(file); err == nil && len(got) >= n {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s has fewer than %d lines", file, n)
		}
	}
}

// mustBeGone finds no process of a command of the market.
func (m market) mustBeGone(t *testing.T) {
	t.Helper()
	pids, err := lines(m.file("pids"))
	must(t, err)
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		must(t, err)
		if syscall.Kill(pid, 0) == nil && !isZombie(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if notes, err := os.ReadDir(filepath.Join(m.dir, "store", "controller.sqlite.processes")); err != nil || len(notes) != 0 {
		t.Errorf("notes of commands %v, %v", notes, err)
	}
}

// isZombie reports whether a process has ended and nobody has asked how.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// stop stops a host, but not while it writes: then nobody else can.
func (w *world) stop(t *testing.T, h *marketHost) {
	t.Helper()
	for range 10 {
		must(t, h.Process.Signal(syscall.SIGSTOP))
		_, err := w.store.ClaimWorkers(t.Context(), "probe", time.Millisecond)
		if err == nil {
			must(t, w.store.ReleaseWorkers(t.Context(), "probe"))
			return
		}
		wantError[*sqlite.BusyError](t, err)
		must(t, h.Process.Signal(syscall.SIGCONT))
	}
	t.Fatal("the host is always writing")
}

// A host that is stopped for longer than its lease, and goes on then, writes
// nothing of what it was about to.
func TestAHostThatWasStoppedWritesNothingStale(t *testing.T) {
	t.Parallel()
	m := market{dir: t.TempDir(), who: "the other", told: func(string) {}, word: func() {}}
	w, err := m.load()
	if err != nil {
		t.Fatal(err)
	}
	defer w.store.Close()
	ref := controller.Ref{Controller: "slow", Key: "k"}
	w.request(t, ref)
	old := m.start(t, leaseEnv+"=1s")
	old.hears(t, map[string]int{"in": 1})
	w.stop(t, old)

	session, err := host.Join(t.Context(), w.options(), w.store)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = session.RunOnce(ctx) // it waits for the lease of who is stopped
	must(t, errors.Join(err, session.Close()))
	w.mustBeReady(t, ref)
	before, err := w.store.Get(t.Context(), ref)
	must(t, err)

	must(t, old.Process.Signal(syscall.SIGCONT))
	_, err = io.WriteString(old.in, "go on\n")
	must(t, err)
	said := ""
	for !strings.HasPrefix(said, "passed") && old.lines.Scan() {
		said = old.lines.Text()
	}
	if said != "passed k false" {
		t.Errorf("the old host says %q, want its effect to be refused", said)
	}
	must(t, old.Process.Kill())
	_ = old.Wait()
	after, err := w.store.Get(t.Context(), ref)
	must(t, err)
	if after.Metadata.ResourceVersion != before.Metadata.ResourceVersion || string(after.Status.ControllerStatus) != `"the other"` {
		t.Errorf("the old host wrote %+v after %+v", after, before)
	}
	if entries, err := lines(m.file("ledger")); err != nil || len(entries) != 1 {
		t.Errorf("the ledger has %v, %v", entries, err)
	}
}

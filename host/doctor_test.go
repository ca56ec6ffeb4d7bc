package host_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/diskspace"
	"piworkflows/internal/procgroup"
	"piworkflows/lease"
	"piworkflows/runbundle/spool"
	"piworkflows/runqueue"
)

// goodMachine has all that a project needs.
func goodMachine() host.Machine {
	return host.Machine{
		Program: func(context.Context, string) (string, error) { return "99.1.2", nil },
		Free:    func(string) (int64, error) { return 5 << 30, nil },
		Watches: func() (int, bool) { return 1 << 20, true },
	}
}

func (w *world) doctorOptions() host.DoctorOptions {
	return host.DoctorOptions{Paths: w.paths, Catalog: w.catalog, Clock: w.clock, Machine: goodMachine()}
}

func wantFinding(t *testing.T, o host.DoctorOptions, code host.FindingCode, s host.Severity, text string) {
	t.Helper()
	list := host.Diagnose(t.Context(), o)
	for _, f := range list {
		if f.Code == code && f.Severity == s && strings.Contains(f.Message, text) {
			if f.Wrong() && f.Run == "" && f.Do == "" {
				t.Errorf("nothing mends %+v", f)
			}
			return
		}
	}
	t.Errorf("no %s %s with %q in %+v", s, code, text, list)
}

// Each trouble is found, and a project without any has no warning.
func TestDoctor(t *testing.T) {
	t.Parallel()
	for code, test := range doctorCases() {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newWork())
			if found := host.Wrong(host.Diagnose(t.Context(), w.doctorOptions())); len(found) != 0 {
				t.Fatalf("before anything is wrong: %+v", found)
			}
			o := w.doctorOptions()
			test.make(t, w, &o)
			wantFinding(t, o, code, test.severity, test.text)
		})
	}
	for _, code := range host.FindingCodes() {
		if _, ok := doctorCases()[code]; !ok && code != host.FindingLogLarge { // a log of 256 MiB
			t.Errorf("no case for %s", code)
		}
	}
}

type doctorCase struct {
	severity host.Severity
	text     string
	make     func(t *testing.T, w *world, o *host.DoctorOptions)
}

func doctorCases() map[host.FindingCode]doctorCase {
	cases := map[host.FindingCode]doctorCase{
		host.FindingDefinition: {host.SeverityError, "no Reconcile", func(t *testing.T, _ *world, o *host.DoctorOptions) {
			t.Helper()
			o.Catalog = host.Load(t.Context(), host.Definitions{Controllers: []*controller.Definition{{Name: "job"}}}.BuiltIn())
		}},
		host.FindingDefinitions: {host.SeverityOK, "1 controller and 1 workflow", untouched},
		host.FindingNotLoaded: {host.SeverityWarning, "gone (1)", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			_, err := w.store.Put(t.Context(), controller.Put{Ref: controller.Ref{Controller: "gone", Key: "a"}, Spec: []byte("{}")})
			must(t, err)
		}},
		host.FindingProgram: {host.SeverityOK, "git is of version 99.1.2", untouched},
		host.FindingProgramMissing: {host.SeverityNote, "node was not found", func(_ *testing.T, _ *world, o *host.DoctorOptions) {
			o.Machine.Program = func(_ context.Context, name string) (string, error) {
				return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
			}
		}},
		host.FindingProgramOld: {host.SeverityWarning, "git is of version 2.37.9", func(_ *testing.T, _ *world, o *host.DoctorOptions) {
			o.Machine.Program = func(context.Context, string) (string, error) { return "2.37.9", nil }
		}},
		host.FindingSpace: {host.SeverityOK, "5120 MiB left", untouched},
		host.FindingSpaceLow: {host.SeverityError, "50 MiB left", func(_ *testing.T, _ *world, o *host.DoctorOptions) {
			o.Machine.Free = func(string) (int64, error) { return 50 << 20, nil }
		}},
		host.FindingWatchLimit: {host.SeverityOK, "1048576", untouched},
		host.FindingWatchLimitLow: {host.SeverityNote, "8192", func(_ *testing.T, _ *world, o *host.DoctorOptions) {
			o.Machine.Watches = func() (int, bool) { return 8192, true }
		}},
		host.FindingCommandsLeft: {host.SeverityWarning, "1 command may go on", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			leaveNote(t, w.paths.Store+".processes")
		}},
		host.FindingOutputLeft: {host.SeverityNote, "what 1 killed run printed", func(t *testing.T, w *world, o *host.DoctorOptions) {
			t.Helper()
			o.Spool = filepath.Join(w.paths.Project, "spool")
			mustMkdir(t, filepath.Join(o.Spool, "20270105T081500Z-dead-0a1b2c3d"))
			live := spool.New(spool.Options{Dir: o.Spool, RunID: "live"})
			live.Attempt("n", "a").Write(spool.Stdout, []byte("x"))
			t.Cleanup(live.Remove)
		}},
		host.FindingRunsMissing: {host.SeverityNote, "no folder", untouched},
		host.FindingRuns: {host.SeverityOK, "holds 0 runs", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			mustMkdir(t, w.paths.Runs)
		}},
		host.FindingRunsUnusable: {host.SeverityError, "not a directory", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			must(t, os.WriteFile(w.paths.Runs, nil, 0o600))
		}},
	}
	maps.Copy(cases, storeCases())
	maps.Copy(cases, projectCases())
	return cases
}

func untouched(*testing.T, *world, *host.DoctorOptions) {}

func storeCases() map[host.FindingCode]doctorCase {
	return map[host.FindingCode]doctorCase{
		host.FindingStoreMissing: {host.SeverityNote, "no store", func(_ *testing.T, _ *world, o *host.DoctorOptions) {
			o.Store += "-elsewhere"
		}},
		host.FindingStoreUnusable: {host.SeverityError, "not a store of this program", func(t *testing.T, _ *world, o *host.DoctorOptions) {
			t.Helper()
			o.Store += "-elsewhere"
			must(t, os.WriteFile(o.Store, []byte("mine"), 0o600))
		}},
		host.FindingStoreSound: {host.SeverityOK, "is sound", untouched},
		host.FindingStoreDamaged: {host.SeverityError, "is damaged", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			damage(t, w)
		}},
		host.FindingOwners: {host.SeverityOK, "open for writing: process ", untouched},
		host.FindingLeftover: {host.SeverityWarning, "copy.tmp", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			must(t, os.WriteFile(w.paths.Store+".copy.tmp", nil, 0o600))
		}},
		host.FindingKept: {host.SeverityNote, "before-restore-monday", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			must(t, os.WriteFile(w.paths.Store+".before-restore-monday", nil, 0o600))
		}},
	}
}

// damage closes a store and ruins the second half of it.
func damage(t *testing.T, w *world) {
	t.Helper()
	for i := range 500 { // their pages are more than those that are read to open it
		w.put(t, strings.Repeat("k", 150)+strconv.Itoa(i), "quick")
	}
	must(t, w.store.Close())
	text, err := os.ReadFile(w.paths.Store)
	must(t, err)
	const page = 4096
	for at := page * (len(text) / page / 2); at < len(text)-page; at += page {
		copy(text[at:], strings.Repeat("\x0d\x00\x00\xff\xff", 20))
	}
	must(t, os.WriteFile(w.paths.Store, text, 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func projectCases() map[host.FindingCode]doctorCase {
	source := func(state controller.SourceState) func(*testing.T, *world, *host.DoctorOptions) {
		return func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			w.host(t)
			must(t, w.store.RecordSources(t.Context(), []controller.SourceStatus{{
				SourceInfo: controller.SourceInfo{Controller: "job", Source: "tree"}, State: state, Reason: "no watches", LastError: "gone",
			}}))
		}
	}
	return map[host.FindingCode]doctorCase{
		host.FindingFrozen: {host.SeverityNote, "frozen by ada: incident", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			_, err := w.store.Freeze(t.Context(), "ada", "incident")
			must(t, err)
		}},
		host.FindingRestored: {host.SeverityNote, "monday", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			must(t, w.store.MarkRestored(t.Context(), controller.Restoration{Actor: "ada", From: "monday"}))
		}},
		host.FindingHostRuns: {host.SeverityOK, "process ", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			w.host(t)
		}},
		host.FindingWorkers: {host.SeverityOK, "the workers are run by process ", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			_, err := w.store.ClaimWorkers(t.Context(), "token", lease.DefaultDuration)
			must(t, err)
		}},
		host.FindingNoHost: {host.SeverityNote, "nothing is due", untouched},
		host.FindingWorkWaits: {host.SeverityWarning, "1 piece of work is due", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			w.put(t, "a", "quick")
		}},
		host.FindingInDoubt: {host.SeverityWarning, "ring of job/a", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			w.put(t, "a", "quick")
			c, err := w.store.Claim(t.Context(), []string{"job"}, lease.DefaultDuration)
			must(t, err)
			_, _, err = w.store.ReserveEffect(t.Context(), c, controller.EffectReservation{
				Key: "ring", Kind: "bell", Generation: 1, RequestFingerprint: strings.Repeat("0", 64),
			})
			must(t, err)
			must(t, w.store.MarkRestored(t.Context(), controller.Restoration{}))
		}},
		host.FindingRunUnrecorded: {host.SeverityWarning, "run lost is parked", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			w.park(t, "lost")
		}},
		host.FindingBundleCutOff: {host.SeverityNote, "half was being made", func(t *testing.T, w *world, _ *host.DoctorOptions) {
			t.Helper()
			w.park(t, "half")
			mustMkdir(t, w.dir("half"))
		}},
		host.FindingRunInterrupted: {host.SeverityNote, "1 run was cut off", func(t *testing.T, _ *world, o *host.DoctorOptions) {
			t.Helper()
			dir := t.TempDir()
			killProcess(t, travellerEnv+"="+dir)
			o.Paths = openWorld(t, dir, newWork()).paths
		}},
		host.FindingOwnerDead: {host.SeverityNote, "died", func(t *testing.T, w *world, o *host.DoctorOptions) {
			t.Helper()
			dir := t.TempDir()
			killProcess(t, travellerEnv+"="+dir)
			for _, path := range []*string{&o.Project, &o.Store, &o.Runs} {
				*path = filepath.Join(dir, strings.TrimPrefix(*path, w.paths.Project))
			}
		}},
		host.FindingSourceDegraded: {host.SeverityWarning, "job/tree works less well than it should: no watches", source(controller.SourceDegraded)},
		host.FindingSourceFailing:  {host.SeverityError, "job/tree failed and waits to be started again: gone", source(controller.SourceRestarting)},
	}
}

// leaveNote leaves the note of a command whose owner is dead.
func leaveNote(t *testing.T, ledger string) {
	t.Helper()
	dead := procgroup.Identity{BootID: "another boot", PID: os.Getpid(), StartTime: 1}
	marker := strings.Repeat("M", 26)
	note, err := json.Marshal(map[string]any{"owner": dead, "marker": marker, "leader": procgroup.Identity{}})
	must(t, err)
	mustMkdir(t, ledger)
	must(t, os.WriteFile(filepath.Join(ledger, marker+".process"), note, 0o600))
}

// What the doctor says that a host removes, a host removes.
func TestAHostRemovesWhatTheDoctorFound(t *testing.T) {
	t.Parallel()
	w := spooling(t)
	leaveNote(t, w.paths.Store+".processes")
	o := w.doctorOptions()
	wantFinding(t, o, host.FindingCommandsLeft, host.SeverityWarning, "1 command")
	wantFinding(t, o, host.FindingOutputLeft, host.SeverityNote, "1 killed run")
	w.host(t)
	for _, f := range host.Diagnose(t.Context(), o) {
		if f.Code == host.FindingCommandsLeft || f.Code == host.FindingOutputLeft {
			t.Errorf("found again: %+v", f)
		}
	}
}

// park leaves the row of a run that has no record.
func (w *world) park(t *testing.T, runID string) {
	t.Helper()
	w.parkIn(t, runID, "")
}

// parkIn is park in another folder of runs.
func (w *world) parkIn(t *testing.T, runID, root string) {
	t.Helper()
	c, err := w.store.Launch(t.Context(), runqueue.NewRun{
		RunID: runID, Workflow: "work", Source: []byte("{}"), Digest: strings.Repeat("0", 64), Input: []byte("{}"), Root: root,
	}, lease.DefaultDuration)
	must(t, err)
	must(t, w.store.ParkRun(t.Context(), c, ""))
}

// The document has an entry for each code, and no other.
func TestTheDoctorDocumentHasEveryCode(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "docs", "doctor.md"))
	must(t, err)
	var documented []host.FindingCode
	for _, entry := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(document, -1) {
		documented = append(documented, host.FindingCode(entry[1]))
	}
	if diff := cmp.Diff(host.FindingCodes(), documented); diff != "" {
		t.Errorf("docs/doctor.md lists the codes in their order (-code +document):\n%s", diff)
	}
}

// This machine has a disk that can be measured, or says that it has not.
func TestDoctorAsksThisMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	o := w.doctorOptions()
	o.Machine = host.Machine{}
	codes := map[host.FindingCode]bool{}
	for _, f := range host.Diagnose(t.Context(), o) {
		codes[f.Code] = true
	}
	_, err := diskspace.Free(w.paths.Project)
	if measured := codes[host.FindingSpace] || codes[host.FindingSpaceLow]; measured != (err == nil) {
		t.Errorf("the disk was measured: %v; %v", measured, err)
	}
	if known := []bool{codes[host.FindingProgram], codes[host.FindingProgramMissing], codes[host.FindingProgramOld]}; !slices.Contains(known, true) {
		t.Error("nothing was said of programs")
	}
}

package demo

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/builtin/gitmerge"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
	"piworkflows/view"
)

func TestOnlyTheRightEndOfEveryBranchIsAGoodEnd(t *testing.T) {
	t.Parallel()
	good, failing := branches[0], branches[1]
	merge := controller.Readiness{Status: controller.True, Reason: gitmerge.ReasonMerged}
	failed := controller.Readiness{Status: controller.False, Reason: gitmerge.ReasonCheckFailed, Message: failing.says}
	for name, c := range map[string]struct {
		v    verdict
		want string
	}{
		"merged":             {verdict{good, merge, true}, ""},
		"blocked":            {verdict{failing, failed, false}, ""},
		"says merged, isn't": {verdict{good, merge, false}, "does not hold it"},
		"blocked but merged": {verdict{failing, failed, true}, "must not be"},
		"another reason":     {verdict{failing, controller.Readiness{Status: controller.False, Reason: "X"}, false}, "reason X"},
		"without its output": {verdict{failing, controller.Readiness{Status: controller.False, Reason: failing.reason}, false}, failing.says},
		"not yet decided":    {verdict{good, controller.Readiness{Status: controller.Unknown}, false}, "is unknown"},
	} {
		got := c.v.problem()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		err := judge([]verdict{c.v})
		if _, unfinished := errors.AsType[*UnfinishedError](err); unfinished != (c.want != "") {
			t.Errorf("%s: judge = %v", name, err)
		}
	}
}

func TestAPlaceIsTakenOnlyIfItIsEmptyOrOurs(t *testing.T) {
	t.Parallel()
	p := place{dir: filepath.Join(t.TempDir(), "new"), fs: durable.OS()}
	if m, err := p.open(); err != nil || m.Stage != "" {
		t.Fatalf("a new folder: %+v, %v", m, err)
	}
	want := marker{Stage: running, Heads: map[string]string{"good": "abc"}}
	if err := p.advance(want); err != nil {
		t.Fatal(err)
	}
	if m, err := p.open(); err != nil || m.Stage != running || m.Heads["good"] != "abc" {
		t.Errorf("a demo's folder: %+v, %v", m, err)
	}
	torn := place{dir: t.TempDir(), fs: durable.OS()}
	if err := os.WriteFile(filepath.Join(torn.dir, markerName+".1.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := torn.open(); err != nil || m.Stage != "" {
		t.Errorf("a folder with half a marker: %+v, %v", m, err)
	}
	for name, text := range map[string]string{"other.txt": "mine", markerName: `{"schema":"another"}`, "broken/" + markerName: "{"} {
		foreign := filepath.Join(t.TempDir(), "x", name)
		if err := os.MkdirAll(filepath.Dir(foreign), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(foreign, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := place{dir: filepath.Dir(foreign), fs: durable.OS()}.open()
		if _, refused := errors.AsType[*NotOursError](err); !refused {
			t.Errorf("%s: open = %v, want a *NotOursError", name, err)
		}
	}
}

func TestTheRepositoryIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	p := place{dir: t.TempDir(), fs: durable.OS()}
	first, err := p.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.build(t.Context())
	if err != nil || len(again) != len(branches) {
		t.Fatalf("build = %v, %v", again, err)
	}
	for key, head := range first {
		if again[key] != head {
			t.Errorf("%s is at %s, then at %s", key, head, again[key])
		}
		if merged, err := p.contains(t.Context(), head); err != nil || merged {
			t.Errorf("%s is merged before the demo begins, %v", key, err)
		}
	}
}

func TestAChosenStoreIsNeverRemoved(t *testing.T) {
	t.Parallel()
	d := &run{Options: Options{Places: host.Places{Store: "shared.sqlite"}}}
	if _, refused := errors.AsType[*SharedStoreError](d.clear(t.Context())); !refused {
		t.Error("it would be removed")
	}
}

func TestCommandsCanBeCopied(t *testing.T) {
	t.Parallel()
	d := &run{Options: Options{Program: "pi-workflows"}, flags: []string{"--project", "/tmp/my demo"}}
	if got, want := d.command("runs"), "pi-workflows runs --project '/tmp/my demo'"; got != want {
		t.Errorf("command = %q, want %q", got, want)
	}
	d.flags = append(d.flags, "--runs", "/tmp/it's")
	want := "pi-workflows runs \\\n    --project '/tmp/my demo' \\\n    --runs '/tmp/it'\\''s'"
	if got := d.command("runs"); got != want {
		t.Errorf("command = %q, want %q", got, want)
	}
}

// shows tells a story to a progress and returns what it writes.
func shows(live bool) string {
	var out bytes.Buffer
	p := newProgress(&out, live, view.Style{})
	stand := func(key, run string, r controller.Readiness) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.runs[run] = key
		p.change(key, func() { p.stand[key] = standing{ready: r, run: run} })
	}
	step := func(run, node, kind string) {
		e := runbundle.Event{Type: runbundle.EventNodeStarted, NodeID: node, Payload: []byte(`{"nodeType":"` + kind + `"}`)}
		p.step(host.RunEvent{RunID: run, Event: e})
	}
	verifying := controller.Readiness{Status: controller.False, Reason: gitmerge.ReasonVerifying}
	stand("good", "r1", verifying)
	step("r1", "decide", "compute")
	step("r1", "check", "action")
	step("unknown", "check", "action")
	stand("good", "r1", controller.Readiness{Status: controller.False, Reason: gitmerge.ReasonMerging})
	stand("good", "r1", controller.Readiness{Status: controller.True})
	stand("failing", "r2", controller.Readiness{Status: controller.False, Reason: "CheckFailed", Message: "why\x1b[2J\nmore"})
	return out.String()
}

func TestProgressIsOneLineForEachChange(t *testing.T) {
	t.Parallel()
	want := "  good       verifying\n  good       verifying: check\n  good       merging\n  good       merged\n" +
		"  failing    blocked: CheckFailed, why\n"
	if got := shows(false); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestProgressOnATerminalStaysInPlace(t *testing.T) {
	t.Parallel()
	screens := strings.Split(shows(true), "\x1b[4A")
	if len(screens) != 5 {
		t.Fatalf("%d screens, want one for each change", len(screens))
	}
	last := screens[len(screens)-1]
	want := "\x1b[2K  good       merged\n\x1b[2K  failing    blocked: CheckFailed, why\n" +
		"\x1b[2K  moved      waiting\n\x1b[2K  conflict   waiting\n"
	if last != want {
		t.Errorf("the last screen is %q, want %q", last, want)
	}
}

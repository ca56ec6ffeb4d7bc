package runbundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"piworkflows/internal/durable"
)

// manySteps are steps of all sizes, some of which contain the lines that
// separate steps.
func manySteps(n int) []Step {
	random := rand.New(rand.NewPCG(1, 2))
	outputs := []string{
		`null`, `1`, `{}`, `[]`, `{"a":{"b":[{},{"c":1}]}}`, `"\n    },\n    {"`, `[{"a":[]},[[{"b":null}]]]`,
		`"` + strings.Repeat("x", 3000) + `"`, `[` + strings.Repeat(`"y",`, 2000) + `0]`,
	}
	steps := make([]Step, n)
	for i := range steps {
		steps[i] = Step{
			AttemptID: fmt.Sprintf("attempt-%d", i), NodeID: "    }\n", NodeType: "compute", Outcome: OutcomeOK,
			StartedAt: At(time.UnixMilli(int64(i))), FinishedAt: At(time.UnixMilli(int64(i) + 5)),
			Output: json.RawMessage(outputs[random.IntN(len(outputs))]),
		}
		switch random.IntN(5) {
		case 0:
			steps[i].Outcome, steps[i].Output, steps[i].Error = "failed", nil, "},\n    {"
		case 1:
			steps[i].Prompt = textOf("Do it.\n    },\n")
		}
	}
	return steps
}

func newLog(t *testing.T, fs *durable.FS) *stepLog {
	t.Helper()
	l := &stepLog{fs: fs, path: filepath.Join(t.TempDir(), stepsFile)}
	t.Cleanup(func() { _ = l.close() })
	return l
}

// wantStep compares a step that was read back with the one that was appended.
func wantStep(t *testing.T, l *stepLog, i int, want Step) {
	t.Helper()
	got, err := l.step(i)
	if err == nil {
		err = got.mapValues(func(raw json.RawMessage) (json.RawMessage, error) { return compact(raw) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("step %d: appended %.2000v, read back %.2000v", i, want, got)
	}
}

func TestStepsAreReadBackAndCopied(t *testing.T) {
	t.Parallel()
	l, random := newLog(t, durable.OS()), rand.New(rand.NewPCG(3, 4))
	s := State{Steps: manySteps(400), Updates: []Update{}}
	for i, step := range s.Steps {
		if err := l.append(step); err != nil {
			t.Fatal(err)
		}
		wantStep(t, l, i, step)
		earlier := random.IntN(i + 1)
		wantStep(t, l, earlier, s.Steps[earlier])
	}
	for i, step := range slices.Backward(s.Steps) {
		wantStep(t, l, i, step)
	}
	if len(l.tail) > stepsInMemory || l.spilled() < l.size/2 || len(l.marks) > int(l.size/stepsPerMark)+1 {
		t.Errorf("%d of %d bytes and %d marks in memory", len(l.tail), l.size, len(l.marks))
	}
	var got bytes.Buffer
	d := document{state: State{Steps: []Step{}, Updates: []Update{}}, steps: l}
	size, err := d.write(&got)
	if err != nil {
		t.Fatal(err)
	}
	want, err := documentText(&s)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got.Bytes()) || size != int64(len(want)) {
		t.Errorf("the log writes %d bytes, says %d; encoding all steps at once gives %d", got.Len(), size, len(want))
	}
}

// A scratch file that cannot be made or written costs memory, nothing else.
func TestStepsStayInMemoryWithoutAScratchFile(t *testing.T) {
	t.Parallel()
	for _, failing := range []durable.Op{durable.OpCreate, durable.OpWrite} {
		full := true
		l := newLog(t, durable.WithHook(func(op durable.Op, _ string) error {
			if full && op == failing {
				return syscall.ENOSPC
			}
			return nil
		}))
		steps := manySteps(60)
		for i, step := range steps {
			if full = i < 50; !full && l.spilled() != 0 && i == 50 {
				t.Errorf("%s fails, and %d bytes are on disk", failing, l.spilled())
			}
			if err := l.append(step); err != nil {
				t.Fatal(err)
			}
		}
		if l.spilled() == 0 {
			t.Errorf("after %s failed, nothing was moved to the disk", failing)
		}
		for i, step := range steps {
			wantStep(t, l, i, step)
		}
	}
}

func TestStepsThatCannotBeReadBackAreTold(t *testing.T) {
	t.Parallel()
	l := newLog(t, durable.OS())
	for _, step := range manySteps(60) {
		if err := l.append(step); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.step(0); err == nil || !strings.Contains(err.Error(), "step 0") {
		t.Errorf("a closed file gives %v", err)
	}
	if err := l.writeTo(&bytes.Buffer{}); err == nil {
		t.Error("a closed file is copied")
	}
	if entries, err := os.ReadDir(filepath.Dir(l.path)); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

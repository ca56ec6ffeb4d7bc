package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// folder is a place of definitions in files: NAME.controller and NAME.workflow.
// What a controller says is its text; "broken" is broken. It says when it changed.
type folder struct {
	dir     string
	place   host.Place
	changed chan struct{}
	// passes hears of each pass, which ends when it is told to.
	passes chan pass
}

type pass struct {
	text string
	end  chan struct{}
}

func newFolder(t *testing.T, place host.Place, files map[string]string) *folder {
	t.Helper()
	f := &folder{dir: t.TempDir(), place: place, changed: make(chan struct{}, 1), passes: make(chan pass)}
	for name, text := range files {
		f.write(t, name, text)
	}
	return f
}

func (f *folder) write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

func (f *folder) Place() host.Place { return f.place }

func (f *folder) Changed(ctx context.Context) error {
	select {
	case <-f.changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *folder) Load(context.Context) ([]host.FoundDefinition, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var list []host.FoundDefinition
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(f.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		// What follows @ tells files of one name apart.
		name, _, _ := strings.Cut(strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), "@")
		d := host.FoundDefinition{Name: name, Source: e.Name(), Digest: string(text), Kind: controller.KindController}
		switch {
		case string(text) == "broken":
			d.Err = errors.New("a bracket is missing")
		case filepath.Ext(e.Name()) == ".workflow":
			d.Kind, d.Digest = controller.KindWorkflow, ""
			d.Workflow = newWork().definition()
			d.Workflow.Name, d.Workflow.Revision = name, string(text)
		default:
			d.Controller = f.controller(name, string(text))
		}
		list = append(list, d)
	}
	return list, nil
}

func (f *folder) controller(name, text string) *controller.Definition {
	return &controller.Definition{
		Name: name,
		Reconcile: func(ctx context.Context, _ *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
			end := make(chan struct{})
			select {
			case f.passes <- pass{text, end}:
			case <-ctx.Done():
				return controller.RawResult{}, context.Cause(ctx)
			}
			<-end
			status := json.RawMessage(`"` + text + `"`)
			return controller.Settled(controller.Patch[json.RawMessage]{
				ControllerStatus: &status, Conditions: []controller.Condition{controller.ConditionTrue(controller.Ready, "Said", text)},
			}), nil
		},
	}
}

func TestPlacesOfDefinitions(t *testing.T) {
	t.Parallel()
	program := host.Definitions{
		Controllers: []*controller.Definition{controller.Define("job", jobs{}), controller.Define("alone", jobs{}), {Name: "lame"}},
		Workflows:   []*workflow.Definition{newWork().definition()},
	}
	global := newFolder(t, host.PlaceGlobal, map[string]string{
		"job.controller": "global", "twice@1.controller": "1", "twice@2.controller": "2", "work.workflow": "5",
	})
	project := newFolder(t, host.PlaceProject, map[string]string{"job.controller": "project", "alone.controller": "broken"})
	c := host.Load(t.Context(), program.BuiltIn(), global, project)
	var got []string
	for _, e := range c.Entries() {
		line := strings.Join([]string{string(e.Kind), e.Name, string(e.Place), e.Source, string(e.State), string(e.HiddenBy)}, " ")
		if e.Err != nil {
			line += ": " + e.Err.Error()
		}
		got = append(got, strings.TrimSpace(line))
	}
	const twice = `: 2 controllers of the place global are named "twice" (twice@1.controller, twice@2.controller), so none is used: rename all but one`
	want := []string{
		"controller alone project alone.controller broken : a bracket is missing",
		"controller alone built-in go hidden project",
		"controller job project job.controller loaded",
		"controller job global job.controller hidden project",
		"controller job built-in go hidden project",
		`controller lame built-in go broken : controller "lame": no Reconcile: set one, or make the definition with Define`,
		"controller twice global twice@1.controller broken " + twice,
		"controller twice global twice@2.controller broken " + twice,
		"workflow work global work.workflow loaded",
		"workflow work built-in go hidden global",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"job"}, c.Controllers.Names()); diff != "" {
		t.Errorf("controllers (-want +got):\n%s", diff)
	}
	if g, err := c.Workflow("work"); err != nil || g.Source().Revision != "5" {
		t.Errorf("workflow %v, %v", g, err)
	}
	if n := len(c.Problems()); n != 3 {
		t.Errorf("%d problems, want one for each name: %v", n, c.Problems())
	}
}

// following is a host over a folder of definitions.
type following struct {
	*folder
	world *world
}

func follow(t *testing.T, files map[string]string) following {
	t.Helper()
	f := newFolder(t, host.PlaceProject, files)
	w := newWorld(t, newWork())
	w.catalog = host.Load(t.Context(), f)
	h := w.host(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return following{f, w}
}

func (f following) put(t *testing.T, name string) {
	t.Helper()
	_, err := f.world.store.Put(t.Context(), controller.Put{Ref: controller.Ref{Controller: name, Key: "k"}, Spec: json.RawMessage("{}")})
	must(t, err)
}

// says waits for the pass that follows, which has to be one of the given text.
func (f following) says(t *testing.T, want string) pass {
	t.Helper()
	p := await(t, f.passes)
	if p.text != want {
		t.Fatalf("a pass of %q, want one of %q", p.text, want)
	}
	return p
}

// tell says that the folder changed.
func (f following) tell() { f.changed <- struct{}{} }

// loaded waits until the host works with a digest.
func (f following) loaded(t *testing.T, digest string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var after controller.Cursor
	for {
		list, err := f.world.store.Definitions(ctx)
		must(t, err)
		for _, d := range list {
			if d.Digest == digest {
				return
			}
		}
		changes, err := f.world.store.Changes(ctx, after, controller.ChangeFilter{})
		must(t, err)
		after = changes.Next
	}
}

func TestDefinitionsChangeWhileAHostRuns(t *testing.T) {
	t.Parallel()
	f := follow(t, map[string]string{"voice.controller": "old"})
	f.loaded(t, "old")
	f.put(t, "voice")
	under := f.says(t, "old")
	f.write(t, "voice.controller", "new")
	f.write(t, "other.controller", "hello")
	f.tell()
	f.loaded(t, "new") // while the pass of the old one goes on
	close(under.end)
	close(f.says(t, "new").end) // its resource was woken
	f.put(t, "other")
	close(f.says(t, "hello").end)

	must(t, os.Remove(filepath.Join(f.dir, "voice.controller")))
	f.write(t, "other.controller", "good bye")
	f.tell()
	close(f.says(t, "good bye").end)
	f.put(t, "voice") // nobody has it any more
	f.put(t, "other")
	if _, err := f.world.store.Enqueue(t.Context(), controller.Ref{Controller: "other", Key: "k"}, ""); err != nil {
		t.Fatal(err)
	}
	close(f.says(t, "good bye").end)
}

// A place that cannot be read any more keeps what it had, and one that breaks a
// definition loses that one only.
func TestWhatBreaksWhileAHostRuns(t *testing.T) {
	t.Parallel()
	f := follow(t, map[string]string{"a.controller": "a", "b.controller": "b"})
	f.loaded(t, "b")
	f.write(t, "a.controller", "broken")
	f.write(t, "b.controller", "b2")
	f.tell()
	f.loaded(t, "b2")
	f.put(t, "b")
	close(f.says(t, "b2").end)
	must(t, os.Rename(f.dir, f.dir+"-gone"))
	f.tell()
	f.tell() // is taken after the first was worked off
	if _, err := f.world.store.Enqueue(t.Context(), controller.Ref{Controller: "b", Key: "k"}, ""); err != nil {
		t.Fatal(err)
	}
	close(f.says(t, "b2").end)
	must(t, os.Rename(f.dir+"-gone", f.dir))
}

// A run whose definition changed is not skipped until the host restarts: once the
// definition is there again, it goes on.
func TestARunGoesOnOnceItsDefinitionIsBack(t *testing.T) {
	t.Parallel()
	f := follow(t, map[string]string{"chore.workflow": "2", "mark.controller": "first"})
	f.loaded(t, "first")
	w := f.world
	def := newWork().definition()
	def.Name = "chore"
	o := w.options()
	o.Catalog = compileAll(t, def)
	runID, err := host.QueueWorkflow(t.Context(), o, w.store, "chore", []byte(`{"mode":"quick"}`))
	must(t, err)
	row := w.awaitRow(t, runID, func(r runqueue.Row) bool { return r.Error != "" })
	if row.Status != runqueue.Parked || !strings.Contains(row.Error, "changed") {
		t.Fatalf("row %+v", row)
	}
	f.write(t, "chore.workflow", "1")
	f.tell()
	if row := w.awaitRow(t, runID, final); row.Status != runqueue.Done {
		t.Errorf("row %+v", row)
	}
}

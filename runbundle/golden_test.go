package runbundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/internal/golden"
)

func TestGoldenBundle(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	w.tell(story())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"manifest.json", "workflow.json", "state.json", "trace.ndjson"} {
		got, err := os.ReadFile(b.file(name))
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, string(got))
	}
	var names []string
	err := filepath.WalkDir(b.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(b.root, path)
		names = append(names, info.Mode().String()+" "+filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "files.txt", strings.Join(names, "\n")+"\n")
}

// The order of durable operations is what survives a crash, so a change of it
// must be seen.
func TestGoldenOperations(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	ops := &operations{root: b.root}
	b.options.FS = ops.fs()
	w := b.create(t)
	ops.log = append(ops.log, "-- created")
	w.add(b.init().Started())
	for i, d := range story() {
		if i == 1 {
			ops.log = append(ops.log, "-- before an outside action")
			if err := w.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ops.log = append(ops.log, "-- "+string(d.Payload.Type()))
		w.add(d)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ops.log = append(ops.log, "-- closed")
	golden.Check(t, "operations.txt", strings.Join(ops.log, "\n")+"\n")
}

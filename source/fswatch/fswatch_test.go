package fswatch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/source/fswatch"
)

func TestAProcessBeginsWithEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *fswatch.Options) { o.Ignore = []string{"*.tmp", "build/out"} })
	b.mkdir("notes/deep")
	b.mkdir(".git/objects")
	b.mkdir("build/out/x")
	b.mkdir("notes/out")
	for _, name := range []string{"a", "notes/b", "notes/deep/c", ".git/HEAD", "x.tmp", "notes/y.tmp", "build/out/x/z", "build/kept"} {
		b.write(name, "")
	}
	b.start(clock.System())
	b.await("for the first delivery", func() bool { return b.deliveries > 0 })
	b.wantOnly(".", "a", "notes", "notes/b", "notes/deep", "notes/deep/c", "notes/out", "build", "build/kept")
}

func TestWhatChangesIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *fswatch.Options) { o.Ignore = []string{"*.tmp"} })
	b.write("old", "")
	b.mkdir(".git")
	b.start(clock.System())
	b.want(".", "old")
	tests := []struct {
		name string
		do   func()
		want []string
	}{
		{"a new file", func() { b.write("new", "") }, []string{"new"}},
		{"a file that is written", func() { b.write("new", "text") }, []string{"new"}},
		{"a file that is written with the same", func() { b.write("new", "text") }, []string{"new"}},
		{"a file that is replaced", func() { b.write("x.tmp", "more"); b.rename("x.tmp", "new") }, []string{"new"}},
		{"a file that is renamed", func() { b.rename("new", "newer") }, []string{"new", "newer"}},
		{"a file that is removed", func() { b.remove("newer") }, []string{"newer"}},
		{"a mode", func() { b.must(os.Chmod(b.path("old"), 0o400)) }, []string{"old"}},
		{"a tree", func() { b.mkdir("d/e/f"); b.write("d/e/f/g", "") }, []string{"d", "d/e", "d/e/f", "d/e/f/g"}},
		{"deep in it", func() { b.write("d/e/f/g", "more") }, []string{"d/e/f/g"}},
		{"a file that becomes a folder", func() { b.remove("old"); b.mkdir("old"); b.write("old/in", "") }, []string{"old", "old/in"}},
		{"a tree that is gone", func() { b.remove("d") }, []string{"d", "d/e", "d/e/f", "d/e/f/g"}},
		{"a tree that is back", func() { b.mkdir("d/e/f"); b.write("d/e/f/g", "") }, []string{"d", "d/e", "d/e/f", "d/e/f/g"}},
		{"an ignored file beside another", func() { b.write(".git/HEAD", ""); b.write("y.tmp", ""); b.write("z", "") }, []string{"z"}},
	}
	for _, test := range tests {
		t.Log(test.name)
		test.do()
		b.want(test.want...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failed) > 0 || b.degraded != "" {
		t.Errorf("failed %v, degraded %q", b.failed, b.degraded)
	}
}

// A folder that was moved is watched under its new name, with all that is in it.
func TestAMovedTreeIsWatchedWhereItIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	outside := filepath.Join(t.TempDir(), "outside")
	b.mkdir("a/b/c")
	b.write("a/b/c/f", "")
	b.start(clock.System())
	b.want("a/b/c/f")
	b.rename("a", "z")
	b.want("a", "a/b", "a/b/c", "a/b/c/f", "z", "z/b", "z/b/c", "z/b/c/f")
	b.write("z/b/c/f", "1")
	b.want("z/b/c/f")
	b.mkdir("a/b/c")
	b.want("a/b/c")
	b.write("a/b/c/f", "2")
	b.want("a/b/c/f")
	b.must(os.Rename(b.path("z"), outside))
	b.want("z", "z/b/c/f")
	b.must(os.WriteFile(filepath.Join(outside, "b", "c", "f"), []byte("3"), 0o600))
	b.write("last", "")
	b.want("last")
	b.must(os.Rename(outside, b.path("a/z")))
	b.want("a/z", "a/z/b/c/f")
	b.write("a/z/b/c/f", "4")
	b.want("a/z/b/c/f")
}

func TestTheRootMayComeAndGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.remove(".")
	b.start(clock.System())
	b.await("that the root is missing", func() bool { return strings.HasPrefix(b.degraded, "there is no folder") })
	for _, how := range []string{"made", "made again", "moved back"} {
		t.Log(how)
		if how == "moved back" {
			b.must(os.Rename(b.root+".away", b.root))
		} else {
			b.mkdir("sub")
			b.write("sub/f", how)
		}
		b.want(".", "sub", "sub/f")
		b.await("that all is well", func() bool { return b.degraded == "" })
		b.write("sub/f", how+" and written")
		b.want("sub/f")
		if how == "made again" {
			b.must(os.Rename(b.root, b.root+".away"))
		} else {
			b.remove(".")
		}
		b.want(".", "sub", "sub/f")
		b.await("that the root is missing", func() bool { return b.degraded != "" })
	}
}

func TestARootThatIsNoFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.remove(".")
	b.must(os.WriteFile(b.root, nil, 0o600))
	b.start(clock.System())
	b.await("that the root is missing", func() bool { return b.degraded != "" })
	b.must(os.Remove(b.root))
	b.mkdir("sub")
	b.want("sub")
}

func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	elsewhere := t.TempDir()
	b.must(os.WriteFile(filepath.Join(elsewhere, "f"), nil, 0o600))
	b.mkdir("d")
	b.must(os.Symlink("..", b.path("d/loop")))
	b.must(os.Symlink(elsewhere, b.path("out")))
	b.must(os.Symlink("nothing", b.path("dangling")))
	b.start(clock.System())
	b.await("for the first delivery", func() bool { return b.deliveries > 0 })
	b.wantOnly(".", "d", "d/loop", "out", "dangling")
	b.must(os.Symlink("..", b.path("d/loop2")))
	b.want("d/loop2")
}

func TestTheRootMayBeALink(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	real1 := b.root + ".real"
	b.must(os.Rename(b.root, real1))
	b.must(os.Symlink(real1, b.root))
	b.start(clock.System())
	b.want(".")
	b.write("f", "")
	b.want("f")
}

// Changes that come together are one delivery, and constant ones do not wait for
// ever.
func TestChangesAreGathered(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	b := newBench(t, func(o *fswatch.Options) { o.Quiet = time.Second })
	opened := make(chan *fsnotify.Watcher, 1)
	b.source.Opened(opened)
	b.start(c)
	b.want(".")
	w := <-opened
	for _, name := range []string{"a", "b", "c"} {
		b.write(name, "")
		b.happens(w, name)
	}
	b.timers(c, 1)
	if got := b.all(); len(got) > 0 {
		t.Errorf("heard %q at once", got)
	}
	c.Advance(time.Second)
	b.await("for c", func() bool { return b.heard["c"] })
	if b.deliveries != 1 {
		t.Errorf("%d deliveries", b.deliveries)
	}
	b.wantOnly("a", "b", "c")

	b.write("d", "")
	b.happens(w, "d")
	for range 19 { // it is never quiet for a second
		b.timers(c, 1)
		c.Advance(500 * time.Millisecond)
		b.happens(w, "d")
	}
	b.timers(c, 1)
	c.Advance(500 * time.Millisecond)
	b.want("d")
}

// happens tells the source of an event, and returns when it has heard of it.
func (b *bench) happens(w *fsnotify.Watcher, name string) {
	w.Events <- fsnotify.Event{Name: b.path(name), Op: fsnotify.Write}
	w.Events <- fsnotify.Event{Name: b.path(".git"), Op: fsnotify.Write} // the one before is marked then
}

func (b *bench) timers(c *clocktest.Manual, n int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	if err := c.AwaitTimers(ctx, n); err != nil {
		b.t.Fatalf("wait for %d timers: %v", n, err)
	}
}

// A change that leaves size and time as they were is found by the next look, if it
// came so soon that the time cannot tell.
func TestAFreshFileIsLookedAtTwice(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	b := newBench(t, func(o *fswatch.Options) { o.Poll = true })
	for name, age := range map[string]time.Duration{"fresh": time.Second, "old": time.Hour} {
		b.write(name, "text")
		b.must(os.Chtimes(b.path(name), time.Time{}, c.Now().Add(-age)))
	}
	b.start(c)
	b.await("for the first delivery", func() bool { return b.deliveries > 0 })
	b.wantOnly(".", "fresh", "old")
	b.timers(c, 1)
	c.Advance(fswatch.DefaultInterval)
	b.await("for the second look", func() bool { return b.deliveries > 0 })
	b.wantOnly("fresh")
}

func TestAPanicOfTheMappingPassesOverThePath(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *fswatch.Options) {
		o.Keys = func(path string) []string {
			if path == "bad" {
				panic("cannot map it")
			}
			return []string{path}
		}
	})
	b.write("bad", "")
	b.write("good", "")
	b.start(clock.System())
	b.want("good")
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failed) != 1 || !strings.Contains(b.failed[0].Error(), `"bad"`) {
		t.Errorf("failed: %v", b.failed)
	}
}

func TestTooManyPathsEndTheSource(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *fswatch.Options) { o.MaxPaths = 3 })
	for _, name := range []string{"a", "b", "c"} {
		b.write(name, "")
	}
	err := b.source.Run(t.Context(), b.intake(clock.System()))
	over, ok := errors.AsType[*controller.LimitError](err)
	if !ok || over.Limit != 3 || !strings.Contains(err.Error(), b.root) {
		t.Errorf("Run = %v", err)
	}
}

func TestCheckNamesEveryMistake(t *testing.T) {
	t.Parallel()
	err := fswatch.New("s", fswatch.Options{Root: "relative", Ignore: []string{"[", "", "a/["}, Quiet: -1}).Check("c")
	for _, want := range []string{"absolute", "no Keys", `pattern "["`, `pattern ""`, `pattern "a/["`, "negative"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

var _ controller.SourceChecker = (*fswatch.Source)(nil)

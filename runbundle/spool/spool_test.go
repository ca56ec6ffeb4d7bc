package spool_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"piworkflows/clock/clocktest"
	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle/spool"
	"piworkflows/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const runID = "20270105T081500Z-greet-0a1b2c3d"

// bench is a folder of spools with one run.
type bench struct {
	t       *testing.T
	options spool.Options
	log     *bytes.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	log := &bytes.Buffer{}
	return &bench{t: t, log: log, options: spool.Options{
		Dir: filepath.Join(t.TempDir(), "deep", "spool"), RunID: runID, Clock: clocktest.New(),
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}}
}

func (b *bench) reader() *spool.Reader {
	b.t.Helper()
	r, err := spool.NewReader(b.options.Dir, runID)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(r.Close)
	return r
}

// next reads what is new, as attempt, stream and text.
func (b *bench) next(r *spool.Reader) []string {
	b.t.Helper()
	var list []string
	err := r.Next(func(p spool.Piece) error {
		if p.Dropped {
			p.Stream = "dropped"
		}
		if !p.At.Equal(clocktest.Epoch) {
			b.t.Errorf("piece at %s", p.At)
		}
		list = append(list, p.NodeID+"/"+p.AttemptID+" "+p.Stream+" "+p.Text)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func (b *bench) wants(r *spool.Reader, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.next(r)); diff != "" {
		b.t.Error(diff)
	}
}

// files lists what is in the folder of spools, with its modes.
func (b *bench) files() (list []string) {
	b.t.Helper()
	err := filepath.WalkDir(b.options.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		name, _ := filepath.Rel(b.options.Dir, path)
		list = append(list, fmt.Sprintf("%s %o", filepath.ToSlash(name), info.Mode().Perm()))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatal(err)
	}
	return list
}

func TestPiecesAreReadWhileTheyCome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, r := spool.New(b.options), b.reader()
	b.wants(r)
	first := s.Attempt("build", "a1")
	first.Write(spool.Stdout, []byte("one\n"))
	b.wants(r, "build/a1 stdout one\n")
	b.wants(r)
	first.Write(spool.Stderr, []byte("two"))
	fmt.Fprint(first.Stream(spool.Agent), "<three>\u2028")
	b.wants(r, "build/a1 stderr two", "build/a1 agent <three>\u2028")
	first.Write(spool.Stdout, []byte("four"))
	first.Close()
	quiet := s.Attempt("quiet", "a2")
	quiet.Close()
	second := s.Attempt("sub/build", "a3")
	second.Write(spool.Stdout, []byte("five"))
	b.wants(r, "build/a1 stdout four", "sub/build/a3 stdout five")
	second.Close()
	first.Write(spool.Stdout, []byte("late"))
	second.Write(spool.Stdout, []byte("late"))
	s.Attempt("later", "a4").Write(spool.Stdout, []byte("six"))
	b.wants(r, "later/a4 stdout six")
	if b.log.Len() > 0 {
		t.Error(b.log)
	}
}

func TestNothingIsMadeBeforeSomethingIsPrinted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := spool.New(b.options)
	file := s.Attempt("a", "a1")
	file.Write(spool.Stdout, nil)
	file.Close()
	if _, err := os.Stat(filepath.Dir(b.options.Dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", b.files())
	}
	s.Remove()
}

func TestModesAndRemoval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := spool.New(b.options)
	s.Attempt("a", "a1").Write(spool.Stdout, []byte("x"))
	want := []string{". 700", "." + runID + ".lock 600", runID + " 700", runID + "/000001-a1.ndjson 600"}
	if diff := cmp.Diff(want, b.files()); diff != "" && runtime.GOOS != "windows" {
		t.Error(diff)
	}
	s.Remove()
	s.Remove()
	if diff := cmp.Diff([]string{". 700"}, b.files()); diff != "" && runtime.GOOS != "windows" {
		t.Error(diff)
	}
}

// Who listens hears everything: what is full, broken or not wanted on disk too.
func TestListenerHearsWhatIsNotKept(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *spool.Options){
		"kept":      func(*spool.Options) {},
		"no folder": func(o *spool.Options) { o.Dir = "" },
		"no room":   func(o *spool.Options) { o.Bytes = 1 },
		"broken disk": func(o *spool.Options) {
			o.FS = durable.WithHook(func(durable.Op, string) error { return syscall.ENOSPC })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			change(&b.options)
			var heard []string
			b.options.Tell = func(p spool.Piece) {
				heard = append(heard, p.NodeID+"/"+p.AttemptID+" "+p.Stream+" "+p.Text)
				if !p.At.Equal(clocktest.Epoch) || p.Dropped {
					t.Errorf("piece %+v", p)
				}
			}
			s := spool.New(b.options)
			file := s.Attempt("n", "a")
			for _, chunk := range []string{"one\n", "h\xc3", "\xa9\xff", "\xe2"} {
				file.Write(spool.Stdout, []byte(chunk))
			}
			file.Write(spool.Stderr, []byte("two"))
			file.Close()
			file.Write(spool.Stdout, []byte("late"))
			s.Remove()
			want := []string{"n/a stdout one\n", "n/a stdout h", "n/a stdout é\uFFFD", "n/a stderr two", "n/a stdout \uFFFD"}
			if diff := cmp.Diff(want, heard); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoFolderNoSpool(t *testing.T) {
	t.Parallel()
	s := spool.New(spool.Options{RunID: runID})
	file := s.Attempt("a", "a1")
	file.Write(spool.Stdout, []byte("x"))
	file.Close()
	s.Remove()
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		chunks []string
		want   []string
	}{
		{"characters in parts", []string{"h\xc3", "\xa9\xe2", "\x82", "\xac\xf0\x9f", "\x98\x80."}, []string{"h", "é", "€", "😀."}},
		{"never whole", []string{"a\xe2\x82"}, []string{"a", "\uFFFD\uFFFD"}},
		{"not UTF-8", []string{"a\xff\xfeb", "\x80", "\xc3", "("}, []string{"a\uFFFD\uFFFDb", "\uFFFD", "\uFFFD("}},
		{"control characters", []string{"\x1b[31m\x00\r\n\"\\"}, []string{"\x1b[31m\x00\r\n\"\\"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			file := spool.New(b.options).Attempt("n", "a")
			for _, chunk := range test.chunks {
				file.Write(spool.Stdout, []byte(chunk))
			}
			file.Close()
			var want []string
			for _, text := range test.want {
				want = append(want, "n/a stdout "+text)
			}
			b.wants(b.reader(), want...)
		})
	}
}

func TestLargeChunksComeInPieces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := spool.New(b.options).Attempt("n", "a")
	text := strings.Repeat("x", 32<<10-1) + strings.Repeat("€", 30_000) + strings.Repeat("\x01", 40_000)
	file.Write(spool.Stdout, []byte(text))
	var got strings.Builder
	pieces := 0
	if err := b.reader().Next(func(p spool.Piece) error {
		got.WriteString(p.Text)
		pieces++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got.String() != text || pieces != 5 {
		t.Errorf("%d bytes of %d in %d pieces", got.Len(), len(text), pieces)
	}
}

func TestFullFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.options.Bytes = 400
	s := spool.New(b.options)
	file := s.Attempt("n", "a")
	for range 10 {
		file.Write(spool.Stdout, []byte(strings.Repeat("x", 50)))
	}
	file.Close()
	next := s.Attempt("n", "b")
	next.Write(spool.Stdout, []byte("y"))
	x := "n/a stdout " + strings.Repeat("x", 50)
	b.wants(b.reader(), x, x, "n/a dropped ", "n/b stdout y")
	if info, err := os.Stat(filepath.Join(b.options.Dir, runID, "000001-a.ndjson")); err != nil || info.Size() > 400+60 {
		t.Errorf("%v %v", info.Size(), err)
	}
}

func TestOnlyTheNewestAttemptsAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, early, late := spool.New(b.options), b.reader(), b.reader()
	var want []string
	for i := range spool.MaxAttempts + 2 {
		file := s.Attempt("n", fmt.Sprint("a", i))
		file.Write(spool.Stdout, []byte("x"))
		file.Close()
		want = append(want, fmt.Sprintf("n/a%d stdout x", i))
		if i < 3 {
			b.wants(early, want[i])
		}
	}
	b.wants(early, want[3:]...)
	b.wants(late, want[2:]...)
	if n := len(b.files()); n != spool.MaxAttempts+3 {
		t.Errorf("%d files", n)
	}
}

// left makes what a killed owner of a run leaves.
func (b *bench) left(id string) {
	b.t.Helper()
	dir := filepath.Join(b.options.Dir, id)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "000001-old.ndjson"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(b.options.Dir, "."+id+".lock"), nil, 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

func TestTheNextOwnerRemovesWhatTheLastOneLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.left(runID)
	b.left("other")
	s := spool.New(b.options)
	if got := strings.Join(b.files(), " "); strings.Contains(got, runID) || !strings.Contains(got, "other/") {
		t.Errorf("left: %s", got)
	}
	r := b.reader()
	s.Attempt("n", "a").Write(spool.Stdout, []byte("x"))
	b.wants(r, "n/a stdout x")
}

func TestSweep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := spool.Sweep(b.options.Dir); err != nil {
		t.Errorf("no folder: %v", err)
	}
	live := spool.New(b.options)
	live.Attempt("n", "a").Write(spool.Stdout, []byte("x"))
	defer live.Remove()
	b.left("dead-1")
	b.left("dead-2")
	for _, err := range []error{
		os.Remove(filepath.Join(b.options.Dir, ".dead-2.lock")), // killed while it was removed
		os.WriteFile(filepath.Join(b.options.Dir, ".dead-3.lock"), nil, 0o600),
		os.WriteFile(filepath.Join(b.options.Dir, "notes.lock"), nil, 0o600),
		os.WriteFile(filepath.Join(b.options.Dir, "notes"), nil, 0o600),
		os.Mkdir(filepath.Join(b.options.Dir, ".git"), 0o700),
		os.Symlink(t.TempDir(), filepath.Join(b.options.Dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := b.files()
	if left, err := spool.Left(b.options.Dir); err != nil || !slices.Equal(left, []string{"dead-1", "dead-2", "dead-3"}) {
		t.Errorf("Left = %v, %v", left, err)
	}
	if err := spool.Sweep(b.options.Dir); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range before {
		if !strings.Contains(name, "dead-") {
			want = append(want, name)
		}
	}
	if diff := cmp.Diff(want, b.files()); diff != "" {
		t.Error(diff)
	}
	b.wants(b.reader(), "n/a stdout x")
}

// Somebody who sweeps holds the lock for a moment, which the owner waits for.
func TestOwnerWaitsForWhoSweeps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := spool.New(b.options)
	if err := os.MkdirAll(b.options.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := oslock.TryLock(filepath.Join(b.options.Dir, "."+runID+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.Attempt("n", "a").Write(spool.Stdout, []byte("x"))
	}()
	if err := lock.Remove(); err != nil {
		t.Fatal(err)
	}
	<-written
	b.wants(b.reader(), "n/a stdout x")
	s.Remove()
}

// Whatever fails on the disk, nobody is kept from working, and it is told.
func TestFaults(t *testing.T) {
	t.Parallel()
	count := 0
	ops := durable.WithHook(func(durable.Op, string) error {
		count++
		return nil
	})
	use := func(b *bench, files *durable.FS) {
		b.options.FS = files
		s := spool.New(b.options)
		for _, id := range []string{"a", "b"} {
			file := s.Attempt("n", id)
			file.Write(spool.Stdout, []byte("x"))
			file.Write(spool.Stdout, []byte("y"))
			file.Close()
		}
		s.Remove()
	}
	use(newBench(t), ops)
	for n := 1; n <= count; n++ {
		b := newBench(t)
		left := n
		use(b, durable.WithHook(func(durable.Op, string) error {
			if left--; left == 0 {
				return syscall.ENOSPC
			}
			return nil
		}))
		if !strings.Contains(b.log.String(), "no space left") && runtime.GOOS != "windows" {
			t.Errorf("operation %d of %d: %s", n, count, b.log)
		}
		if err := spool.Sweep(b.options.Dir); err != nil {
			t.Error(err)
		}
		if got := b.files(); len(got) > 1 {
			t.Errorf("operation %d: left %v", n, got)
		}
	}
}

// What is printed comes in pieces, and a secret may be cut by any of them.
func TestASecretIsMaskedAcrossPieces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("spooled-secret-of-the-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	ref, err := secret.Parse("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	value, err := ref.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	r, file := b.reader(), spool.New(b.options).Attempt("n", "a")
	write := func(text string, want ...string) {
		t.Helper()
		file.Write(spool.Stdout, []byte(text))
		b.wants(r, want...)
	}
	write("a ", "n/a stdout a ")
	write(value[:3])
	write(value[3:17])
	write(value[17:]+" b "+value[:3], "n/a stdout [redacted] b ")
	write("ck", "n/a stdout spock")
	write(value[:18])
	file.Close()
	b.wants(r, "n/a stdout [redacted]")
}

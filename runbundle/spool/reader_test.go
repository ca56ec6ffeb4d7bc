package spool_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
)

// put writes a file of the run as it is.
func (b *bench) put(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.options.Dir, runID, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

// more writes at the end of a file.
func (b *bench) more(name, text string) {
	b.t.Helper()
	file, err := os.OpenFile(filepath.Join(b.options.Dir, runID, name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		b.t.Fatal(err)
	}
}

const (
	headLine = `{"schema":"pi-workflows.spool.v1","runId":"r","nodeId":"n","attemptId":"a"}` + "\n"
	textLine = `{"at":"2027-01-05T08:15:00.000Z","stream":"stdout","text":"x"}` + "\n"
)

func TestTornLinesAreReadOnceTheyAreWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	whole := headLine + textLine + textLine
	r := b.reader()
	b.put("1.ndjson", "")
	got := 0
	for i := range len(whole) {
		b.more("1.ndjson", whole[i:i+1])
		got += len(b.next(r))
		if want := strings.Count(whole[len(headLine):max(len(headLine), i+1)], "\n"); got != want {
			t.Fatalf("%d pieces after %d bytes, want %d", got, i+1, want)
		}
	}
}

func TestFilesThatAreNoSpools(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"another schema":    `{"schema":"pi-workflows.spool.v2"}` + "\n" + textLine,
		"no JSON":           "hello\n" + textLine,
		"no head":           textLine + textLine,
		"broken line":       headLine + "{\n" + textLine,
		"line without time": headLine + `{"stream":"stdout","text":"x"}` + "\n" + textLine,
		"endless line":      headLine + strings.Repeat("x", 1<<20) + "\n" + textLine,
		"empty":             "",
	}
	for name, text := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put("1.ndjson", text)
			b.put("2.ndjson", headLine+textLine)
			b.put("3.txt", headLine+textLine)
			r := b.reader()
			b.wants(r, "n/a stdout x")
			b.more("1.ndjson", textLine)
			b.wants(r)
		})
	}
}

func TestReaderOutlivesTheSpool(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove a file that somebody reads")
	}
	b := newBench(t)
	s, r := spool.New(b.options), b.reader()
	file := s.Attempt("n", "a")
	file.Write(spool.Stdout, []byte("one"))
	b.wants(r, "n/a stdout one")
	file.Write(spool.Stdout, []byte("two"))
	file.Close()
	s.Remove()
	b.wants(r, "n/a stdout two")
	// A resumed run has a spool of its own.
	again := spool.New(b.options)
	defer again.Remove()
	again.Attempt("n", "b").Write(spool.Stdout, []byte("three"))
	b.wants(r, "n/b stdout three")
}

func TestReaderStopsWhereItsTakerDoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("1.ndjson", headLine+textLine+textLine)
	stop := errors.New("stop")
	calls := 0
	err := b.reader().Next(func(spool.Piece) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestAttemptsThatAreSpooled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, r := spool.New(b.options), b.reader()
	for _, id := range []string{"a-1", "b-2"} {
		if got, err := r.Attempts(); err != nil || slices.Contains(got, id) {
			t.Errorf("%v %v", got, err)
		}
		file := s.Attempt("n", id)
		file.Write(spool.Stdout, []byte("x"))
		file.Close()
	}
	if got, err := r.Attempts(); err != nil || !slices.Equal(got, []string{"a-1", "b-2"}) {
		t.Errorf("%v %v", got, err)
	}
}

func TestReaderOfNoRun(t *testing.T) {
	t.Parallel()
	var bad *runbundle.IDError
	if _, err := spool.NewReader(t.TempDir(), "../x"); !errors.As(err, &bad) {
		t.Errorf("error %v", err)
	}
	b := newBench(t)
	r := b.reader()
	b.wants(r)
	if r.Dir() != filepath.Join(b.options.Dir, runID) {
		t.Errorf("folder %s", r.Dir())
	}
}

func FuzzReader(f *testing.F) {
	f.Add(headLine + textLine)
	f.Add(headLine + `{"at":"2027-01-05T08:15:00.000Z","dropped":true}` + "\n")
	f.Add("{}\n{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		b := newBench(t)
		b.put("1.ndjson", text)
		pieces := 0
		if err := b.reader().Next(func(spool.Piece) error {
			pieces++
			return nil
		}); err != nil {
			t.Error(err)
		}
		if pieces > strings.Count(text, "\n") {
			t.Errorf("%d pieces", pieces)
		}
	})
}

package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// memory is a file that counts how often it is written.
type memory struct {
	vfs.File
	content []byte
	writes  int
	fail    error
}

func (m *memory) WriteAt(p []byte, offset int64) (int, error) {
	m.writes++
	if m.fail != nil {
		return 0, m.fail
	}
	if end := int(offset) + len(p); end > len(m.content) {
		m.content = append(m.content, make([]byte, end-len(m.content))...)
	}
	return copy(m.content[offset:], p), nil
}

func (m *memory) ReadAt(p []byte, offset int64) (int, error) { return copy(p, m.content[offset:]), nil }

func (m *memory) Sync(vfs.SyncFlag) error { return nil }

func (m *memory) Truncate(size int64) error {
	m.content = m.content[:size]
	return nil
}

func (m *memory) Size() (int64, error) { return int64(len(m.content)), nil }

func newLog(m *memory) *logFile {
	return &logFile{layeredFile: &layeredFile{m, "log", func(string, string) error { return nil }}}
}

// header is that of a frame; size is 0 unless the frame ends its transaction.
func header(size uint32) []byte {
	h := bytes.Repeat([]byte{'h'}, frameHeader)
	binary.BigEndian.PutUint32(h[frameSizeAt:], size)
	return h
}

func mustWrite(t *testing.T, f *logFile, p []byte, at int) int {
	t.Helper()
	if n, err := f.WriteAt(p, int64(at)); n != len(p) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(p), err)
	}
	return at + len(p)
}

func TestATransactionIsWrittenAtOnceWhenItEnds(t *testing.T) {
	t.Parallel()
	m := &memory{}
	f := newLog(m)
	page := bytes.Repeat([]byte{'p'}, 512)
	at := mustWrite(t, f, make([]byte, 32), 0) // the header of the log
	for range 9 {
		at = mustWrite(t, f, header(0), at)
		at = mustWrite(t, f, page, at)
	}
	if m.writes != 1 || len(m.content) != 32 {
		t.Fatalf("%d writes of %d bytes before the end of the transaction", m.writes, len(m.content))
	}
	at = mustWrite(t, f, header(7), at)
	at = mustWrite(t, f, page, at)
	if m.writes != 2 || len(m.content) != at {
		t.Errorf("%d writes, %d bytes of %d", m.writes, len(m.content), at)
	}
}

func TestALongTransactionIsWrittenInParts(t *testing.T) {
	t.Parallel()
	m := &memory{}
	f := newLog(m)
	page := make([]byte, 64<<10)
	for at := 0; at < 4*maxAtOnce; {
		at = mustWrite(t, f, header(0), at)
		at = mustWrite(t, f, page, at)
		if len(f.waiting) > maxAtOnce+len(page) {
			t.Fatalf("%d bytes wait", len(f.waiting))
		}
	}
	if m.writes < 3 {
		t.Errorf("%d writes", m.writes)
	}
}

func TestAFailureToWriteWhatWaitedIsTold(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	m := &memory{fail: full}
	f := newLog(m)
	at := mustWrite(t, f, header(1), 0)
	if _, err := f.WriteAt(make([]byte, 512), int64(at)); !errors.Is(err, full) {
		t.Errorf("the end of a transaction that cannot be written: %v", err)
	}
}

// Whatever order SQLite chooses, the file reads as if every write had been done
// when it was asked for.
func TestALogReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		m, plain := &memory{}, &memory{}
		f := newLog(m)
		for range 60 {
			at := random.IntN(len(plain.content) + 1)
			if random.IntN(3) > 0 {
				at = len(plain.content)
			}
			p := header(uint32(random.IntN(2)))
			if random.IntN(2) == 0 {
				p = bytes.Repeat([]byte{byte(random.IntN(256))}, 1+random.IntN(100))
			}
			mustWrite(t, f, p, at)
			if _, err := plain.WriteAt(p, int64(at)); err != nil {
				t.Fatal(err)
			}
			if random.IntN(4) == 0 {
				compare(t, f, plain)
			}
		}
		compare(t, f, plain)
	}
}

func compare(t *testing.T, f *logFile, plain *memory) {
	t.Helper()
	size, err := f.Size()
	if err != nil || int(size) != len(plain.content) {
		t.Fatalf("size %d, want %d: %v", size, len(plain.content), err)
	}
	got := make([]byte, size)
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, plain.content) {
		t.Fatalf("it reads otherwise than it was written: %v", err)
	}
}

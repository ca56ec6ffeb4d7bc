package procgroup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A ledger is a folder with a note for each command that is under way. A process
// that is killed leaves its notes behind, and with them whoever comes next finds
// the commands that it left, and no others. A note is there before its command
// starts. It need not outlive the machine: then no command does either.

const (
	noteSuffix = ".process"
	// halfSuffix ends the name of a note that is being written. What a killed process
	// left of one is removed, at the latest after halfAge if it does not say whose it was.
	halfSuffix = ".new"
	halfAge    = time.Minute
	// maxNotes bounds the notes that are looked at in one go, maxNoteBytes the size
	// of one.
	maxNotes     = 10_000
	maxNoteBytes = 4 << 10
	// leftoverGrace is how long leftovers may take to end after SIGTERM, and
	// leftoverPause how often they are looked at.
	leftoverGrace = 500 * time.Millisecond
	leftoverPause = 10 * time.Millisecond
)

// LedgerError says that a command was not started because it could not be noted: its
// disk is full, say. It tells nothing of the command.
type LedgerError struct {
	// Ledger is the folder of the notes.
	Ledger string
	// Err is the reason.
	Err error
}

// Error names the folder, the reason and the next step.
func (e *LedgerError) Error() string {
	return fmt.Sprintf("no command can be started, because none can be noted in %s: %v; free space there, or make it writable",
		e.Ledger, e.Err)
}

// Unwrap returns Err.
func (e *LedgerError) Unwrap() error { return e.Err }

// note is what is known of a command under way.
type note struct {
	// Owner is the process that runs it.
	Owner Identity `json:"owner"`
	// Marker is in the environment of the command and of what it starts.
	Marker string `json:"marker"`
	// Leader is the command; zero until it has started.
	Leader Identity `json:"leader"`

	path string
}

var ourselves = sync.OnceValues(func() (Identity, error) { return Identify(os.Getpid()) })

// openNote writes the note of a command that is about to start, or returns a
// *LedgerError.
func openNote(dir, marker string) (*note, error) {
	owner, err := ourselves()
	n := &note{Owner: owner, Marker: marker, path: filepath.Join(dir, marker+noteSuffix)}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = n.write()
	}
	if err != nil {
		return nil, &LedgerError{Ledger: dir, Err: err}
	}
	return n, nil
}

// started adds who the command is.
func (n *note) started(leader Identity) error {
	n.Leader = leader
	return n.write()
}

// write replaces the note as a whole: who reads it finds the old or the new one.
func (n *note) write() error {
	text, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(n.path+halfSuffix, text, 0o600)
	}
	if err == nil {
		err = os.Rename(n.path+halfSuffix, n.path)
	}
	if err != nil {
		_ = os.Remove(n.path + ".new") // the old one, if there is one, stays
		return fmt.Errorf("write its note: %w", err)
	}
	return nil
}

// close removes the note of a command of which nothing is left.
func (n *note) close() error {
	if err := os.Remove(n.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the note of a command: %w", err)
	}
	return nil
}

// EndLeftovers ends what is left of the commands that a ledger names whose owner is
// dead, also those of this process with own, and returns how many there were. Each
// gets SIGTERM first. A process is killed only if it is the very one that was
// started, or bears its marker. A ledger that is not there is empty.
func EndLeftovers(ledger string, own bool) (ended int, err error) {
	left, err := leftovers(ledger, own)
	if err != nil || len(left) == 0 {
		return 0, err
	}
	for _, n := range left {
		n.Leader.terminate()
	}
	awaitEnd(left)
	var problems []error
	for _, n := range left {
		n.Leader.kill()
		killMarked(n.Marker)
		problems = append(problems, n.close())
	}
	return len(left), errors.Join(problems...)
}

// Leftovers counts the commands that EndLeftovers would end. It changes nothing.
func Leftovers(ledger string) (int, error) {
	left, err := leftovers(ledger, false)
	return len(left), err
}

// leftovers reads the notes of dead owners.
func leftovers(ledger string, own bool) ([]*note, error) {
	dir, err := os.Open(ledger)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for commands that were left: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxNotes)
	if err != nil && len(names) == 0 {
		return nil, nil // it is empty
	}
	var left []*note
	for _, name := range names {
		path := filepath.Join(ledger, name)
		if whole, isHalf := strings.CutSuffix(path, halfSuffix); isHalf {
			removeHalf(path, whole)
		} else if n := readNote(path, path); n != nil && n.isLeft(own) {
			left = append(left, n)
		}
	}
	return left, nil
}

// isLeft reports whether nobody is there any more who would end the command.
func (n *note) isLeft(own bool) bool { return !n.Owner.Alive() || own && n.isOurs() }

// removeHalf removes a note that was not written to its end: its command was not
// started, or has a whole note beside it.
func removeHalf(path, whole string) {
	info, err := os.Stat(path)
	if err != nil || !strings.HasSuffix(whole, noteSuffix) {
		return
	}
	n := readNote(path, whole)
	if n != nil && !n.Owner.Alive() || n == nil && now().Sub(info.ModTime()) > halfAge {
		_ = os.Remove(path) // a sweep to come tries again
	}
}

func (n *note) isOurs() bool {
	us, err := ourselves()
	return err == nil && n.Owner == us
}

// readNote reads the note of the name whole. It returns nil for what is no note of a
// command: it names no process.
func readNote(path, whole string) *note {
	name, isNote := strings.CutSuffix(filepath.Base(whole), noteSuffix)
	info, err := os.Stat(path)
	if !isNote || err != nil || !info.Mode().IsRegular() || info.Size() > maxNoteBytes {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	n := &note{path: whole}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(n); err != nil || n.Marker != name || len(name) < len(newMarker()) || n.Owner.PID <= 0 {
		return nil
	}
	return n
}

// awaitEnd gives leftovers the time to end by themselves.
func awaitEnd(left []*note) {
	for range int(leftoverGrace / leftoverPause) {
		alive := false
		for _, n := range left {
			alive = alive || n.Leader.Alive()
		}
		if !alive {
			return
		}
		time.Sleep(leftoverPause) //nolint:forbidigo // the kernel sends no signal when a stranger has died
	}
}

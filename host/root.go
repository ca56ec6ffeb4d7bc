package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"piworkflows/internal/durable"
)

// rootFile names a folder of runs: its content is the ID that rows of runs record.
// It is a file, because every folder there counts as a run.
const rootFile = ".pi-workflows-root"

// rootID returns the ID of a folder of runs, and gives it one if it has none.
// Another folder at the same path, or a copy elsewhere that was made without the
// file, is another root: what a row says is there is not.
func rootID(runs string) (string, error) {
	path := filepath.Join(runs, rootFile)
	id, err := readRoot(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	disk := durable.OS()
	if err := disk.MkdirAll(runs); err != nil {
		return "", fmt.Errorf("make the folder of runs: %w", err)
	}
	err = disk.CreateExclusive(path, []byte(uuid.NewString()+"\n"), true)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("name the folder of runs: %w", err)
	}
	return readRoot(path) // of several who name it, one did
}

func readRoot(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the name of the folder of runs: %w", err)
	}
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return "", &RootError{Path: path}
	}
	id, err := uuid.ParseBytes(text[:len(text)-1])
	if err != nil {
		return "", &RootError{Path: path}
	}
	return id.String(), nil
}

// RootError says that the file that names a folder of runs is not one of ours.
type RootError struct{ Path string }

func (e *RootError) Error() string {
	return fmt.Sprintf("%s does not name the folder of runs: bring the file back, or remove it if no run in that folder is needed", e.Path)
}

// ErrorCode is the stable code of the error.
func (*RootError) ErrorCode() string { return "invalid_root" }

// reasonUnreachable is why a run does not go on whose bundle is in another folder
// of runs than that of the host, or went with it.
const reasonUnreachable = "bundle_unreachable: its record is in another folder of runs than that of the host: " +
	"start a host with the right one in --runs, or cancel the run"

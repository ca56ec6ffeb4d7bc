//go:build unix

package cli

import (
	"fmt"
	"os"

	"github.com/charmbracelet/x/termios"
	"golang.org/x/term"
)

// keyByKey lets a terminal hand over each key at once and show none, until
// restore is called. Its signals and its output stay as they are.
func keyByKey(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("read the keys of the terminal: %w", err)
	}
	now, err := termios.GetTermios(fd)
	if err != nil {
		return nil, fmt.Errorf("read the keys of the terminal: %w", err)
	}
	modes := map[termios.L]bool{termios.ICANON: false, termios.ECHO: false}
	in, out := uint32(now.Ispeed), uint32(now.Ospeed) //nolint:unconvert // wider on other systems
	if err := termios.SetTermios(fd, in, out, nil, nil, nil, nil, modes); err != nil {
		return nil, fmt.Errorf("read the keys of the terminal: %w", err)
	}
	return func() { _ = term.Restore(fd, before) }, nil
}

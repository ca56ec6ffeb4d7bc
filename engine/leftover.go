package engine

import "piworkflows/internal/procgroup"

// EndLeftovers ends the commands that a process which is dead has left, as
// Options.ProcessDir of it noted them, also those of this process with own. It
// returns how many there were. Nothing else is touched, whatever has got the number
// of a process since.
//
// Design: Process groups.
func EndLeftovers(processDir string, own bool) (ended int, err error) {
	return procgroup.EndLeftovers(processDir, own)
}

// Leftovers counts the commands that EndLeftovers would end. It changes nothing.
func Leftovers(processDir string) (int, error) { return procgroup.Leftovers(processDir) }

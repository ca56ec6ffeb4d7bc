//go:build !unix

package docs

import "os/exec"

// ownGroup kills the command alone: our documents are written for sh.
func ownGroup(cmd *exec.Cmd) func() error {
	return func() error { return cmd.Process.Kill() }
}

package procgroup

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// MarkerVariable is the environment variable that marks the descendants of a
// command. Its value is the random ID of the command, behind the IDs of the
// commands that it runs under.
const MarkerVariable = "PI_WORKFLOWS_PROCESS"

// maxMarkers bounds the length of the variable for commands in commands.
const maxMarkers = 32

// newMarker returns the ID of one command: 26 characters, 128 bits or more.
func newMarker() string { return rand.Text() }

// command prepares the process, with Env, Dir and group, without its pipes.
func command(spec Spec, marker string) (*exec.Cmd, error) {
	env := spec.Env
	if env == nil {
		env = os.Environ()
	}
	path, err := lookPath(program(spec), env)
	if err != nil {
		return nil, err
	}
	// A context would kill the leader only, and reap it too early.
	cmd := &exec.Cmd{Path: path, Dir: spec.Dir, SysProcAttr: newGroupAttr()}
	cmd.Args = append([]string{program(spec)}, spec.Args...)
	if spec.Shell != "" {
		useShell(cmd, strings.Join(append([]string{spec.Command}, spec.Args...), " "))
	}
	cmd.Env = slices.Concat(env, []string{MarkerVariable + "=" + markers(os.Getenv(MarkerVariable), marker)})
	return cmd, nil
}

// program is what the operating system is asked to start.
func program(spec Spec) string {
	if spec.Shell != "" {
		return spec.Shell
	}
	return spec.Command
}

// markers adds a marker to those of this process: whoever killed us must find
// what we started as well.
func markers(inherited, marker string) string {
	all := append(strings.Fields(inherited), marker)
	return strings.Join(all[max(0, len(all)-maxMarkers):], " ")
}

// lookPath finds a program as the new process would: by the PATH it will have.
func lookPath(name string, env []string) (string, error) {
	if name == "" {
		return "", exec.ErrNotFound
	}
	if filepath.Base(name) != name {
		return name, nil
	}
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		// A relative entry would make the choice depend on the directory.
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func lookup(env []string, name string) (value string) {
	for _, variable := range env {
		if known, text, _ := strings.Cut(variable, "="); sameVariable(known, name) {
			value = text
		}
	}
	return value
}

package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// program is one that something of this product uses.
type program struct {
	name string
	// minimum is the first version that will do; none is any.
	minimum [2]int
	// use says what it is needed for, missing how bad it is to be without.
	use     string
	missing Severity
	get     string
}

var programs = []program{
	{"git", [2]int{2, 38}, "controller git-merge and agents that work in worktrees", SeverityWarning, "install Git"},
	{"node", [2]int{20, 0}, "definitions in TypeScript", SeverityNote, "install Node"},
	{"pi", [2]int{}, "agent steps that are done by Pi", SeverityNote, "install Pi"},
}

// programs looks for the programs beside this one.
func (d *doctor) programs(ctx context.Context) {
	for _, p := range programs {
		version, err := d.Machine.Program(ctx, p.name)
		switch {
		case errors.Is(err, exec.ErrNotFound):
			d.addf(FindingProgramMissing, p.missing, p.get+p.orNewer(), "%s was not found: %s cannot be used", p.name, p.use)
		case err != nil:
			d.addf(FindingProgramMissing, SeverityWarning, p.get+p.orNewer(),
				"%s does not say its version, so %s may not work: %v", p.name, p.use, err)
		case p.tooOld(version):
			d.addf(FindingProgramOld, SeverityWarning, p.get+p.orNewer(), "%s is of version %s: %s cannot be used", p.name, version, p.use)
		default:
			d.addf(FindingProgram, SeverityOK, "", "%s is of version %s", p.name, version)
		}
	}
}

func (p program) orNewer() string {
	if p.minimum == [2]int{} {
		return ""
	}
	return fmt.Sprintf(" %d.%d or newer", p.minimum[0], p.minimum[1])
}

// tooOld compares the first two numbers of a version.
func (p program) tooOld(version string) bool {
	var found [2]int
	for i, part := range strings.SplitN(version, ".", 3) {
		if i < len(found) {
			found[i], _ = strconv.Atoi(part) // what is no number is old
		}
	}
	return found[0] < p.minimum[0] || found[0] == p.minimum[0] && found[1] < p.minimum[1]
}

// programPatience is how long a program may take to say its version.
const programPatience = 5 * time.Second

// findProgram asks a program of this machine.
func findProgram(ctx context.Context, name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err //nolint:wrapcheck // it names the program
	}
	ctx, cancel := context.WithTimeout(ctx, programPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	return versionIn(string(out))
}

// versionIn finds the first word that begins with a number.
func versionIn(text string) (string, error) {
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimPrefix(word, "v")
		if word != "" && word[0] >= '0' && word[0] <= '9' {
			return word, nil
		}
	}
	return "", fmt.Errorf("there is no number in %.40q", text)
}

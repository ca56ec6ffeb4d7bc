// Package docs runs the commands that our documents show, and compares what
// they print with what the documents say.
//
// A block fenced as "console" is a script. A line that starts with "$ " is a
// command for sh; it goes on while its lines end with a backslash, and over
// lines that start with "> ". The lines after it are its output, stdout and
// stderr as a terminal mixes them; a line "..." stands for any lines. Everything
// that differs from run to run is compared by kind (see normalize). A command
// must succeed, unless the next one is `echo $?`, which shows the reader its
// code. The blocks of one document are one session: directory, variables and
// files stay.
//
// A block with a file in its fence, as in "go file=main.go", is a file that the
// reader writes into the directory that they are in.
//
// A block fenced as "console-norun" shows commands that a test cannot run; each
// of them needs a reason in the table of the test.
package docs

import (
	"errors"
	"fmt"
	"strings"

	"piworkflows/test/markdown"
)

// Step is one command of a document with the output that it is said to have.
type Step struct {
	Line    int
	Command string
	Output  []string
	// MayFail is set if the document goes on to show the exit code.
	MayFail bool
}

// What a document can get wrong about its commands.
var (
	errNoCommand = errors.New("console block does not start with a command, `$ …`")
	errHidden    = errors.New("a command outside of a console block is never run; fence it as console")
	errNotListed = errors.New("console-norun needs a reason in the table of test/docs")
)

const showStatus = "echo $?"

// Steps returns the commands of a document that can be run, in order. Commands
// of console-norun blocks must be keys of norun, and no other block may look
// like a console.
func Steps(document string, norun map[string]string) ([]Step, error) {
	fences, err := markdown.Fences(document)
	if err != nil {
		return nil, fmt.Errorf("find the commands: %w", err)
	}
	var all []Step
	for _, f := range fences {
		steps, err := stepsOf(f, norun)
		if err != nil {
			return nil, err
		}
		all = append(all, steps...)
	}
	return all, nil
}

func stepsOf(f markdown.Fence, norun map[string]string) ([]Step, error) {
	if _, name, ok := strings.Cut(f.Info, " file="); ok {
		return []Step{{Line: f.Line, Command: write(name, f.Code)}}, nil
	}
	steps, err := parse(f)
	if err != nil {
		return nil, err
	}
	switch f.Info {
	case "console":
		return steps, nil
	case "console-norun":
		for _, s := range steps {
			if norun[s.Command] == "" {
				return nil, fmt.Errorf("line %d: %s: %w", s.Line, s.Command, errNotListed)
			}
		}
		return nil, nil
	case "sh", "bash", "shell":
		return nil, fmt.Errorf("line %d: %w", f.Line, errHidden)
	}
	if len(steps) > 0 {
		return nil, fmt.Errorf("line %d: %s: %w", steps[0].Line, steps[0].Command, errHidden)
	}
	return nil, nil
}

// write is a command that writes a file.
func write(name string, lines []string) string {
	const end = "END-OF-THE-FILE"
	return fmt.Sprintf("cat >%s <<'%s'\n%s\n%s", name, end, strings.Join(lines, "\n"), end)
}

// parse splits a block into commands and their output.
func parse(f markdown.Fence) ([]Step, error) {
	var steps []Step
	var inCommand bool
	for i, line := range f.Code {
		command, starts := strings.CutPrefix(line, "$ ")
		switch {
		case starts:
			if command == showStatus && len(steps) > 0 {
				steps[len(steps)-1].MayFail = true
			}
			steps = append(steps, Step{Line: f.Line + i, Command: command})
			inCommand = true
		case len(steps) == 0:
			// Not our kind of block, unless it says so; text after this may
			// still hide a command.
			if strings.HasPrefix(f.Info, "console") {
				return nil, fmt.Errorf("line %d: %w", f.Line+i, errNoCommand)
			}
		default:
			s := &steps[len(steps)-1]
			if inCommand = inCommand && continues(s.Command, line); inCommand {
				s.Command += "\n" + strings.TrimPrefix(line, "> ")
			} else {
				s.Output = append(s.Output, line)
			}
		}
	}
	return steps, nil
}

func continues(command, line string) bool {
	return strings.HasSuffix(command, `\`) || strings.HasPrefix(line, "> ")
}

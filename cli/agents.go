package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"piworkflows/agent"
	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/view"
	"piworkflows/workflow"
)

// The values of --agent.
const (
	agentAsk    = "ask"
	agentPi     = "pi"
	agentScript = "script:"
)

// agentFlag names who does the agent steps of a run.
type agentFlag struct{ value string }

func (f *agentFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.value, "agent", "", "`who` does the agent steps: script:FILE, or ask for you")
	_ = cmd.RegisterFlagCompletionFunc("agent", completeAgent)
}

// completeAgent suggests the values, and the files of a script.
func completeAgent(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	path, isScript := strings.CutPrefix(begun, agentScript)
	if !isScript {
		return []cobra.Completion{agentAsk, agentScript}, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := filepath.Glob(path + "*") // an odd pattern suggests nothing
	suggestions := make([]cobra.Completion, len(names))
	for i, name := range names {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			name += string(filepath.Separator)
		}
		suggestions[i] = agentScript + name
	}
	return suggestions, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// script returns the file of the script, if one is named.
func (f *agentFlag) script() (file string, named bool) {
	return strings.CutPrefix(f.value, agentScript)
}

// check refuses a value that names nobody, and one that needs the stdin that
// another flag reads.
func (f *agentFlag) check(cmd *cobra.Command, stdinTaken bool) error {
	file, isScript := f.script()
	switch {
	case f.value == agentPi:
		return wrongUsage(cmd, "--agent pi comes with a later version: until then give --agent ask or --agent script:FILE")
	case isScript && file == "" || cmd.Flags().Changed("agent") && !isScript && f.value != agentAsk:
		return wrongUsage(cmd, "--agent %.80q is neither ask nor script:FILE", f.value)
	case stdinTaken && (f.value == agentAsk || file == "-"):
		return wrongUsage(cmd, "-f - and --agent %s both read stdin: write one of them to a file", f.value)
	}
	return nil
}

// agents are the executor of a run and what has to be asked about it.
type agents struct {
	executor engine.AgentExecutor
	script   *agent.Script
	// asks says that the executor reads what the person types.
	asks bool
}

// agentsOf returns who does the agent steps of a workflow. What is wrong with a
// script is found here, before there is a run.
func (a *App) agentsOf(f agentFlag, g *workflow.Graph) (agents, error) {
	file, isScript := f.script()
	switch {
	case isScript:
		return a.scripted(source{file: file}, g)
	case f.value == agentAsk:
		return agents{asks: true, executor: agent.NewAsk(agent.AskOptions{
			In: a.o.Stdin, Out: a.o.Stderr, Plain: view.PlainLines, Echo: !isTerminal(a.o.Stdin),
		})}, nil
	default:
		return agents{}, nil
	}
}

func (a *App) scripted(from source, g *workflow.Graph) (agents, error) {
	text, err := from.read(a.o.Stdin)
	if err != nil {
		return agents{}, err
	}
	script, err := agent.ParseScript(text, a.o.Clock)
	if err != nil {
		return agents{}, err
	}
	return agents{executor: script, script: script}, script.Check(g)
}

// leftover is the error of a run that completed without asking for all that its
// script has. A run that ended otherwise has a reason of its own.
func (s agents) leftover(r engine.Result) error {
	if s.script == nil || r.Status != runbundle.Completed {
		return nil
	}
	return s.script.Unused()
}

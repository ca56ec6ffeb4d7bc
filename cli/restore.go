package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"piworkflows/host"
	"piworkflows/internal/wording"
	"piworkflows/view"
)

type restoreResult struct {
	head
	File  string `json:"file"`
	Store string `json:"store"`
	// Kept is the store that was there before; absent if there was none.
	Kept string `json:"kept,omitempty"`
	copyLine
	// OtherProject says that the copy has nothing of the project.
	OtherProject bool `json:"otherProject,omitempty"`
	// Indeterminate counts the effects that are in doubt now.
	Indeterminate int64           `json:"indeterminate"`
	Unrecorded    []unrecordedRun `json:"unrecorded"`
}

// unrecordedRun is a run that had not ended and has no record here.
type unrecordedRun struct {
	RunID    string       `json:"runId"`
	Workflow string       `json:"workflow"`
	Fate     host.RunFate `json:"fate"`
}

type acceptResult struct {
	head
	// Changed is false if there was nothing to accept.
	Changed bool `json:"changed"`
}

// restoreFlags are what restore may do.
type restoreFlags struct {
	accept, otherProject, unreadable bool
	reason                           string
}

func (a *App) restoreCommand() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore FILE | restore --accept",
		Short: "Bring back a copy of the store, or accept what was brought back",
		Long: "Nobody may have the store open. The store that is there is kept under another name. Only with\n" +
			"their flags: a copy that has nothing of this project, and to replace a file that is no database.\n" +
			"What happened after the copy was made is known only outside, so every effect that had not\n" +
			"ended is in doubt, every key gets a pass, and until --accept also new effects are looked for\n" +
			"before they are applied.",
		Args: func(cmd *cobra.Command, args []string) error {
			if f.accept {
				return rangeArgs(0)(cmd, args)
			}
			return exactArgs("FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.accept && (f.otherProject || f.unreadable):
				return wrongUsage(cmd, "--other-project and --replace-unreadable are for a FILE")
			case f.accept:
				return a.acceptRestored(cmd.Context(), f.reason)
			case f.reason != "":
				return wrongUsage(cmd, "--reason is for --accept")
			}
			return a.restore(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().BoolVar(&f.otherProject, "other-project", false, "also a copy that has nothing of this project")
	cmd.Flags().BoolVar(&f.unreadable, "replace-unreadable", false,
		"also if the file in its place is no database: a store whose beginning is ruined")
	cmd.Flags().BoolVar(&f.accept, "accept", false, "apply new effects without looking for them first, as before")
	cmd.Flags().StringVar(&f.reason, "reason", "", "`why` it is accepted, for those who look at it later")
	return cmd
}

func (a *App) restore(ctx context.Context, file string, f restoreFlags) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	r, err := host.Restore(ctx, host.RestoreOptions{
		Paths: paths, From: file, Actor: a.actor(), Clock: a.o.Clock, Logger: a.Logger(), Progress: a.copyProgress(),
		OtherProject: f.otherProject, Unreadable: f.unreadable,
	})
	if err != nil {
		return err
	}
	return a.printRestored(file, paths, r)
}

func (a *App) printRestored(file string, paths host.Paths, r host.Restoration) error {
	if a.flags.json() {
		result := restoreResult{
			schema("restore"), file, paths.Store, r.Kept, copyOf(r.Contents), r.OtherProject, r.Doubted, make([]unrecordedRun, len(r.Runs)),
		}
		for i, run := range r.Runs {
			result.Unrecorded[i] = unrecordedRun(run)
		}
		return a.printJSON(result)
	}
	text := fmt.Sprintf("brought back from %s: %s\n", view.Plain(file), copyOf(r.Contents).text())
	if r.OtherProject {
		text += fmt.Sprintf("it has nothing of project %s, which sees nothing of it\n", view.Plain(paths.Project))
	}
	if r.Kept != "" {
		text += fmt.Sprintf("the store that was there is %s\n", view.Plain(r.Kept))
	}
	text += fmt.Sprintf("%s in doubt; effects are looked for before they are applied\nuntil: %s\n",
		wording.Count(int(r.Doubted), "effect is", "effects are"), a.command("restore --accept"))
	var rows [][]string
	for _, run := range r.Runs {
		rows = append(rows, []string{view.Plain(run.RunID), view.Plain(run.Workflow), string(run.Fate)})
	}
	return a.print(text + a.section([]view.Column{
		{Title: "RUN WITHOUT A RECORD", Flex: true}, {Title: "WORKFLOW", Flex: true}, {Title: "FATE"},
	}, rows))
}

func (a *App) acceptRestored(ctx context.Context, reason string) error {
	return a.withExisting(ctx, func(_ host.Paths, s host.Store) (err error) {
		var changed bool
		if s != nil {
			changed, err = s.AcceptRestored(ctx, a.actor(), reason)
		}
		if err != nil {
			return err
		}
		return a.printAccepted(changed)
	})
}

func (a *App) printAccepted(changed bool) error {
	if a.flags.json() {
		return a.printJSON(acceptResult{schema("restore.accept"), changed})
	}
	words := map[bool]string{true: "accepted: new effects are applied without a look", false: "there was nothing to accept"}
	return a.print(words[changed] + "\n")
}

package demo

import (
	"github.com/spf13/cobra"

	"piworkflows/cli"
)

// Command returns the demo as a command of a command line that has the git-merge
// definitions.
func Command(app *cli.App) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Merge real Git branches through a controller, from end to end",
		Long: "Makes a Git repository with four branches: one is good, one fails its check, one is\n" +
			"moved while it is checked, one conflicts. Asks for all of them to be merged, works until\n" +
			"nothing is left to do, and shows what happened. No credentials, no network.\n\n" +
			"Kill it at any moment and run it again on the same folder: it goes on.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Catalog, err = app.Catalog(); err != nil {
				return err
			}
			o.Program, o.Places = app.Name(), app.Places()
			if o.Places.Project != "" {
				return &cli.UsageError{Command: cmd.CommandPath(), Reason: "the demo makes its own project: name its folder with --dir"}
			}
			o.Out, o.Err = app.Stdout(), app.Stderr()
			o.Live, o.Progress, o.Palette = app.Live(), app.ProgressStyle(), app.Style().Palette
			o.JSON, o.Logger, o.Show = app.JSON(), app.Logger(), app.Run
			return Run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "keep the demo in this `folder`, which is then a project (default: a temporary one)")
	cmd.Flags().BoolVar(&o.Fresh, "fresh", false, "remove what an earlier demo left in the folder first")
	return cmd
}

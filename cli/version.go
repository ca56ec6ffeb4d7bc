package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

type versionResult struct {
	head
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			v := versionResult{schema("version"), a.o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if a.flags.json() {
				return a.printJSON(v)
			}
			return a.print(fmt.Sprintf("%s %s (%s, %s/%s)\n", a.o.Name, v.Version, v.Go, v.OS, v.Arch))
		},
	}
}

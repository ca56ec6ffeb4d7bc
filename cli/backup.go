package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"piworkflows/host"
	"piworkflows/view"
)

// copyLine says what is in a copy of a store.
type copyLine struct {
	Version   int   `json:"version"`
	Bytes     int64 `json:"bytes"`
	Resources int64 `json:"resources"`
	Effects   int64 `json:"effects"`
	Runs      int64 `json:"runs"`
	Events    int64 `json:"events"`
}

func copyOf(n host.StoreContents) copyLine {
	return copyLine{n.Version, n.Bytes, n.Resources, n.Effects, n.Runs, n.Events}
}

// text says it to people.
func (l copyLine) text() string {
	return fmt.Sprintf("%s, %s, %s, %s, %d KiB", count(int(l.Resources), "resource"), count(int(l.Effects), "effect"),
		count(int(l.Runs), "run"), count(int(l.Events), "event"), (l.Bytes+1023)>>10)
}

type backupResult struct {
	head
	File string `json:"file"`
	copyLine
}

func (a *App) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a consistent, verified copy of the store",
		Long: "The copy is of one moment; a host may go on meanwhile. It is read again from end to end\n" +
			"before it gets its name, and nothing is overwritten. It has every project of the store, and\n" +
			"not the records of runs: keep the folder of runs as well.",
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := a.Paths()
			if err != nil {
				return err
			}
			file, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("find %s: %w", args[0], err)
			}
			n, err := host.Backup(cmd.Context(), paths, a.o.Clock, a.Logger(), file, a.copyProgress())
			if err != nil {
				return err
			}
			if a.flags.json() {
				return a.printJSON(backupResult{schema("backup"), file, copyOf(n)})
			}
			return a.print(fmt.Sprintf("copied to %s: %s\n", view.Plain(file), copyOf(n).text()))
		},
	}
}

// copyProgress tells on a terminal how far a copy is.
func (a *App) copyProgress() host.CopyProgress {
	if !a.Live() {
		return nil
	}
	return func(done, total int) {
		end := ""
		if done == total {
			end = "\n"
		}
		fmt.Fprintf(a.o.Stderr, "\rcopying: %d %%%s", 100*done/max(total, 1), end)
	}
}

package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/wording"
	"piworkflows/view"
)

type definitionsResult struct {
	head
	Definitions []definitionLine `json:"definitions"`
	// NotLoaded are controllers that have resources and no definition here.
	NotLoaded []notLoadedLine `json:"notLoaded"`
}

type definitionLine struct {
	Kind     controller.DefinitionKind `json:"kind"`
	Name     string                    `json:"name"`
	Place    host.Place                `json:"place"`
	Source   string                    `json:"source"`
	Digest   string                    `json:"digest,omitempty"`
	State    host.DefinitionState      `json:"state"`
	HiddenBy host.Place                `json:"hiddenBy,omitempty"`
	// Error says why it is broken.
	Error *definitionError `json:"error,omitempty"`
}

type definitionError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type notLoadedLine struct {
	Controller string `json:"controller"`
	Resources  int64  `json:"resources"`
}

// BrokenError says that definitions cannot be used, which were printed.
type BrokenError struct{ Broken int }

func (e *BrokenError) Error() string {
	return wording.Count(e.Broken, "definition", "definitions") + " cannot be used: see above why"
}

// ErrorCode is the stable code of the error.
func (*BrokenError) ErrorCode() string { return "definitions_broken" }

func (a *App) definitionsCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "definitions [--check]",
		Short: "List what controllers and workflows are known, or cannot be used",
		Long: "A definition in the project hides a global one of its kind and name, and that one in the\n" +
			"program. Two of one name in one place disable each other; a broken one disables no other.",
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			catalog, err := a.Catalog()
			if err != nil {
				return err
			}
			var missing []notLoadedLine
			err = a.withReader(cmd.Context(), func(_ host.Paths, s host.Store) (err error) {
				missing, err = notLoaded(cmd.Context(), s, catalog)
				return err
			})
			if err != nil {
				return err
			}
			if err := a.printDefinitions(catalog.Entries(), missing); err != nil {
				return err
			}
			if broken := len(catalog.Problems()); check && broken > 0 {
				return &BrokenError{broken}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "end with exit code 1 if one cannot be used")
	return cmd
}

// notLoaded counts the resources of controllers that are not in the catalog; s is
// nil without a store.
func notLoaded(ctx context.Context, s host.Store, catalog *host.Catalog) ([]notLoadedLine, error) {
	counter, ok := s.(controller.ResourceCounter)
	if !ok {
		return nil, nil // nobody can tell
	}
	counts, err := counter.CountResources(ctx)
	if err != nil {
		return nil, err
	}
	var list []notLoadedLine
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if !slices.Contains(catalog.Controllers.Names(), name) {
			list = append(list, notLoadedLine{name, counts[name]})
		}
	}
	return list, nil
}

func (a *App) printDefinitions(entries []host.DefinitionEntry, missing []notLoadedLine) error {
	if a.flags.json() {
		result := definitionsResult{schema("definitions"), make([]definitionLine, len(entries)), missing}
		for i, e := range entries {
			result.Definitions[i] = definitionOf(e)
		}
		if missing == nil {
			result.NotLoaded = []notLoadedLine{}
		}
		return a.printJSON(result)
	}
	rows := make([][]string, len(entries))
	var troubles [][2]string
	for i, e := range entries {
		state := string(e.State)
		if e.State == host.DefinitionHidden {
			state += " by " + string(e.HiddenBy)
		}
		rows[i] = []string{string(e.Kind), view.Plain(e.Name), string(e.Place), state, view.Plain(e.Source)}
		if e.Err != nil {
			troubles = append(troubles, [2]string{view.Plain(e.Name), view.PlainLines(e.Err.Error())})
		}
	}
	text := a.section([]view.Column{
		{Title: "KIND"}, {Title: "NAME", Flex: true}, {Title: "PLACE"}, {Title: "STATE"}, {Title: "SOURCE", Flex: true},
	}, rows)
	if len(troubles) > 0 {
		text += "\n" + view.Facts(troubles, a.Style())
	}
	return a.print(text + a.notLoadedTable(missing))
}

func (a *App) notLoadedTable(missing []notLoadedLine) string {
	rows := make([][]string, len(missing))
	for i, m := range missing {
		rows[i] = []string{view.Plain(m.Controller), strconv.FormatInt(m.Resources, 10)}
	}
	if len(rows) == 0 {
		return ""
	}
	return "\n" + a.section([]view.Column{{Title: "CONTROLLER THAT IS NOT LOADED", Flex: true}, {Title: "RESOURCES", Right: true}}, rows)
}

func definitionOf(e host.DefinitionEntry) definitionLine {
	line := definitionLine{e.Kind, e.Name, e.Place, e.Source, e.Digest, e.State, e.HiddenBy, nil}
	if e.Err != nil {
		line.Error = &definitionError{codeOf(e.Err), message(e.Err)}
	}
	return line
}

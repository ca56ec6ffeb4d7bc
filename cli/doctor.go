package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"piworkflows/host"
	"piworkflows/internal/wording"
	"piworkflows/view"
)

type doctorResult struct {
	head
	// Wrong counts the warnings and errors.
	Wrong    int           `json:"wrong"`
	Findings []findingLine `json:"findings"`
}

type findingLine struct {
	Code     host.FindingCode `json:"code"`
	Severity host.Severity    `json:"severity"`
	Message  string           `json:"message"`
	Run      string           `json:"run,omitempty"`
	Do       string           `json:"do,omitempty"`
}

// FindingsError says that doctor found something wrong, which it has printed.
type FindingsError struct{ Wrong int }

func (e *FindingsError) Error() string {
	return wording.Count(e.Wrong, "thing is", "things are") + " wrong: see above what mends it"
}

// ErrorCode is the stable code of the error.
func (*FindingsError) ErrorCode() string { return "something_wrong" }

func (a *App) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong here, and what mends it",
		Long: "It only looks. The exit code is 1 if something is wrong; notes are not. The codes of the\n" +
			"findings are stable; docs/doctor.md explains each.",
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := a.Paths()
			if err != nil {
				return err
			}
			catalog, err := a.Catalog()
			if err != nil {
				return err
			}
			o := host.DoctorOptions{Paths: paths, Catalog: catalog, Clock: a.o.Clock, Logger: a.Logger()}
			return a.printFindings(host.Diagnose(cmd.Context(), o))
		},
	}
}

func (a *App) printFindings(list []host.Finding) error {
	wrong := len(host.Wrong(list))
	if err := a.showFindings(list, wrong); err != nil {
		return err
	}
	if wrong > 0 {
		return &FindingsError{wrong}
	}
	return nil
}

func (a *App) showFindings(list []host.Finding, wrong int) error {
	if a.flags.json() {
		lines := make([]findingLine, len(list))
		for i, f := range list {
			lines[i] = findingLine{f.Code, f.Severity, f.Message, f.Run, f.Do}
		}
		return a.printJSON(doctorResult{schema("doctor"), wrong, lines})
	}
	var facts [][2]string
	for _, f := range list {
		facts = append(facts, [2]string{string(f.Severity), view.Plain(f.Message)})
		if f.Wrong() {
			facts = append(facts, [2]string{"", fmt.Sprintf("(%s)", f.Code)})
		}
		if mends := a.mends(f); mends != "" {
			facts = append(facts, [2]string{"", "do: " + mends})
		}
	}
	return a.print(view.Facts(facts, a.Style()))
}

// mends is what a person types or does.
func (a *App) mends(f host.Finding) string {
	if f.Run != "" {
		return a.commandBlock(f.Run)
	}
	return view.Plain(f.Do)
}

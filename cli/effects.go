package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type effectsResult struct {
	head
	Effects []effectLine `json:"effects"`
	// Continue is absent on the last page.
	Continue string `json:"continue,omitempty"`
}

// effectLine is an effect with its resource; the fields of the effect are those
// of the command controller.
type effectLine struct {
	Controller  string                  `json:"controller"`
	ResourceKey string                  `json:"resourceKey"`
	Effect      controller.EffectRecord `json:"effect"`
	// Attempts are there if they were asked for.
	Attempts []controller.EffectAttempt `json:"attempts,omitempty"`
}

type resolveResult struct {
	head
	effectLine
	Verdict controller.VerdictKind `json:"verdict"`
}

var effectStates = []string{
	string(controller.EffectPending), string(controller.EffectApplied), string(controller.EffectRejected),
	string(controller.EffectIndeterminate),
}

func (a *App) effectsCommand() *cobra.Command {
	var q controller.EffectQuery
	var state string
	var attempts, watch bool
	cmd := &cobra.Command{
		Use:   "effects [CONTROLLER [KEY]]",
		Short: "List effects, the newest first, or resolve an uncertain one",
		Long: "An effect is one change of the outside, recorded before it is tried. One that is pending or\n" +
			"indeterminate is observed before it is tried again. --attempts shows what was tried for the\n" +
			"effects of one resource: each call and each verdict, the first and the newest.",
		Args:              rangeArgs(0, "CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if state != "" && !slices.Contains(effectStates, state) {
				return wrongUsage(cmd, "--state %.40q is none of %s", state, strings.Join(effectStates, ", "))
			}
			if err := checkLimit(cmd, q.Limit, 1000); err != nil {
				return err
			}
			if attempts && len(args) < 2 {
				return wrongUsage(cmd, "--attempts needs CONTROLLER and KEY")
			}
			q.State = controller.EffectState(state)
			if len(args) > 0 {
				q.Controller = args[0]
			}
			if len(args) > 1 {
				q.Key = args[1]
			}
			return a.withReader(cmd.Context(), func(_ host.Paths, s host.Store) error {
				if watch && s != nil {
					return a.watchEffects(cmd.Context(), s, q, attempts)
				}
				return a.listEffects(cmd.Context(), s, q, attempts)
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only effects in this `state`: pending, applied, rejected or indeterminate")
	cmd.Flags().BoolVar(&attempts, "attempts", false, "show what was tried for each effect of CONTROLLER KEY")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "at most `n` effects, 1 to 1000")
	cmd.Flags().StringVar(&q.Continue, "continue", "", "go on after an earlier page, with the `token` that it gave")
	cmd.Flags().BoolVar(&watch, "watch", false, "go on and show them anew whenever something changes")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(effectStates, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(a.resolveCommand())
	return cmd
}

func (a *App) listEffects(ctx context.Context, s host.Store, q controller.EffectQuery, attempts bool) error {
	list, more, err := effectLines(ctx, s, q, attempts)
	if err == nil {
		err = a.knownOrUsed(q.Controller, len(list))
	}
	if err != nil {
		return err
	}
	return a.printEffects(list, more)
}

func (a *App) watchEffects(ctx context.Context, s host.Store, q controller.EffectQuery, attempts bool) error {
	return a.watchList(ctx, s, controller.ChangeFilter{Controller: q.Controller, Key: q.Key}, func() (listing, error) {
		list, more, err := effectLines(ctx, s, q, attempts)
		return listing{a.effectListTable(list), effectsResult{schema("effects"), list, more}}, err
	})
}

// effectLines finds effects, and where the next page begins; s is nil if the project
// has no store.
func effectLines(ctx context.Context, s host.Store, q controller.EffectQuery, attempts bool) (lines []effectLine, more string, err error) {
	if s == nil {
		return []effectLine{}, "", nil
	}
	list, err := s.ListEffects(ctx, q)
	lines = make([]effectLine, len(list))
	for i, e := range list {
		lines[i] = effectLine{Controller: e.Controller, ResourceKey: e.Ref.Key, Effect: e.EffectRecord}
		if attempts && err == nil {
			lines[i].Attempts, err = s.EffectAttempts(ctx, e.Ref, e.EffectRecord.Key)
		}
	}
	if len(list) == q.Limit {
		more = list[len(list)-1].Continue
	}
	return lines, more, err
}

func (a *App) printEffects(list []effectLine, more string) error {
	if a.flags.json() {
		return a.printJSON(effectsResult{schema("effects"), list, more})
	}
	if len(list) == 0 {
		a.sayf("there are no such effects")
		return nil
	}
	if more != "" {
		a.sayf("there may be more: --continue %s", more)
	}
	return a.print(a.effectListTable(list))
}

func (a *App) effectListTable(list []effectLine) string {
	rows := make([][]string, len(list))
	for i, l := range list {
		ref, e := controller.Ref{Controller: l.Controller, Key: l.ResourceKey}, l.Effect
		rows[i] = []string{
			view.Plain(ref.String()), view.Plain(e.Key), view.Plain(e.Kind), a.effectState(e.State),
			a.since(e.StartedAt), effectNote(e),
		}
	}
	return a.section([]view.Column{
		{Title: "RESOURCE"}, {Title: "EFFECT", Flex: true}, {Title: "KIND"}, {Title: "STATE"}, {Title: "AGE", Right: true},
		{Title: "REFERENCE OR ERROR", Flex: true},
	}, rows) + a.attemptTable(list)
}

// attemptTable lists the attempts of all effects, if there are any.
func (a *App) attemptTable(list []effectLine) string {
	var rows [][]string
	for _, l := range list {
		for _, t := range l.Attempts {
			rows = append(rows, []string{
				view.Plain(l.Effect.Key), strconv.Itoa(t.Number), string(t.Action), view.Plain(cmp.Or(string(t.Outcome), "under way")),
				a.since(t.StartedAt), attemptTook(t), view.Plain(cmp.Or(t.Error, verdictNote(t))),
			})
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return "\n" + a.section([]view.Column{
		{Title: "EFFECT", Flex: true}, {Title: "N", Right: true}, {Title: "ACTION"}, {Title: "OUTCOME"}, {Title: "AGE", Right: true},
		{Title: "TOOK", Right: true}, {Title: "ERROR OR VERDICT", Flex: true},
	}, rows)
}

// attemptTook is how long an attempt was under way, if that is known.
func attemptTook(t controller.EffectAttempt) string {
	if t.EndedAt == nil {
		return ""
	}
	return t.EndedAt.Sub(t.StartedAt).String()
}

func verdictNote(t controller.EffectAttempt) string {
	if t.Actor == "" {
		return ""
	}
	return t.Actor + ": " + t.Reason
}

func verdictWords() []string {
	words := make([]string, len(controller.Verdicts()))
	for i, v := range controller.Verdicts() {
		words[i] = string(v)
	}
	return words
}

func (a *App) resolveCommand() *cobra.Command {
	var reason string
	verdicts := verdictWords()
	cmd := &cobra.Command{
		Use:   "resolve CONTROLLER KEY EFFECT VERDICT --reason R",
		Short: "Say what became of an uncertain effect",
		Long: "For an effect of which the controller cannot find out how it ended. Look at the outside first:\n" +
			"  applied      the change is there\n" +
			"  not-applied  it is certainly not there; the next pass makes it without looking\n" +
			"  abandon      it is not to be made\n" +
			"Who said so and why is recorded.",
		Args:              exactArgs("CONTROLLER", "KEY", "EFFECT", "VERDICT"),
		ValidArgsFunction: a.complete(a.uncertainEffects),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				return wrongUsage(cmd, "--reason is missing: say why, for those who look at it later")
			}
			if !slices.Contains(verdicts, args[3]) {
				return wrongUsage(cmd, "%.40q is none of %s", args[3], strings.Join(verdicts, ", "))
			}
			ref, v := refArgs(args), controller.Verdict{
				Effect: args[2], Kind: controller.VerdictKind(args[3]), Actor: a.actor(), Reason: reason,
			}
			return a.withResource(cmd.Context(), ref, func(s host.Store) error {
				r, err := s.ResolveEffect(cmd.Context(), ref, v)
				if err != nil {
					return err
				}
				return a.printResolved(ref, r, v.Kind)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`; required")
	return cmd
}

func (a *App) printResolved(ref controller.Ref, r controller.EffectRecord, v controller.VerdictKind) error {
	if a.flags.json() {
		return a.printJSON(resolveResult{schema("effects.resolve"), effectLine{Controller: ref.Controller, ResourceKey: ref.Key, Effect: r}, v})
	}
	return a.print(fmt.Sprintf("effect %s of %s is %s\n", view.Plain(r.Key), view.Plain(ref.String()), r.State))
}

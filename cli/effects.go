package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type effectsResult struct {
	head
	Effects []effectLine `json:"effects"`
}

// effectLine is an effect with its resource; the fields of the effect are those
// of the command controller.
type effectLine struct {
	Controller  string                  `json:"controller"`
	ResourceKey string                  `json:"resourceKey"`
	Effect      controller.EffectRecord `json:"effect"`
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
	cmd := &cobra.Command{
		Use:   "effects [CONTROLLER [KEY]]",
		Short: "List effects, the newest first, or resolve an uncertain one",
		Long: "An effect is one change of the outside, recorded before it is tried. One that is pending or\n" +
			"indeterminate is observed before it is tried again.",
		Args:              rangeArgs(0, "CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if state != "" && !slices.Contains(effectStates, state) {
				return wrongUsage(cmd, "--state %.40q is none of %v", state, effectStates)
			}
			if err := checkLimit(cmd, q.Limit, 1000); err != nil {
				return err
			}
			q.State = controller.EffectState(state)
			if len(args) > 0 {
				q.Controller = args[0]
			}
			if len(args) > 1 {
				q.Key = args[1]
			}
			return a.withExisting(cmd.Context(), func(_ host.Paths, s host.Store) error {
				var list []controller.EffectItem
				if s != nil {
					var err error
					if list, err = s.ListEffects(cmd.Context(), q); err != nil {
						return err
					}
				}
				if err := a.knownOrUsed(q.Controller, len(list)); err != nil {
					return err
				}
				return a.printEffects(list)
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only effects in this `state`: pending, applied, rejected or indeterminate")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "at most `n` effects, 1 to 1000")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(effectStates, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(a.resolveCommand())
	return cmd
}

func (a *App) printEffects(list []controller.EffectItem) error {
	if a.flags.json() {
		lines := make([]effectLine, len(list))
		for i, e := range list {
			lines[i] = effectLine{e.Controller, e.Ref.Key, e.EffectRecord}
		}
		return a.printJSON(effectsResult{schema("effects"), lines})
	}
	if len(list) == 0 {
		a.sayf("there are no such effects")
		return nil
	}
	rows := make([][]string, len(list))
	for i, e := range list {
		rows[i] = []string{
			view.Plain(e.Ref.String()), view.Plain(e.EffectRecord.Key), view.Plain(e.Kind), a.effectState(e.State),
			a.since(e.StartedAt), effectNote(e.EffectRecord),
		}
	}
	return a.print(a.section([]view.Column{
		{Title: "RESOURCE"}, {Title: "EFFECT", Flex: true}, {Title: "KIND"}, {Title: "STATE"}, {Title: "AGE", Right: true},
		{Title: "REFERENCE OR ERROR", Flex: true},
	}, rows))
}

func (a *App) resolveCommand() *cobra.Command {
	var reason string
	verdicts := make([]string, len(controller.Verdicts()))
	for i, v := range controller.Verdicts() {
		verdicts[i] = string(v)
	}
	cmd := &cobra.Command{
		Use:   "resolve CONTROLLER KEY EFFECT VERDICT --reason R",
		Short: "Say what became of an uncertain effect",
		Long: "For an effect of which the controller cannot find out how it ended. Look at the outside first:\n" +
			"  applied      the change is there\n" +
			"  not-applied  it is certainly not there; the next pass makes it without looking\n" +
			"  abandon      it is not to be made\n" +
			"Who said so and why is recorded.",
		Args:              exactArgs("CONTROLLER", "KEY", "EFFECT", "VERDICT"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				return wrongUsage(cmd, "--reason is missing: say why, for those who look at it later")
			}
			if !slices.Contains(verdicts, args[3]) {
				return wrongUsage(cmd, "%.40q is none of %v", args[3], verdicts)
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
		return a.printJSON(resolveResult{schema("effects.resolve"), effectLine{ref.Controller, ref.Key, r}, v})
	}
	return a.print(fmt.Sprintf("effect %s of %s is %s\n", view.Plain(r.Key), view.Plain(ref.String()), r.State))
}

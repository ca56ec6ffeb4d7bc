package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

// patchAttempts bounds how often a patch is tried again because the resource
// changed between reading and writing. Each loss means that somebody else won.
const patchAttempts = 10

type applyFlags struct {
	// value is the spec or, if patch is set, what changes it.
	value source
	patch bool
	// expect is the version that the resource must have if expected is set.
	expect   int64
	expected bool
	dryRun   bool
}

type applyResult struct {
	head
	Action   controller.PutAction `json:"action"`
	DryRun   bool                 `json:"dryRun"`
	Resource controller.Raw       `json:"resource"`
}

func (a *App) applyCommand() *cobra.Command {
	var f applyFlags
	var change string
	cmd := &cobra.Command{
		Use:                   "apply CONTROLLER KEY (--spec JSON | -f FILE | --patch JSON)",
		DisableFlagsInUseLine: true,
		Short:                 "Create a resource or change what is asked of it",
		Long: "Stores a spec, which the controller checks first, and wakes the key if the spec changed.\n" +
			"Prints created, configured or unchanged.",
		Example: "  pi-workflows apply git-merge feature-1 -f feature-1.json\n" +
			"  pi-workflows apply git-merge feature-1 --patch '{\"approved\":true}'",
		Args:              exactArgs("CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.expected, f.patch = cmd.Flags().Changed("expect"), cmd.Flags().Changed("patch")
			if f.patch {
				f.value.literal = change
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.apply(cmd.Context(), refArgs(args), f)
		},
	}
	cmd.Flags().StringVar(&f.value.literal, "spec", "", "the whole spec as `JSON`")
	cmd.Flags().StringVarP(&f.value.file, "file", "f", "", "the whole spec from a `file`, - for stdin")
	cmd.Flags().StringVar(&change, "patch", "", "change the stored spec by a `JSON` merge patch (RFC 7386)")
	cmd.Flags().Int64Var(&f.expect, "expect", 0, "only if the resource has this `version`; 0: only if there is none")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "check everything, say what would happen, write nothing")
	return cmd
}

func (f *applyFlags) check(cmd *cobra.Command) error {
	given := 0
	for _, name := range []string{"spec", "file", "patch"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	switch {
	case given != 1:
		return wrongUsage(cmd, "give exactly one of --spec, -f and --patch")
	case f.expected && f.expect < 0:
		return wrongUsage(cmd, "--expect %d is no version", f.expect)
	}
	return nil
}

func (a *App) apply(ctx context.Context, ref controller.Ref, f applyFlags) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	def, err := catalog.Controllers.Get(ref.Controller)
	if err != nil {
		return err
	}
	if err := controller.ValidateRef(ref); err != nil {
		return err
	}
	value, err := f.value.read(a.o.Stdin)
	if err != nil {
		return err
	}
	w := spec{applyFlags: f, def: def, put: controller.Put{Ref: ref, Spec: value, Actor: a.actor(), DryRun: f.dryRun}}
	if f.expected {
		w.put.Expect = &f.expect
	}
	if err := a.write(ctx, &w); err != nil {
		return err
	}
	return a.printApplied(w.result, f.dryRun)
}

// write puts a spec into the store of the project. In a project without one it
// is tried on a store that is thrown away first: what is refused leaves no
// trace, and neither does a dry run.
func (a *App) write(ctx context.Context, w *spec) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	if _, err := os.Stat(paths.Store); errors.Is(err, fs.ErrNotExist) {
		trial := *w
		trial.put.DryRun = true
		err := a.scratch(ctx, paths, func(_ host.Paths, s host.Store) error { return trial.writeTo(ctx, s) })
		if err != nil || w.dryRun {
			w.result = trial.result
			return err
		}
	}
	return a.open(ctx, paths, func(_ host.Paths, s host.Store) error { return w.writeTo(ctx, s) })
}

// spec is one spec, or the patch of one, on its way to a store.
type spec struct {
	applyFlags
	def    *controller.Definition
	put    controller.Put
	result controller.PutResult
}

// writeTo stores the spec. A patch is applied to what is stored; the version
// that was read is the precondition of the write. If it lost, the patch is
// applied to what is there now, unless the caller demanded a version.
func (w *spec) writeTo(ctx context.Context, s host.Store) (err error) {
	if !w.patch {
		w.result, err = controller.PutSpec(ctx, s, w.def, w.put)
		return err
	}
	for attempt := 1; ; attempt++ {
		err := w.patchOnce(ctx, s)
		if !errors.Is(err, controller.ErrConflict) || w.expected || attempt == patchAttempts {
			return err
		}
	}
}

func (w *spec) patchOnce(ctx context.Context, s host.Store) error {
	r, err := s.Get(ctx, w.put.Ref)
	if err != nil {
		return err
	}
	put := w.put
	if put.Spec, err = mergePatch(r.Spec, w.put.Spec); err != nil {
		return err
	}
	if !w.expected {
		put.Expect = &r.Metadata.ResourceVersion
	}
	w.result, err = controller.PutSpec(ctx, s, w.def, put)
	return err
}

func (a *App) printApplied(r controller.PutResult, dryRun bool) error {
	if a.flags.json() {
		return a.printJSON(applyResult{schema("apply"), r.Action, dryRun, r.Resource})
	}
	note := ""
	if dryRun {
		note = " (dry run)"
	}
	return a.print(view.Plain(r.Resource.Metadata.Ref().String()) + " " + string(r.Action) + note + "\n")
}

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/secret"
)

// notifyFlags say whom a host tells of what needs a person.
type notifyFlags struct {
	hooks  []string
	secret string
	kinds  []string
}

func (f *notifyFlags) register(cmd *cobra.Command) {
	kinds := make([]string, len(controller.NoticeKinds()))
	for i, kind := range controller.NoticeKinds() {
		kinds[i] = string(kind)
	}
	cmd.Flags().StringArrayVar(&f.hooks, "notify", nil,
		"tell people at `NAME=TARGET`: a URL, or exec:PROGRAM ARG...")
	cmd.Flags().StringVar(&f.secret, "notify-secret", "", "the `secret` that requests are signed with, as env:NAME or file:PATH")
	cmd.Flags().StringSliceVar(&f.kinds, "notify-on", nil, "tell only these `kinds`, see docs/operations.md")
	_ = cmd.RegisterFlagCompletionFunc("notify-on", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
}

// parse makes hooks of the flags; the host checks them.
func (f *notifyFlags) parse(cmd *cobra.Command) ([]host.NotifyHook, error) {
	var ref secret.Ref
	if f.secret != "" {
		var err error
		if ref, err = secret.Parse(f.secret); err != nil {
			return nil, err
		}
	}
	var list []host.NotifyHook
	for _, text := range f.hooks {
		name, target, ok := strings.Cut(text, "=")
		if !ok {
			return nil, wrongUsage(cmd, "--notify %.40q is not NAME=TARGET", text)
		}
		h := host.NotifyHook{Name: name}
		if command, isProgram := strings.CutPrefix(target, "exec:"); isProgram {
			h.Argv = strings.Fields(command)
		} else {
			h.URL, h.Secret = target, ref
		}
		for _, kind := range f.kinds {
			h.Kinds = append(h.Kinds, controller.NoticeKind(kind))
		}
		list = append(list, h)
	}
	return list, nil
}

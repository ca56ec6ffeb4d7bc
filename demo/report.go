package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/builtin/gitmerge"
	"piworkflows/controller"
	"piworkflows/internal/wording"
)

// result is the JSON form of a finished demo.
type result struct {
	Schema   string        `json:"schema"`
	Project  string        `json:"project"`
	Store    string        `json:"store"`
	Runs     string        `json:"runs"`
	Branches []branchState `json:"branches"`
}

// branchState is the end of one branch.
type branchState struct {
	Key    string               `json:"key"`
	Ready  controller.Readiness `json:"ready"`
	Merged bool                 `json:"merged"`
}

// report tells how it ended, shows what is recorded, and where to look next.
func (d *run) report(ctx context.Context, all []verdict) error {
	if d.JSON {
		return d.reportJSON(all)
	}
	fmt.Fprintf(d.Out, "\nEvery branch ended as it should:\n\n")
	for _, v := range all {
		fmt.Fprintf(d.Out, "  %-10s %s  %s\n", v.key, d.end(v), v.about)
	}
	return d.records(ctx)
}

// end is how a branch ended, as wide as the longest end.
func (d *run) end(v verdict) string {
	if v.ready == controller.True {
		return d.Palette.Good(fmt.Sprintf("%-20s", merged))
	}
	return d.Palette.Bad(fmt.Sprintf("%-20s", blocked+" "+v.got.Reason))
}

func (d *run) reportJSON(all []verdict) error {
	r := result{Schema: "pi-workflows.cli.demo.v1", Project: d.Dir, Store: d.paths.Store, Runs: d.paths.Runs}
	for _, v := range all {
		r.Branches = append(r.Branches, branchState{v.key, v.got, v.merged})
	}
	e := json.NewEncoder(d.Out)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// records shows what is recorded, by the commands that a user has.
func (d *run) records(ctx context.Context) error {
	for _, args := range [][]string{
		{"controllers"},
		{"controller", gitmerge.Name, "good"},
		{"runs"},
	} {
		fmt.Fprintf(d.Out, "\n%s %s\n", d.Palette.Bold("$"), d.command(args...))
		if err := d.Show(ctx, append(args, d.flags...)...); err != nil {
			return err
		}
	}
	return d.next(ctx)
}

// next tells where to look next.
func (d *run) next(ctx context.Context) error {
	children, err := d.store.Children(ctx, branches[0].ref())
	if err != nil {
		return err
	}
	commands := [][]string{
		{"controller", gitmerge.Name, "failing"},
		{"events", gitmerge.Name, "good"},
		{"graph", gitmerge.WorkflowName},
	}
	for _, child := range children {
		commands = append(commands, []string{"view", child.RunID, "--once"})
	}
	fmt.Fprintf(d.Out, "\nWhere to look next:\n\n")
	for _, args := range commands {
		fmt.Fprintf(d.Out, "  %s\n", d.command(args...))
	}
	return nil
}

// again is the command that goes on with this demo.
func (d *run) again() string {
	parts := []string{d.Program, "demo", "--dir", wording.Argument(d.Dir)}
	for _, flag := range d.flags[2:] { // without the project
		parts = append(parts, wording.Argument(flag))
	}
	return strings.Join(parts, " ")
}

// command writes a command as a user types it; the flags of a temporary demo
// are long and get lines of their own.
func (d *run) command(args ...string) string {
	separator := " "
	if len(d.flags) > 2 {
		separator = " \\\n    "
	}
	parts := []string{strings.Join(append([]string{d.Program}, args...), " ")}
	for i := 0; i < len(d.flags); i += 2 {
		parts = append(parts, d.flags[i]+" "+wording.Argument(d.flags[i+1]))
	}
	return strings.Join(parts, separator)
}

package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/wording"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

// maxLooked bounds the rows of one kind that are looked at, the newest.
const maxLooked = 1000

// flags tells what was switched on for the whole project.
func (d *doctor) flags(ctx context.Context, s *sqlite.Store) error {
	f, err := s.Frozen(ctx)
	if err != nil {
		return err
	}
	if f != nil {
		d.addf(FindingFrozen, SeverityNote, "$ unfreeze", "no effect is applied since %s: the project was frozen by %s%s",
			clock.Format(f.At), wording.OrSomebody(f.Actor), wording.Because(f.Reason))
	}
	r, err := s.Restored(ctx)
	if err != nil {
		return err
	}
	if r != nil {
		d.addf(FindingRestored, SeverityNote, "$ restore --accept",
			"%s brought the store back at %s from %s: also new effects are looked for before they are applied",
			wording.OrSomebody(r.Actor), clock.Format(r.At), r.From)
	}
	return nil
}

// host tells who runs the workers, and whether somebody is needed.
func (d *doctor) host(ctx context.Context, s *sqlite.Store) error {
	holder, runs, err := Holder(d.Paths)
	if err != nil {
		return err
	}
	d.hostRuns = runs
	if runs {
		d.addf(FindingHostRuns, SeverityOK, "", "a host runs: %s", holder)
	}
	w, err := s.Workers(ctx)
	if err != nil {
		return err
	}
	if w.Holder != "" {
		d.addf(FindingWorkers, SeverityOK, "", "the workers are run by %s, since %s", w.Holder, clock.Format(w.Since))
	}
	if runs || w.Holder != "" {
		return nil
	}
	b, err := s.Backlog(ctx, d.Catalog.Controllers.Names())
	if err != nil {
		return err
	}
	if due := b.Ready + b.Runs; due > 0 {
		d.addf(FindingWorkWaits, SeverityWarning, "$ host", "%s due, for %s at most, and no host runs in this project",
			wording.Count(due, "piece of work is", "pieces of work are"), b.Waiting.Round(1e9))
		return nil
	}
	d.addf(FindingNoHost, SeverityNote, "$ host", "no host runs in this project, and nothing is due")
	return nil
}

// effects tells of those of which nobody knows how they ended.
func (d *doctor) effects(ctx context.Context, s *sqlite.Store) error {
	list, err := s.ListEffects(ctx, controller.EffectQuery{State: controller.EffectIndeterminate, Limit: maxLooked})
	if err != nil || len(list) == 0 {
		return err
	}
	d.addf(FindingInDoubt, SeverityWarning, "$ effects --state indeterminate", "%s in doubt, the newest %s of %s",
		wording.Count(len(list), "effect is", "effects are"), list[0].EffectRecord.Key, list[0].Ref)
	return nil
}

// runs tells of those that wait for a person, and of those that lost their record.
func (d *doctor) runs(ctx context.Context, s *sqlite.Store) error {
	interrupted := 0
	for _, status := range []runqueue.Status{runqueue.Running, runqueue.Parked} {
		rows, err := s.Runs(ctx, runqueue.Query{Status: status, Limit: maxLooked})
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Holder != "" || d.cutOff(row) || row.ChildOf != "" {
				continue
			}
			if _, err := runbundle.ReadManifest(filepath.Join(d.Runs, row.RunID)); unrecorded(err) {
				d.addf(FindingRunUnrecorded, SeverityWarning, "name the right folder with --runs, or cancel "+row.RunID,
					"run %s is %s, and its record is not in %s", row.RunID, RunStatus(row, nil), d.Runs)
				continue
			}
			if row.Interrupted() {
				interrupted++
			}
		}
	}
	if interrupted > 0 {
		d.addf(FindingRunInterrupted, SeverityNote, "$ runs --status interrupted", "%s cut off: resume or cancel each",
			wording.Count(interrupted, "run was", "runs were"))
	}
	return nil
}

// sources tells of those that do not work as they should. What a host said that is
// gone is over.
func (d *doctor) sources(ctx context.Context, s *sqlite.Store) error {
	if !d.hostRuns {
		return nil
	}
	list, err := s.Sources(ctx)
	for _, status := range list {
		name := status.Controller + "/" + status.Source
		switch status.State {
		case controller.SourceDegraded:
			d.addf(FindingSourceDegraded, SeverityWarning, "$ sources "+status.Controller,
				"source %s works less well than it should: %s", name, status.Reason)
		case controller.SourceRestarting:
			d.addf(FindingSourceFailing, SeverityError, "$ sources "+status.Controller,
				"source %s failed and waits to be started again: %s", name, status.LastError)
		case controller.SourceRunning, controller.SourceStopped:
		}
	}
	return err
}

// definitions tells what the program knows.
func (d *doctor) definitions() {
	d.addf(FindingDefinitions, SeverityOK, "", "%s and %s are known",
		wording.Count(len(d.Catalog.Controllers.Names()), "controller", "controllers"),
		wording.Count(len(d.Catalog.WorkflowNames()), "workflow", "workflows"))
	for _, problem := range d.Catalog.Problems() {
		d.addf(FindingDefinition, SeverityError, "$ definitions --check", "%v", problem)
	}
}

// notLoaded tells of resources that no program of this kind works on.
func (d *doctor) notLoaded(i sqlite.Inspection) {
	var missing []string
	for name, n := range i.Resources {
		if !slices.Contains(d.Catalog.Controllers.Names(), name) {
			missing = append(missing, fmt.Sprintf("%s (%d)", name, n))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		d.addf(FindingNotLoaded, SeverityWarning, "run a host of the program that has it",
			"resources of controllers that this program has not: %s",
			strings.Join(missing, ", "))
	}
}

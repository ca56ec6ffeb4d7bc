package host

import (
	"context"
	"errors"
	"time"

	"piworkflows/controller"
)

// actorRetention is the author of deletions that a time to live asked for.
const actorRetention = "retention"

// resources requests the deletion of completed resources, so that their
// controllers clean up as always.
func (s *sweeper) resources(ctx context.Context, now time.Time, dryRun bool) (deleted []controller.Ref, err error) {
	for _, d := range s.o.Catalog.definitions() {
		if d.CompletedTTL <= 0 {
			continue
		}
		found, err := s.completed(ctx, d.Name, now.Add(-d.CompletedTTL))
		if err != nil {
			return deleted, err
		}
		for _, m := range found {
			if !dryRun {
				err = s.delete(ctx, m)
			}
			switch {
			case errors.Is(err, controller.ErrConflict), errors.Is(err, controller.ErrNotFound):
				err = nil // somebody changed it
			case err != nil:
				return deleted, err
			default:
				deleted = append(deleted, m.Ref())
			}
		}
	}
	return deleted, nil
}

func (s *sweeper) delete(ctx context.Context, m controller.Metadata) error {
	_, err := s.store.RequestDeletion(ctx, controller.Deletion{Ref: m.Ref(), Expect: &m.ResourceVersion, Actor: actorRetention})
	return err
}

// completed finds the resources of a controller that have been completed since
// before a moment.
func (s *sweeper) completed(ctx context.Context, name string, before time.Time) (list []controller.Metadata, err error) {
	for q := (controller.ListQuery{Controller: name, Limit: 1000}); ; {
		page, err := s.store.List(ctx, q)
		if err != nil {
			return list, err
		}
		for _, item := range page.Items {
			if completed(item) && item.UpdatedAt.Before(before) {
				list = append(list, item.Resource.Metadata)
			}
		}
		if q.Continue = page.Continue; q.Continue == "" {
			return list, nil
		}
	}
}

// completed reports whether nothing is left to do for a resource: it is ready for
// what is asked of it now, nothing is queued, and no child run goes on.
func completed(item controller.ListItem) bool {
	r, q := item.Resource, item.Queue
	run := r.Status.WorkflowRun
	return q.State == controller.QueueNone && q.Suspension == nil && q.Stalled == "" && !r.Metadata.Deleting() &&
		controller.ReadinessOf(r).Status == controller.True &&
		(run == nil || run.State == controller.RunSucceeded || run.State == controller.RunFailed)
}

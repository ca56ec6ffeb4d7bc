package cli

import (
	"context"
	"errors"

	"piworkflows/controller"
	"piworkflows/host"
)

// situation is what a picture tells for an explanation.
func (a *App) situation(p picture) controller.Situation {
	return controller.Situation{
		Resource: p.resource, Queue: p.queue, Effects: p.effects, Children: p.children,
		Loaded: a.known(p.resource.Metadata.Controller) == nil, Now: a.o.Clock.Now(),
	}
}

// surroundings are what explanations of all resources of a project share.
type surroundings struct {
	app    *App
	store  host.Store
	runs   bool
	frozen *controller.Suspension
	// restored is nil, or says that effects are observed first.
	restored *controller.Restoration
	// running counts the passes of the controllers that were asked for.
	running map[string]int
}

func (a *App) surroundings(ctx context.Context, s host.Store) (*surroundings, error) {
	paths, err := a.Paths()
	if err != nil {
		return nil, err
	}
	runs, err := host.Running(paths)
	if err != nil {
		return nil, err
	}
	frozen, err := s.Frozen(ctx)
	if err != nil {
		return nil, err
	}
	restored, err := s.Restored(ctx)
	return &surroundings{a, s, runs, frozen, restored, map[string]int{}}, err
}

// explain explains one resource of a list.
func (w *surroundings) explain(ctx context.Context, item controller.ListItem) (controller.Explanation, error) {
	ref := item.Resource.Metadata.Ref()
	effects, err := w.store.Effects(ctx, ref)
	if err != nil {
		return controller.Explanation{}, err
	}
	children, err := w.store.Children(ctx, ref)
	if err != nil {
		return controller.Explanation{}, err
	}
	return w.explainPicture(ctx, picture{resource: item.Resource, queue: item.Queue, effects: effects, children: children})
}

func (w *surroundings) explainPicture(ctx context.Context, p picture) (controller.Explanation, error) {
	ref := p.resource.Metadata.Ref()
	s := w.app.situation(p)
	s.HostRuns, s.Frozen, s.Restored = w.runs, w.frozen, w.restored
	var err error
	switch p.queue.State {
	case controller.QueueClaimed:
		s.Claimant, err = w.claimant(ctx, ref)
	case controller.QueueReady:
		s.Places, err = w.places(ctx, ref.Controller)
	case controller.QueueNone, controller.QueueDelayed, controller.QueueSuspended:
	}
	return controller.Explain(s), err
}

// claimant asks a store that can tell who works on a key.
func (w *surroundings) claimant(ctx context.Context, ref controller.Ref) (*controller.Claimant, error) {
	inspector, ok := w.store.(controller.ClaimInspector)
	if !ok {
		return nil, nil //nolint:nilnil // nobody knows
	}
	c, err := inspector.Claimant(ctx, ref)
	if errors.Is(err, controller.ErrNotFound) {
		return nil, nil //nolint:nilnil // it was deleted meanwhile
	}
	return c, err
}

// places counts the passes of a controller against its limit, if it has one of
// its own.
func (w *surroundings) places(ctx context.Context, name string) (controller.Places, error) {
	catalog, err := w.app.Catalog()
	if err != nil {
		return controller.Places{}, err
	}
	d, err := catalog.Controllers.Get(name)
	if err != nil || d.Concurrency == 0 {
		return controller.Places{}, nil //nolint:nilerr // a controller that is not loaded is explained as such
	}
	if _, counted := w.running[name]; !counted {
		b, err := w.store.Backlog(ctx, []string{name})
		if err != nil {
			return controller.Places{}, err
		}
		w.running[name] = b.Claimed
	}
	return controller.Places{Limit: d.Concurrency, Running: w.running[name]}, nil
}

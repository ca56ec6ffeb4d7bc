package modeltest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"piworkflows/controller"
	"piworkflows/store/storetest"
)

// brokenStores are stores with one fault each, which the search must find.
var brokenStores = map[string]func(storetest.Store) storetest.Store{
	"compares no versions":            func(s storetest.Store) storetest.Store { return blind{s} },
	"claims a key twice":              func(s storetest.Store) storetest.Store { return &generous{Store: s} },
	"forgets wake-ups":                func(s storetest.Store) storetest.Store { return &forgetful{Store: s} },
	"takes writes of lost claims":     func(s storetest.Store) storetest.Store { return lax{s} },
	"does not renew":                  func(s storetest.Store) storetest.Store { return lazy{s} },
	"answers with what it once read":  func(s storetest.Store) storetest.Store { return &stale{Store: s} },
	"reserves an effect anew for all": func(s storetest.Store) storetest.Store { return careless{s} },
}

// blind lets a pass overwrite what it has not seen.
type blind struct{ storetest.Store }

func (b blind) Finish(ctx context.Context, c *controller.Claim, f controller.Finish) (controller.Finished, error) {
	if f.Write != nil {
		if r, err := b.Get(ctx, c.Ref); err == nil {
			w := *f.Write
			w.Version = r.Metadata.ResourceVersion
			f.Write = &w
		}
	}
	return b.Store.Finish(ctx, c, f)
}

// generous gives every third claim a second time.
type generous struct {
	storetest.Store
	mu    sync.Mutex
	count int
	last  *controller.Claim
}

func (g *generous) Claim(ctx context.Context, names []string, d time.Duration) (*controller.Claim, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count++; g.count%3 == 0 && g.last != nil && g.last.Ref.Controller == names[0] {
		return g.last, nil
	}
	c, err := g.Store.Claim(ctx, names, d)
	if c != nil {
		g.last = c
	}
	return c, err
}

// forgetful loses every second wake-up.
type forgetful struct {
	storetest.Store
	count atomic.Int32
}

func (f *forgetful) Enqueue(ctx context.Context, ref controller.Ref, actor string) (int64, error) {
	if f.count.Add(1)%2 == 0 {
		row, err := f.Queue(ctx, ref)
		return row.Wake + 1, err
	}
	return f.Store.Enqueue(ctx, ref, actor)
}

// lax says yes to claims that are over.
type lax struct{ storetest.Store }

func (l lax) Finish(ctx context.Context, c *controller.Claim, f controller.Finish) (controller.Finished, error) {
	done, err := l.Store.Finish(ctx, c, f)
	if code, _ := codeOf(err); code == "lost" {
		err = nil
	}
	return done, err
}

// lazy says that it renewed a claim.
type lazy struct{ storetest.Store }

func (l lazy) Renew(ctx context.Context, c *controller.Claim, _ time.Duration) error {
	return l.CheckApply(ctx, c)
}

// stale gives every second reader what the one before got.
type stale struct {
	storetest.Store
	mu    sync.Mutex
	count int
	last  map[controller.Ref]controller.Raw
}

func (s *stale) Get(ctx context.Context, ref controller.Ref) (controller.Raw, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.last[ref]; ok && s.count%2 == 0 {
		s.count++
		return r, nil
	}
	r, err := s.Store.Get(ctx, ref)
	if err == nil {
		s.count++
		if s.last == nil {
			s.last = map[controller.Ref]controller.Raw{}
		}
		s.last[ref] = r
	}
	return r, err
}

// careless tells every pass to apply an effect without a look.
type careless struct{ storetest.Store }

func (c careless) ReserveEffect(
	ctx context.Context, claim *controller.Claim, e controller.EffectReservation,
) (controller.EffectRecord, controller.Reservation, error) {
	record, found, err := c.Store.ReserveEffect(ctx, claim, e)
	if err == nil && found == controller.EffectOpen {
		found = controller.EffectNew
	}
	return record, found, err
}

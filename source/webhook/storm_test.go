package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/source/webhook"
)

// The storm: what a provider sends after an outage, with everything that can be
// wrong about it.
const (
	stormKeys       = 500
	stormDeliveries = 1000 // each of them twice
	stormWrong      = 20   // 1 % of all
	stormLarge      = 16
	stormSlow       = 8
	stormClients    = 24
	largeBody       = 10 << 20
	// stormMemory is far below the large bodies together.
	stormMemory = 64 << 20
)

type none struct{}

// counting counts the passes of each key.
type counting struct {
	mu     sync.Mutex
	passes map[string]int
}

func (c *counting) Reconcile(
	_ context.Context, _ *controller.Pass, r controller.Resource[none, none],
) (controller.Result[none], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passes[r.Metadata.Key]++
	return controller.Settled(controller.Patch[none]{}), nil
}

// runManager runs the passes of a store until the test ends, and returns a
// function that waits until nothing is left to do.
func (c *counting) runManager(t *testing.T, s controller.Store) (idle func()) {
	t.Helper()
	m, err := controller.NewManager(controller.ManagerOptions{
		Store: s, Definitions: []*controller.Definition{controller.Define(owner, c)}, Clock: clock.System(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func() { awaitIdle(t, s) }
}

// awaitIdle follows the events until no key waits.
func awaitIdle(t *testing.T, s controller.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		after, err := s.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.List(ctx, controller.ListQuery{Controller: owner, Queued: true, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) == 0 {
			return
		}
		if _, err := s.Changes(ctx, after, controller.ChangeFilter{}); err != nil {
			t.Fatal(err)
		}
	}
}

//nolint:paralleltest // it measures the memory of the process
func TestStorm(t *testing.T) {
	keys := make([]string, stormKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	c := clocktest.New() // no request is slow by itself
	b := newBench(t, c, func(o *webhook.Options) { o.MaxRequests = 2 * stormClients }, keys...)
	passes := &counting{passes: map[string]int{}}
	idle := passes.runManager(t, b.store)
	idle()
	passes.mu.Lock()
	clear(passes.passes)
	passes.mu.Unlock()

	var dawdlers []*slow
	for range stormSlow {
		dawdlers = append(dawdlers, b.dawdle())
	}
	s := newStorm(b)
	s.run()
	c.Advance(webhook.DefaultTimeout)
	for _, d := range dawdlers {
		if got := d.answer(); got.status != http.StatusRequestTimeout {
			t.Errorf("a slow client: %+v", got)
		}
	}
	idle()

	want := map[int]int{
		http.StatusOK: 2 * stormDeliveries, http.StatusUnauthorized: stormWrong, http.StatusRequestEntityTooLarge: stormLarge,
	}
	for status, n := range want {
		if got := s.status(status); got != n {
			t.Errorf("%d answers are %d, want %d", got, status, n)
		}
	}
	if got := s.duplicates.Load(); got != stormDeliveries {
		t.Errorf("%d duplicates, want %d", got, stormDeliveries)
	}
	refused, failed := b.counts()
	if refused["signature"] != stormWrong || refused["size"] != stormLarge || refused["slow"] != stormSlow || len(failed) > 0 {
		t.Errorf("refused %v, failed %v", refused, failed)
	}
	for _, key := range keys {
		if passes.passes[key] == 0 {
			t.Errorf("%s was not reconciled", key)
		}
	}
	if peak := s.peak.Load(); peak > stormMemory {
		t.Errorf("the heap grew to %d MiB", peak>>20)
	}
	t.Logf("heap at most %d MiB, refused %v", s.peak.Load()>>20, refused)
}

// storm sends requests from many clients at once.
type storm struct {
	*bench
	requests   chan func() (*http.Request, error)
	mu         sync.Mutex
	answers    map[int]int
	duplicates atomic.Int64
	peak       atomic.Uint64
}

func newStorm(b *bench) *storm {
	return &storm{bench: b, requests: make(chan func() (*http.Request, error)), answers: map[int]int{}}
}

func (s *storm) status(code int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[code]
}

func (s *storm) run() {
	s.t.Helper()
	var clients sync.WaitGroup
	for range stormClients {
		clients.Go(s.client)
	}
	for i := range 2 * stormDeliveries {
		id := i % stormDeliveries
		s.requests <- func() (*http.Request, error) {
			return s.github(fmt.Sprintf("d%d", id), "pull_request", body(fmt.Sprintf("k%d", id%stormKeys)), inUse)
		}
		if i < stormWrong {
			s.requests <- func() (*http.Request, error) {
				return s.github(fmt.Sprintf("w%d", i), "pull_request", body("k0"), "wrong-secret")
			}
		}
	}
	for i := range stormLarge {
		s.requests <- func() (*http.Request, error) { return s.large(i%2 == 0) }
	}
	close(s.requests)
	clients.Wait()
}

// large is a request with a body that nobody has in memory.
func (s *storm) large(saysSo bool) (*http.Request, error) {
	r, err := s.github("large", "pull_request", "", inUse)
	if err != nil {
		return nil, err
	}
	r.Body, r.GetBody, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, largeBody)), nil, -1
	if saysSo {
		r.ContentLength = largeBody
	}
	return r, nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func (s *storm) client() {
	for request := range s.requests {
		r, err := request()
		if err != nil {
			s.t.Error(err)
			continue
		}
		response, err := s.server.Client().Do(r)
		if err != nil {
			s.t.Error(err)
			continue
		}
		var a answer
		err = json.NewDecoder(response.Body).Decode(&a)
		_ = response.Body.Close()
		if err != nil {
			s.t.Error(err)
		}
		s.count(response.StatusCode, a)
	}
}

func (s *storm) count(status int, a answer) {
	if a.Duplicate {
		s.duplicates.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[status]++
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapAlloc > s.peak.Load() {
		s.peak.Store(m.HeapAlloc)
	}
}

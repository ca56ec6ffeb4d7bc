package modeltest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"piworkflows/controller"
	"piworkflows/store/storetest"
)

// Sizes of a history. They keep the search for an order short.
const (
	historyClients = 6
	historyCalls   = 40
	// searchLimit bounds the search; a history that is right takes milliseconds.
	searchLimit = time.Minute
)

var historyKeys = []string{"a", "b", "c"}

// histories are rounds of calls in one place, each with a controller of its own.
type histories struct {
	*testing.T
	harness storetest.Harness
	place   string
	stores  []storetest.Store
	rounds  int
}

// newHistories opens two stores over one place; wrap may change what clients see
// of them.
func newHistories(t *testing.T, h storetest.Harness, wrap func(storetest.Store) storetest.Store) *histories {
	t.Helper()
	hs := &histories{T: t, harness: h, place: t.TempDir()}
	for range 2 {
		s, err := h.Open(t.Context(), hs.place, storetest.Scope(""))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		hs.stores = append(hs.stores, wrap(s))
	}
	return hs
}

func linearizable(t *testing.T, h storetest.Harness) {
	t.Helper()
	rounds := 8
	if storetest.Stressed() {
		rounds = 2000
	}
	hs := newHistories(t, h, func(s storetest.Store) storetest.Store { return s })
	for range rounds {
		if err := hs.check(hs.record()); err != nil {
			t.Fatal(err)
		}
	}
}

// foundOut fails unless a history of a broken store has no right order.
func foundOut(t *testing.T, h storetest.Harness, breaking func(storetest.Store) storetest.Store) {
	t.Helper()
	const rounds = 20
	hs := newHistories(t, h, breaking)
	for range rounds {
		if hs.check(hs.record()) != nil {
			return
		}
	}
	t.Errorf("%d histories look right", rounds)
}

// check finds, for every key, an order of the calls in which every answer is
// right.
func (hs *histories) check(history []porcupine.Operation) error {
	for _, key := range historyKeys {
		part := callsOf(key, history)
		result, info := porcupine.CheckOperationsVerbose(keyRules, part, searchLimit)
		if result == porcupine.Ok {
			continue
		}
		path := filepath.Join(hs.ArtifactDir(), "history.html")
		if err := porcupine.VisualizePath(keyRules, info, path); err != nil {
			return fmt.Errorf("no picture of the history: %w", err)
		}
		return fmt.Errorf("round %d, key %s: no order makes the %d answers right (%s), see %s (kept with -artifacts)\n%s",
			hs.rounds, key, len(part), result, path, furthest(part, info))
	}
	return nil
}

// callsOf selects the calls that concern a key.
func callsOf(key string, history []porcupine.Operation) []porcupine.Operation {
	var part []porcupine.Operation
	for _, call := range history {
		named := call.Input.(operation).key + call.Output.(answer).key //nolint:forcetypeassert // only these
		if named == key || named == "" {
			part = append(part, call)
		}
	}
	return part
}

// furthest tells how far the search for an order came: the last calls of the
// longest one, and the state after which no other call fits.
func furthest(part []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	state := keyRules.Init()
	done := map[int64]bool{}
	var text []string
	for _, call := range longest {
		_, state = keyRules.Step(state, call.Input, call.Output)
		done[call.Call] = true
		text = append(text, describe(call))
	}
	const shown = 8
	text = append(text[max(0, len(text)-shown):], "then, from "+keyRules.DescribeState(state)+", none of")
	for _, call := range part {
		if !done[call.Call] && len(text) < 2*shown {
			text = append(text, describe(call))
		}
	}
	return strings.Join(text, "\n")
}

func describe(call porcupine.Operation) string {
	return fmt.Sprintf("%5d-%-5d client %d: %s", call.Call, call.Return, call.ClientId, keyRules.DescribeOperation(call.Input, call.Output))
}

// record lets clients work at once, and then works off what they left.
func (hs *histories) record() []porcupine.Operation {
	hs.rounds++
	r := &recorder{histories: hs, name: "c" + strconv.Itoa(hs.rounds)}
	var clients sync.WaitGroup
	for i := range historyClients {
		clients.Go(r.client(i).work)
	}
	clients.Wait()
	r.client(historyClients).drain()
	if hs.Failed() {
		hs.FailNow()
	}
	return r.history
}

// recorder is one history in the making. Its time is the order of the moments at
// which calls began and ended.
type recorder struct {
	*histories
	name    string
	moments atomic.Int64
	serial  atomic.Int64
	mu      sync.Mutex
	history []porcupine.Operation
	// still keeps time from passing during a call: a store looks at its clock at some
	// moment of it, which the rules do not know.
	still sync.RWMutex
}

// client is one goroutine of a history.
type client struct {
	*recorder
	id     int
	store  storetest.Store
	random *rand.Rand
	// claims are the last that it got, also those that are over; reserved are those
	// with an effect.
	claims   []*controller.Claim
	reserved map[*controller.Claim]bool
}

func (r *recorder) client(id int) *client {
	return &client{
		recorder: r, id: id, store: r.stores[id%len(r.stores)], reserved: map[*controller.Claim]bool{},
		random: rand.New(rand.NewPCG(uint64(r.rounds), uint64(id))), //nolint:gosec // repeatable, and no secret
	}
}

func (c *client) work() {
	for range historyCalls {
		c.call(c.choose())
	}
}

// drain works everything off and looks at what is left. A broken store may never
// come to an end.
func (c *client) drain() {
	const enough = 100
	c.call(operation{action: doAdvance, by: renewed})
	for range enough {
		c.call(operation{action: doAdvance, by: lasts})
		if c.call(operation{action: doClaim}).key == "" {
			break
		}
		claim := c.claims[len(c.claims)-1]
		c.call(c.onClaim(doReserve, claim))
		c.call(operation{action: doEffect, key: claim.Ref.Key, claim: claim, state: controller.EffectApplied})
		c.call(operation{action: doFinish, key: claim.Ref.Key, claim: claim, finish: controller.Finish{Settle: true}})
	}
	for _, key := range historyKeys {
		c.call(operation{action: doGet, key: key})
	}
}

func (c *client) call(o operation) answer {
	var a answer
	var claim *controller.Claim
	var err error
	began := c.moments.Add(1)
	if o.action == doAdvance {
		c.still.Lock()
		err = c.harness.Advance(c.place, o.by)
		c.still.Unlock()
	} else {
		c.still.RLock()
		a, claim, err = o.run(c.Context(), c.store, c.name)
		c.still.RUnlock()
	}
	ended := c.moments.Add(1)
	if err != nil {
		c.Error(err)
		return a
	}
	if claim != nil {
		const kept = 3
		c.claims = append(c.claims[max(0, len(c.claims)-kept+1):], claim)
	}
	if a.found != "" {
		c.reserved[o.claim] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: o, Call: began, Output: a, Return: ended})
	if claim != nil && o.action == doFinish { // for the rules, which see one key at a time, these are two calls
		c.history = append(c.history, porcupine.Operation{
			ClientId: c.id, Input: operation{action: doClaim}, Call: began, Output: claimed(claim), Return: ended,
		})
	}
	return a
}

// choose draws the next call.
func (c *client) choose() operation {
	weighted := []struct {
		action
		weight int
	}{
		{doClaim, 25}, {doFinish, 20}, {doPut, 15}, {doGet, 10}, {doEnqueue, 10}, {doReserve, 8}, {doRenew, 8}, {doEffect, 6},
		{doAdvance, 5}, {doDelete, 4},
	}
	total := 0
	for _, w := range weighted {
		total += w.weight
	}
	drawn := c.random.IntN(total)
	at := slices.IndexFunc(weighted, func(w struct {
		action
		weight int
	},
	) bool {
		drawn -= w.weight
		return drawn < 0
	})
	return c.operation(weighted[at].action)
}

func (c *client) operation(a action) operation {
	switch a {
	case doClaim:
		return operation{action: doClaim}
	case doAdvance:
		return operation{action: doAdvance, by: pick(c.random, time.Millisecond, time.Second, lasts/2, lasts, lasts)}
	case doFinish, doRenew, doReserve, doEffect:
		if len(c.claims) == 0 {
			return operation{action: doClaim}
		}
		return c.onClaim(a, pick(c.random, c.claims...))
	default:
		return operation{action: a, key: pick(c.random, historyKeys...), spec: c.random.IntN(3)}
	}
}

func (c *client) onClaim(a action, claim *controller.Claim) operation {
	if a == doEffect && !c.reserved[claim] {
		a = doReserve
	}
	o := operation{action: a, key: claim.Ref.Key, claim: claim}
	switch a {
	default:
	case doEffect:
		o.state = pick(c.random, controller.EffectIndeterminate, controller.EffectApplied)
	case doFinish:
		o.next = c.random.IntN(2) == 0
		o.finish = pick(c.random,
			controller.Finish{Settle: true, Unsettled: time.Second},
			controller.Finish{Reason: controller.ReasonRequested},
			controller.Finish{After: time.Second, Reason: controller.ReasonDelay},
			controller.Finish{After: time.Second, Reason: controller.ReasonErrorBackoff, Err: "no"},
		)
		if o.finish.Err == "" {
			o.finish.Write = &controller.Write{
				Version: claim.Resource.Metadata.ResourceVersion, ObservedGeneration: c.serial.Add(1),
			}
		}
	}
	return o
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

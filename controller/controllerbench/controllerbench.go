// Package controllerbench measures the controller runtime over a real store with
// the real rules of what must last: passes, passes with an effect and puts a
// second, how long a wake-up takes, memory, the cost of being idle, and what
// another process sees of it.
//
// Design: A reconcile.
package controllerbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/bench"
)

// Defaults and bounds of Options.
const (
	// DefaultTime bounds one round of a scenario.
	DefaultTime = 3 * time.Second
	// DefaultWorkers is the number of passes, or of callers, at once.
	DefaultWorkers = 16
	// DefaultRounds is how often a rate is measured; the median counts.
	DefaultRounds = 5
	// FewResources and DefaultResources are the sizes of the two stores that
	// passes are measured in.
	FewResources     = 10_000
	DefaultResources = 100_000
	// MinResources is what the smaller scenarios need.
	MinResources = 100
	// Tenfold is how much larger the largest store is than the large one.
	Tenfold = 10
)

// Store is an open store.
type Store interface {
	controller.Store
	Close() error
}

// Options say where and how long to measure. The zero value of a field takes
// its default.
type Options struct {
	// Dir is the folder for the stores, on the disk to be measured; the caller
	// removes it afterwards. Required.
	Dir string
	// Open opens the store at a path, and makes it. Required.
	Open func(ctx context.Context, path string) (Store, error)
	// Other puts from another process into the store at a path until its context
	// ends, with OtherProcess, and returns what that told. The scenarios "other"
	// and "notice" are left out if it is nil.
	Other func(ctx context.Context, path string) ([]OtherPut, error)
	// Only names the scenarios to run; by default all of Scenarios except
	// "million", which takes longer than all others together.
	Only []string
	// Time bounds each round of a scenario; DefaultTime by default.
	Time time.Duration
	// Rounds is how often a rate is measured; DefaultRounds by default.
	Rounds int
	// Workers is the number of passes at once; DefaultWorkers by default.
	Workers int
	// Resources is the size of the large store, at least MinResources;
	// DefaultResources by default. The scenario "million" has Tenfold as many.
	Resources int
	// Progress is told of each scenario before it begins.
	Progress func(scenario string)
	// Logger hears what the manager has to say; nobody by default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Time = cmp.Or(o.Time, DefaultTime)
	o.Rounds = cmp.Or(o.Rounds, DefaultRounds)
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.Resources = cmp.Or(o.Resources, DefaultResources)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if len(o.Only) == 0 {
		o.Only = slices.DeleteFunc(Scenarios(), func(name string) bool { return name == "million" })
	}
	return o
}

type scenario struct {
	name    string
	measure func(m *meter) ([]bench.Result, error)
	// others says that it needs Options.Other.
	others bool
}

// scenarios begin with those that tell of memory, before others have used it.
var scenarios = []scenario{
	{name: "memory", measure: memory}, {name: "reconcile", measure: reconcile}, {name: "effects", measure: effects},
	{name: "puts", measure: puts}, {name: "latency", measure: latency}, {name: "idle", measure: idle},
	{name: "other", measure: other, others: true}, {name: "notice", measure: notice, others: true},
	{name: "million", measure: million},
}

// Scenarios are the names of all scenarios, in their order.
func Scenarios() []string {
	names := make([]string, len(scenarios))
	for i, s := range scenarios {
		names[i] = s.name
	}
	return names
}

// Run measures one scenario after the other. It ends early when ctx ends.
func Run(ctx context.Context, o Options) ([]bench.Result, error) {
	o = o.withDefaults()
	var results []bench.Result
	for _, s := range scenarios {
		if !slices.Contains(o.Only, s.name) || s.others && o.Other == nil {
			continue
		}
		o.Progress(s.name)
		measured, err := s.measure(&meter{ctx: ctx, o: o, scenario: s.name, clock: clock.System()})
		if err != nil {
			return results, fmt.Errorf("measure %s: %w", s.name, err)
		}
		results = append(results, measured...)
	}
	return results, nil
}

// meter is the equipment of one scenario.
type meter struct {
	ctx      context.Context //nolint:containedctx // of one scenario, from its beginning to its end
	o        Options
	scenario string
	clock    clock.Clock
}

// in opens the store of a scenario for f.
func (m *meter) in(name string, f func(s Store, path string) ([]bench.Result, error)) (results []bench.Result, err error) {
	path := filepath.Join(m.o.Dir, m.scenario+name+".sqlite")
	s, err := m.o.Open(m.ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(s, path)
}

// result names what was measured. The settings are those of all scenarios and
// those given.
func (m *meter) result(metric, unit string, settings map[string]any) bench.Result {
	settings["workers"] = m.o.Workers
	return bench.Result{Scenario: m.scenario, Metric: metric, Unit: unit, Settings: settings}
}

// pace is how fast something went.
type pace struct {
	perSecond float64
	// each is the processor time of one, of all threads together.
	each time.Duration
}

// median repeats a measurement and returns the middle of what it gave, with the
// processor time of one: the machine may have been busy with other things.
func (m *meter) median(what string, settings map[string]any, once func() (pace, error)) ([]bench.Result, error) {
	settings["rounds"] = m.o.Rounds
	var rates []float64
	var costs []time.Duration
	for range m.o.Rounds {
		p, err := once()
		if err != nil {
			return nil, err
		}
		rates, costs = append(rates, p.perSecond), append(costs, p.each)
	}
	slices.Sort(rates)
	slices.Sort(costs)
	const inMicroseconds = float64(time.Microsecond)
	return []bench.Result{
		m.result(what, what+"/s", settings).With(rates[len(rates)/2]),
		m.result("processor time of one", "µs", settings).With(float64(costs[len(costs)/2]) / inMicroseconds),
	}, nil
}

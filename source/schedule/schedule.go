// Package schedule is a source that wakes keys at times: in intervals, or by a
// cron expression in a time zone.
//
//	schedule.New("nightly", schedule.Options{
//		Cron: "30 2 * * *", Zone: "Europe/Vienna", CatchUp: schedule.Latest,
//		Keys: schedule.EveryResource,
//	})
//
// docs/sources.md says what an expression means where the clock changes.
//
// Spec: Sources and workers.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"piworkflows/controller"
)

// Options say when a schedule delivers, and what. Every or Cron, and Keys, are
// required.
type Options struct {
	// Every is the time between two slots, a second or more. They are where the
	// time since 1970 is a multiple of it, whenever the host started.
	Every time.Duration
	// Cron is an expression of five fields.
	Cron string
	// Zone is the name of the time zone of Cron, such as Europe/Vienna; UTC if it is
	// empty.
	Zone string
	// CatchUp says what becomes of slots that passed while no host ran, or while
	// the machine was suspended; Latest if it is empty.
	CatchUp CatchUp
	// Jitter delays every slot by the same time, less than Jitter, that depends on
	// Seed, the controller and the source: so that not everything begins at once.
	// It may be a day, and less than Every.
	Jitter time.Duration
	Seed   string
	// Keys returns the keys of a slot. After an error it is asked again, with the
	// delays of a source that is restarted.
	Keys Mapper
}

// CatchUp is what becomes of missed slots.
type CatchUp string

// The ways to catch up. A slot counts as missed if it is delivered more than
// Grace late.
const (
	// None leaves them out, and counts them as refused.
	None CatchUp = "none"
	// Latest delivers the last of them, however late, and leaves out the others.
	Latest CatchUp = "latest"
)

// Grace is how late a slot may be without being missed.
const Grace = time.Minute

// Slot is a time at which a schedule delivers.
type Slot struct {
	// Time is the instant, in the zone of the schedule, without the jitter.
	Time time.Time
	// Missed counts the slots before it that were left out.
	Missed int64
	// Controller and Resources are those of the controller.Intake.
	Controller string
	Resources  controller.ResourceReader
}

// Mapper returns the keys of a slot.
type Mapper func(ctx context.Context, s Slot) ([]string, error)

// Keys returns a Mapper to the same keys at each slot.
func Keys(keys ...string) Mapper {
	return func(context.Context, Slot) ([]string, error) { return keys, nil }
}

// EveryResource is a Mapper to all resources of the controller.
func EveryResource(ctx context.Context, s Slot) ([]string, error) {
	const page = 1000
	var keys []string
	q := controller.ListQuery{Controller: s.Controller, Limit: page}
	for {
		found, err := s.Resources.List(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list the resources to wake: %w", err)
		}
		for _, item := range found.Items {
			keys = append(keys, item.Resource.Metadata.Key)
		}
		if q.Continue = found.Continue; q.Continue == "" {
			return keys, nil
		}
	}
}

// Source is a controller.Source. Make one with New.
type Source struct {
	name    string
	options Options
	plan    plan
	zone    *time.Location
	wrong   error
}

// New makes a source. What is wrong with the options is found by Check, which
// controller.NewRegistry calls.
func New(name string, o Options) *Source {
	s := &Source{name: name, options: o, zone: time.UTC}
	var problems []error
	refuse := func(wrong bool, message string) {
		if wrong {
			problems = append(problems, errors.New(message))
		}
	}
	refuse((o.Every != 0) == (o.Cron != ""), "give one of Every and Cron")
	refuse(o.Every != 0 && o.Every < time.Second, "Every is less than a second")
	refuse(o.Zone != "" && o.Cron == "", "a Zone is for Cron: intervals are the same everywhere")
	refuse(o.CatchUp != "" && o.CatchUp != None && o.CatchUp != Latest, "CatchUp is neither none nor latest")
	refuse(o.Jitter < 0 || o.Jitter > 24*time.Hour, "Jitter is not between 0 and a day")
	refuse(o.Every > 0 && o.Jitter >= o.Every, "Jitter is not less than Every")
	refuse(o.Keys == nil, "no Keys: give schedule.Keys, schedule.EveryResource or a function")
	problems = append(problems, s.settle())
	s.wrong = errors.Join(problems...)
	return s
}

// settle makes the plan.
func (s *Source) settle() error {
	if s.options.Cron == "" {
		s.plan = interval(s.options.Every)
		return nil
	}
	expression, err := parse(s.options.Cron)
	if err != nil {
		return err
	}
	if s.options.Zone == "Local" {
		return errors.New("the Zone Local differs from machine to machine: name one, such as Europe/Vienna")
	}
	if s.zone, err = time.LoadLocation(s.options.Zone); err != nil {
		return fmt.Errorf("the Zone %.80q is not known: name one as Europe/Vienna: %w", s.options.Zone, err)
	}
	s.plan = calendar{expression, s.zone}
	return nil
}

// Name implements controller.Source.
func (s *Source) Name() string { return s.name }

// Check implements controller.SourceChecker.
func (s *Source) Check(string) error { return s.wrong }

// offset is the delay of every slot.
func (s *Source) offset(owner string) time.Duration {
	if s.options.Jitter == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %q %q", s.options.Seed, owner, s.name)
	return time.Duration(h.Sum64() % uint64(s.options.Jitter)) //nolint:gosec // Jitter is not negative, the rest is less
}

package testkit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/source/schedule"
	"piworkflows/testkit"
)

// welcome:definition

// mailer is what the controller needs of the outside.
type mailer interface {
	Sent(ctx context.Context, id string) (bool, error)
	Send(ctx context.Context, id, address string) error
}

type person struct {
	Address string `json:"address"`
}

// welcomer sends each person one mail.
type welcomer struct{ mail mailer }

func (w welcomer) Reconcile(ctx context.Context, p *controller.Pass, r controller.Resource[person, struct{}]) (controller.Result[struct{}], error) {
	id := "welcome:" + r.Metadata.UID
	record, err := p.Effects.Ensure(ctx, controller.Effect{
		Key: id, Kind: "mail", Request: r.Spec,
		Observe: func(ctx context.Context) (controller.Observation, error) {
			sent, err := w.mail.Sent(ctx, id)
			if sent {
				return controller.Observation{State: controller.ObservedApplied}, err
			}
			return controller.Observation{State: controller.ObservedNotApplied}, err
		},
		Apply: func(ctx context.Context, _ string) (controller.Application, error) {
			return controller.Application{State: controller.EffectApplied}, w.mail.Send(ctx, id, r.Spec.Address)
		},
	})
	if err != nil {
		return controller.Result[struct{}]{}, err
	}
	ready := controller.ConditionUnknown(controller.Ready, "Sending", record.Error)
	if record.State == controller.EffectApplied {
		ready = controller.ConditionTrue(controller.Ready, "Sent", "to "+r.Spec.Address)
	}
	return controller.Settled(controller.Patch[struct{}]{Conditions: []controller.Condition{ready}}), nil
}

// welcome:fake

// fakeMail is the mailer of the tests.
type fakeMail struct{ *testkit.Provider }

func (m fakeMail) Sent(ctx context.Context, id string) (bool, error) { return m.Look(ctx, id) }
func (m fakeMail) Send(ctx context.Context, id, _ string) error      { return m.Change(ctx, id) }

// bench makes a kit with the controller over a fake mailer.
func bench(t testkit.T, o ...controller.Option) (*testkit.Kit, fakeMail) {
	mail := fakeMail{testkit.NewProvider("mail")}
	return testkit.New(t, testkit.Options{
		Definition: controller.Define("welcome", welcomer{mail}, o...),
		Providers:  []*testkit.Provider{mail.Provider},
	}), mail
}

// welcome:pass

func TestAPersonIsWelcomed(t *testing.T) {
	t.Parallel()
	k, mail := bench(t)
	ada := k.Apply("ada", person{Address: "ada@example.com"})
	k.Settle()
	ada.WantConditions("Ready=true Sent")
	ada.WantEffects(controller.EffectApplied)
	ada.WantSettled()
	mail.WantMade(t, "welcome:"+ada.Get().Metadata.UID, 1)
}

// welcome:lost

func TestAMailWhoseAnswerIsLostIsNotSentAgain(t *testing.T) {
	t.Parallel()
	k, mail := bench(t)
	mail.Answers(testkit.Lost)
	ada := k.Apply("ada", person{Address: "ada@example.com"})

	k.Pass()
	ada.WantConditions("Ready=unknown Sending")
	ada.WantEffects(controller.EffectIndeterminate)
	ada.WantNext(controller.ReasonEffectInDoubt)

	k.Settle() // the next pass looks before it sends
	ada.WantConditions("Ready=true Sent")
	mail.WantMade(t, "welcome:"+ada.Get().Metadata.UID, 1)
}

// welcome:crash

func TestAPersonIsWelcomedOnceWhereverTheProcessDies(t *testing.T) {
	t.Parallel()
	testkit.EveryCrash(t, func(t testkit.T, crash *testkit.Crash) {
		k, mail := bench(t)
		k.Crash(crash)
		ada := k.Apply("ada", person{Address: "ada@example.com"})
		k.Settle()
		ada.WantConditions("Ready=true Sent")
		mail.WantMade(t, "welcome:"+ada.Get().Metadata.UID, 1)
	})
}

// welcome:source

// everyMorning welcomes whoever is still to be welcomed.
var everyMorning = controller.WithSources(schedule.New("mornings", schedule.Options{
	Cron: "0 6 * * *", Zone: "Europe/Vienna", Keys: schedule.EveryResource,
}))

func TestThePeopleAreLookedAtEveryMorning(t *testing.T) {
	t.Parallel()
	k, _ := bench(t, everyMorning)
	ada := k.Apply("ada", person{Address: "ada@example.com"})
	k.Settle()
	mornings := k.Source("mornings")
	mornings.Await() // it keeps when it began
	mornings.Waits()
	k.Clock.Advance(24 * time.Hour)
	if d := mornings.Await(); d.Enqueued != 1 || d.Note != "slot 2027-01-06T06:00:00+01:00" {
		t.Errorf("delivered %+v", d)
	}
	ada.WantDue()
}

// welcome:end

// script is a T without a test, for the examples.
type script struct{ cleanups []func() }

func (*script) Helper()                           {}
func (*script) Logf(string, ...any)               {}
func (*script) Errorf(format string, args ...any) { fmt.Printf("error: "+format+"\n", args...) }
func (*script) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (s *script) Cleanup(f func())                { s.cleanups = append(s.cleanups, f) }
func (*script) Context() context.Context          { return context.Background() }

func (s *script) end() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
}

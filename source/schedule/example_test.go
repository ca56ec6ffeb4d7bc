package schedule_test

import (
	"context"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/source/schedule"
)

// schedule:declare

// reportTimes wakes every report in the night, and the one of the month on its
// first day, too.
func reportTimes() controller.Option {
	return controller.WithSources(
		schedule.New("nightly", schedule.Options{
			Cron: "30 2 * * *", Zone: "Europe/Vienna", Jitter: 10 * time.Minute,
			Keys: schedule.EveryResource,
		}),
		schedule.New("monthly", schedule.Options{
			Cron: "@monthly", Zone: "Europe/Vienna", CatchUp: schedule.None,
			Keys: func(_ context.Context, s schedule.Slot) ([]string, error) {
				return []string{"report-" + s.Time.Format("2006-01")}, nil
			},
		}),
	)
}

// schedule:end

// reports is a controller that does nothing.
type reports struct{}

func (reports) Reconcile(
	context.Context, *controller.Pass, controller.Resource[struct{}, struct{}],
) (controller.Result[struct{}], error) {
	return controller.Settled(controller.Patch[struct{}]{}), nil
}

// A definition with the sources of the document is accepted, one with a mistake
// is not.
func ExampleNew() {
	_, err := controller.NewRegistry(controller.Define("report", reports{}, reportTimes()))
	fmt.Println(err)
	wrong := schedule.New("nightly", schedule.Options{Cron: "0 0 30 2 *", Keys: schedule.EveryResource})
	_, err = controller.NewRegistry(controller.Define("report", reports{}, controller.WithSources(wrong)))
	fmt.Println(err)
	// Output:
	// <nil>
	// controller "report": source "nightly": the cron expression "0 0 30 2 *" names a day that no month has
}

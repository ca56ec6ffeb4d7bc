package sqlite

import (
	"time"

	"piworkflows/controller"
)

// paceChild delays an attempt that is one too many for its controller. Each attempt
// uses up its share of an hour; what is used up may be an hour ahead of the present.
// It also keeps how many agent attempts are allowed from now on.
func (t *tx) paceChild(h held, want childRequest, run *controller.ChildRun, due *time.Time) error {
	var until int64
	_, err := t.first(`UPDATE controllers SET children_until = max(children_until, ?1) + ?2, agents_per_hour = ?4
		WHERE id = (SELECT controller_id FROM resources WHERE id = ?3)
		RETURNING children_until`, values(t.now, share(want.PerHour).Milliseconds(), h.id, want.AgentAttemptsPerHour), &until)
	if err != nil {
		return err
	}
	room := time.UnixMilli(until).Add(-time.Hour).UTC()
	if want.PerHour > 0 && room.After(*due) {
		*due, run.Code = room, controller.CodeChildRateLimited
		run.StartsAt = due
	}
	return nil
}

// share is what one of so many an hour uses up; nothing if they are not bounded.
func share(perHour int) time.Duration {
	if perHour <= 0 {
		return 0
	}
	return (time.Hour / time.Duration(perHour)).Truncate(time.Millisecond)
}

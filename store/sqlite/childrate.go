package sqlite

import (
	"time"

	"piworkflows/controller"
)

// paceChild delays an attempt that is one too many for its controller. Each attempt
// uses up its share of an hour; what is used up may be an hour ahead of the present.
func (t *tx) paceChild(h held, perHour int, run *controller.ChildRun, due *time.Time) error {
	if perHour <= 0 {
		return nil
	}
	share := (time.Hour / time.Duration(perHour)).Milliseconds()
	var until int64
	_, err := t.first(`UPDATE controllers SET children_until = max(children_until, ?1) + ?2
		WHERE id = (SELECT controller_id FROM resources WHERE id = ?3)
		RETURNING children_until`, values(t.now, share, h.id), &until)
	if err != nil {
		return err
	}
	room := time.UnixMilli(until - time.Hour.Milliseconds()).UTC()
	if room.After(*due) {
		*due, run.Code = room, controller.CodeChildRateLimited
		run.StartsAt = due
	}
	return nil
}

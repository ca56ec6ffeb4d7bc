package sqlite

import (
	"encoding/json"
	"fmt"

	"piworkflows/controller"
)

// attention is what the delivery of a key leaves with its resource: it outlives
// the queue row.
type attention struct {
	wake, handled int64
	suspension    json.RawMessage
	stalled       string
}

const attentionColumns = "r.wake, r.handled, r.suspension_json, r.stalled"

func (a *attention) columns() []any { return []any{&a.wake, &a.handled, &a.suspension, &a.stalled} }

// show adds it to a queue row.
func (a *attention) show(row *controller.QueueRow) error {
	row.Wake, row.Handled, row.Stalled = a.wake, a.handled, a.stalled
	if a.suspension == nil {
		return nil
	}
	row.Suspension = &controller.Suspension{}
	if err := json.Unmarshal(a.suspension, row.Suspension); err != nil {
		return fmt.Errorf("read why a resource is suspended: its row is damaged: %w", err)
	}
	return nil
}

package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/secret"
)

const (
	maxEvents = 10_000
	// indexEvery is how many events the index by resource can be behind. Who asks for
	// the events of a resource looks at each of them, at a thousand in a millisecond.
	indexEvery = 1024
)

// tell records an event in the transaction of what it tells of.
func (t *tx) tell(ref controller.Ref, kind controller.EventType, payload any) error {
	text, err := canonical.Marshal(payload)
	if err != nil {
		return err
	}
	return t.tellText(ref, kind, text)
}

// tellObject is tell for what is told all the time.
func (t *tx) tellObject(ref controller.Ref, kind controller.EventType, payload object) error {
	text, err := payload.done()
	if err != nil {
		return err
	}
	return t.tellText(ref, kind, text)
}

func (t *tx) tellText(ref controller.Ref, kind controller.EventType, payload json.RawMessage) error {
	payload = secret.RedactJSON(payload)
	if err := limit.Bytes("event payload", payload, controller.MaxEventBytes); err != nil {
		return err
	}
	err := t.exec(`INSERT INTO events (scope, recorded_at, controller, resource_key, type, payload_json)
		VALUES (?, ?, ?, ?, ?, ?)`, t.scope, t.now, ref.Controller, ref.Key, string(kind), payload)
	if err == nil && t.lastID()%indexEvery == 0 {
		err = t.indexEvents()
	}
	return err
}

// indexEvents brings the index by resource to the newest event. OR FAIL spares SQLite
// the notes with which it could undo the statement alone: it undoes the transaction.
func (t *tx) indexEvents() error {
	err := t.exec(`INSERT OR FAIL INTO event_index SELECT controller, resource_key, seq FROM events
		WHERE seq > (SELECT seq FROM event_index_end)`)
	if err != nil {
		return err
	}
	return t.exec("UPDATE event_index_end SET seq = (SELECT max(seq) FROM events) WHERE seq < (SELECT max(seq) FROM events)")
}

// Events returns recorded events; see controller.Store.
func (s *Store) Events(ctx context.Context, q controller.EventQuery) ([]controller.Event, error) {
	count, err := pageSize("events", q.Limit, maxEvents)
	if err != nil {
		return nil, err
	}
	after, err := decodeCursor(q.After)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, "read events", func(t *tx) ([]controller.Event, error) {
		if q.After != "" {
			list, _, err := t.eventsAfter(q.After, after, controller.ChangeFilter{Controller: q.Controller, Key: q.Key}, count)
			return list, err
		}
		list, err := t.events(eventsOf(q.Controller, q.Key), q.Controller, q.Key, "ORDER BY seq DESC LIMIT ?", count)
		slices.Reverse(list)
		return list, err
	})
}

// eventsOf names where events are found by controller and key, both optional.
func eventsOf(name, key string) string {
	if name != "" && key != "" {
		return "events_by_resource"
	}
	return "events"
}

// events selects by controller and key, both optional, and by the rest of a
// query.
func (t *tx) events(from, name, key, rest string, args ...any) ([]controller.Event, error) {
	where := "scope = ?"
	filter := values(t.scope)
	if name != "" {
		where += " AND controller = ?"
		filter = append(filter, name)
	}
	if key != "" {
		where += " AND resource_key = ?"
		filter = append(filter, key)
	}
	var list []controller.Event
	var e controller.Event
	err := t.each("SELECT seq, recorded_at, controller, resource_key, type, payload_json FROM "+from+" WHERE "+where+" "+rest,
		append(filter, args...), func() error {
			e.Cursor = encodeCursor(e.Seq)
			list = append(list, e)
			return nil
		}, &e.Seq, &e.RecordedAt, &e.Controller, &e.Key, (*string)(&e.Type), &e.Payload)
	return list, err
}

package sqlite

import (
	"context"

	"piworkflows/controller"
	"piworkflows/internal/limit"
)

// RecordDefinitions keeps what a host works with; see controller.Store.
func (s *Store) RecordDefinitions(ctx context.Context, list []controller.DefinitionRecord) (int, error) {
	if len(list) > controller.MaxDefinitions {
		return 0, &controller.LimitError{
			What: "definitions", Limit: controller.MaxDefinitions, Size: len(list), Unit: "definitions",
		}
	}
	return write(ctx, s, "record definitions", func(t *tx) (woken int, err error) {
		before, err := t.definitions()
		if err != nil {
			return 0, err
		}
		gone := map[definitionKey]controller.DefinitionRecord{}
		for _, d := range before {
			gone[keyOf(d)] = d
		}
		for _, d := range list {
			was, known := gone[keyOf(d)]
			delete(gone, keyOf(d))
			d.Source = limit.Text(d.Source, controller.MaxSourceName)
			n, err := t.recordDefinition(d, was, known)
			if err != nil {
				return 0, err
			}
			woken += n
		}
		for _, d := range before {
			if _, is := gone[keyOf(d)]; is {
				if err := t.removeDefinition(d); err != nil {
					return 0, err
				}
			}
		}
		return woken, nil
	})
}

type definitionKey struct {
	kind controller.DefinitionKind
	name string
}

func keyOf(d controller.DefinitionRecord) definitionKey { return definitionKey{d.Kind, d.Name} }

// recordDefinition keeps one, and wakes the resources of a controller that changed.
func (t *tx) recordDefinition(d, was controller.DefinitionRecord, known bool) (woken int, err error) {
	same := known && d.Digest == was.Digest
	if same && d.Place == was.Place && d.Source == was.Source {
		return 0, nil
	}
	d.LoadedAt = t.now
	if same {
		d.LoadedAt = was.LoadedAt
	}
	err = t.exec("INSERT OR REPLACE INTO definitions VALUES (?, ?, ?, ?, ?, ?, ?)",
		t.scope, string(d.Kind), d.Name, d.Place, d.Source, d.Digest, d.LoadedAt)
	if err != nil {
		return 0, err
	}
	if err := t.tell(controller.Ref{}, controller.EventDefinitionLoaded, d); err != nil {
		return 0, err
	}
	if same || !known || d.Kind != controller.KindController {
		return 0, nil
	}
	return t.wakeController(d.Name)
}

func (t *tx) removeDefinition(d controller.DefinitionRecord) error {
	err := t.exec("DELETE FROM definitions WHERE scope = ? AND kind = ? AND name = ?", t.scope, string(d.Kind), d.Name)
	if err != nil {
		return err
	}
	return t.tell(controller.Ref{}, controller.EventDefinitionRemoved, d)
}

// wakeController gives every key of a controller a pass in the background lane. Rows
// that are there keep their lane; a delay is over.
func (t *tx) wakeController(name string) (int, error) {
	err := t.exec("UPDATE resources SET wake = wake + 1 WHERE scope = ? AND controller = ?", t.scope, name)
	if err != nil {
		return 0, err
	}
	woken := int(t.changed())
	return woken, t.exec(`INSERT INTO queue (resource_id, controller_id, lane, available_at, held, consecutive_errors, retries)
		SELECT id, controller_id, ?3, ?4, suspension_json IS NOT NULL, 0, 0 FROM resources WHERE scope = ?1 AND controller = ?2
		ON CONFLICT (resource_id) DO UPDATE SET available_at = min(available_at, excluded.available_at)`,
		t.scope, name, int(controller.LaneBackground), t.now)
}

// Definitions returns what a host works with; see controller.Store.
func (s *Store) Definitions(ctx context.Context) ([]controller.DefinitionRecord, error) {
	return read(ctx, s, "read definitions", func(t *tx) ([]controller.DefinitionRecord, error) { return t.definitions() })
}

func (t *tx) definitions() (list []controller.DefinitionRecord, err error) {
	var d controller.DefinitionRecord
	err = t.each(`SELECT kind, name, place, source, digest, loaded_at FROM definitions WHERE scope = ? ORDER BY kind, name`,
		values(t.scope), func() error {
			list = append(list, d)
			return nil
		}, (*string)(&d.Kind), &d.Name, &d.Place, &d.Source, &d.Digest, &d.LoadedAt)
	return list, err
}

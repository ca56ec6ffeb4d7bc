package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
)

// RecordSources keeps what a host tells of its sources; see controller.Store.
func (s *Store) RecordSources(ctx context.Context, list []controller.SourceStatus) error {
	if err := checkSources(list); err != nil || len(list) == 0 {
		return err
	}
	return s.do(ctx, "record sources", func(t *tx) error {
		for _, status := range list {
			status.RecordedAt = t.now
			text, err := canonical.Marshal(status)
			if err != nil {
				return err
			}
			err = t.exec("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?)",
				t.scope, status.Controller, status.Source, t.owner, text)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func checkSources(list []controller.SourceStatus) error {
	var problems []error
	for _, status := range list {
		problems = append(problems,
			controller.ValidateController(status.Controller), controller.ValidateName("source name", status.Source))
	}
	return errors.Join(problems...)
}

// toldSource is what a process told of a source.
type toldSource struct {
	status controller.SourceStatus
	owner  string
	// gone says that the process has left the store, or was found dead.
	gone bool
}

// Sources returns what was told last; see controller.Store.
func (s *Store) Sources(ctx context.Context) ([]controller.SourceStatus, error) {
	told, err := read(ctx, s, "read sources", func(t *tx) ([]toldSource, error) { return t.toldSources() })
	list := make([]controller.SourceStatus, len(told))
	for i, source := range told {
		if err == nil && !source.gone {
			source.gone, err = s.dead(source.owner)
		}
		list[i] = source.status
		if source.gone && list[i].State != controller.SourceStopped {
			list[i].State, list[i].Reason, list[i].NextAt = controller.SourceStopped, "", nil
		}
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (t *tx) toldSources() ([]toldSource, error) {
	var list []toldSource
	var text json.RawMessage
	var next toldSource
	err := t.each(`SELECT s.status_json, s.owner, o.instance IS NULL FROM sources s
		LEFT JOIN owners o ON o.instance = s.owner
		WHERE s.scope = ? ORDER BY s.controller, s.source`, values(t.scope), func() error {
		next.status = controller.SourceStatus{}
		if err := json.Unmarshal(text, &next.status); err != nil {
			return fmt.Errorf("read what was told of a source: its row is damaged: %w", err)
		}
		list = append(list, next)
		return nil
	}, &text, &next.owner, &next.gone)
	return list, err
}

package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// everywhere is the scope that stands for all projects of a file.
const everywhere = ""

// MarkRestored distrusts what is known of the project; see controller.Store.
func (s *Store) MarkRestored(ctx context.Context, r controller.Restoration) error {
	return s.do(ctx, "mark as restored", func(t *tx) error {
		_, err := t.restored(t.scope, r)
		return err
	})
}

// AcceptRestored trusts the project again; see controller.Store.
func (s *Store) AcceptRestored(ctx context.Context, actor, reason string) (bool, error) {
	reason = limit.Text(reason, controller.MaxMessage)
	return write(ctx, s, "accept restored", func(t *tx) (bool, error) {
		r, err := t.restoration()
		if r == nil || err != nil {
			return false, err
		}
		if err := t.noteRestoration(t.scope, *r, true); err != nil {
			return false, err
		}
		return true, t.tell(controller.Ref{}, controller.EventRestoredAccepted, actorPayload{actor, reason})
	})
}

// Restored tells from where the project was brought back; see controller.Store.
func (s *Store) Restored(ctx context.Context) (*controller.Restoration, error) {
	return read(ctx, s, "read restoration", func(t *tx) (*controller.Restoration, error) { return t.restoration() })
}

// restoration is the one that was not accepted; nil if there is none. The row of the
// project itself counts before that of the file.
func (t *tx) restoration() (*controller.Restoration, error) {
	var text json.RawMessage
	var accepted bool
	found, err := t.first("SELECT restoration_json, accepted FROM restorations WHERE scope IN (?, ?) ORDER BY scope DESC LIMIT 1",
		values(t.scope, everywhere), &text, &accepted)
	if err != nil || !found || accepted {
		return nil, err
	}
	r := &controller.Restoration{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read from what the project was restored: its row is damaged: %w", err)
	}
	return r, nil
}

func (t *tx) noteRestoration(scope string, r controller.Restoration, accepted bool) error {
	text, err := canonical.Marshal(r)
	if err != nil {
		return err
	}
	return t.exec("INSERT OR REPLACE INTO restorations VALUES (?, ?, ?)", scope, text, accepted)
}

// restored makes what is known of a project, or of all, as careful as it has to be
// after its store was brought back. It counts the effects that are in doubt now.
func (t *tx) restored(scope string, r controller.Restoration) (doubted int64, err error) {
	r.At, r.From = t.now, limit.Text(r.From, controller.MaxMessage)
	if err := t.dropClaims(scope); err != nil {
		return 0, err
	}
	if doubted, err = t.doubtEffects(scope); err != nil {
		return 0, err
	}
	if err := t.wakeEvery(scope); err != nil {
		return 0, err
	}
	if err := t.noteRestoration(scope, r, false); err != nil {
		return 0, err
	}
	return doubted, t.tellRestored(scope, r, doubted)
}

// ofScope selects the rows of a project, or all.
const ofScope = " (?1 = '' OR scope = ?1)"

// dropClaims frees all keys, runs and workers. A child run that waited for its start may have
// been started after the copy: as one that was cut off, it is looked for first.
func (t *tx) dropClaims(scope string) error {
	err := t.exec("UPDATE queue SET "+unclaimed+` WHERE claim_token IS NOT NULL
		AND resource_id IN (SELECT id FROM resources WHERE`+ofScope+")", scope)
	if err != nil {
		return err
	}
	if err := t.exec("DELETE FROM workers WHERE"+ofScope, scope); err != nil {
		return err
	}
	return t.exec(`UPDATE workflow_run_queue SET claim_token = NULL, claim_owner = NULL, claim_expires_at = NULL,
			status = iif(status = 'queued' AND child_request_id IS NOT NULL, 'running', status)
		WHERE status IN ('queued', 'running') AND`+ofScope, scope)
}

// doubtEffects makes every unfinished effect one of which nobody knows what came of
// it, and counts them.
func (t *tx) doubtEffects(scope string) (int64, error) {
	const open = ` WHERE state IN ('pending', 'indeterminate')
		AND resource_id IN (SELECT id FROM resources WHERE` + ofScope + ")"
	err := t.exec(`INSERT INTO effect_attempts (effect_seq, number, action, started_at, outcome)
		SELECT seq, attempts + 1, attempt_action, attempt_at, 'unknown' FROM effects`+open+" AND attempt_at IS NOT NULL", scope)
	if err != nil {
		return 0, err
	}
	err = t.exec(`UPDATE effects SET state = 'indeterminate', apply_next = 0, owner = NULL, error = 'the store was restored',
		attempts = attempts + (attempt_at IS NOT NULL), attempt_action = NULL, attempt_at = NULL`+open, scope)
	return t.changed(), err
}

// wakeEvery gives every key a pass in the background lane.
func (t *tx) wakeEvery(scope string) error {
	if err := t.exec("UPDATE resources SET wake = wake + 1 WHERE"+ofScope, scope); err != nil {
		return err
	}
	return t.exec(`INSERT INTO queue (resource_id, controller_id, lane, available_at, held, consecutive_errors, retries)
		SELECT id, controller_id, ?2, ?3, suspension_json IS NOT NULL, 0, 0 FROM resources WHERE`+ofScope+`
		ON CONFLICT (resource_id) DO UPDATE SET available_at = min(available_at, excluded.available_at)`,
		scope, int(controller.LaneBackground), t.now)
}

type restoredPayload struct {
	actorPayload
	From    string `json:"from,omitempty"`
	Effects int64  `json:"effects"`
}

// tellRestored tells each project of it; the count of effects is that of all.
func (t *tx) tellRestored(scope string, r controller.Restoration, doubted int64) error {
	projects := []string{scope}
	var err error
	if scope == everywhere {
		projects, err = t.names("SELECT DISTINCT scope FROM controllers")
	}
	for _, project := range projects {
		if err == nil {
			told := &tx{conn: t.conn, scope: project, owner: t.owner, now: t.now}
			err = told.tell(controller.Ref{}, controller.EventRestored,
				restoredPayload{actorPayload{Actor: r.Actor}, r.From, doubted})
		}
	}
	return err
}

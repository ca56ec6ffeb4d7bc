package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/secret"
)

// maxNotices bounds one answer.
const maxNotices = 1000

// QueueNotices keeps what is to be told; see controller.Store.
func (s *Store) QueueNotices(ctx context.Context, hook string, list []controller.Notice, next controller.Cursor) error {
	if err := controller.ValidateName("hook", hook); err != nil {
		return err
	}
	if _, err := decodeCursor(next); err != nil {
		return err
	}
	return s.do(ctx, "queue notices", func(t *tx) error {
		for _, n := range list {
			if err := t.queueNotice(hook, n); err != nil {
				return err
			}
		}
		err := t.exec("DELETE FROM notices WHERE scope = ? AND hook = ? AND due_at IS NULL AND recorded_at < ?",
			t.scope, hook, t.now.Add(-controller.NoticeMemory))
		if err != nil {
			return err
		}
		return t.exec("INSERT OR REPLACE INTO notice_cursors VALUES (?, ?, ?)", t.scope, hook, string(next))
	})
}

func (t *tx) queueNotice(hook string, n controller.Notice) error {
	text, err := canonical.Marshal(n)
	if err != nil {
		return err
	}
	text = secret.RedactJSON(text)
	if err := limit.Bytes("notice", text, controller.MaxNoticeBytes); err != nil {
		return err
	}
	return t.exec(`INSERT INTO notices (scope, hook, id, notice_json, recorded_at, due_at, attempts)
		VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`, t.scope, hook, n.ID, text, t.now, t.now.Add(n.Delay))
}

// NoticeCursor returns how far the change feed was looked through for a hook; see
// controller.Store.
func (s *Store) NoticeCursor(ctx context.Context, hook string) (controller.Cursor, error) {
	return read(ctx, s, "read notices", func(t *tx) (c controller.Cursor, err error) {
		_, err = t.first("SELECT cursor FROM notice_cursors WHERE scope = ? AND hook = ?", values(t.scope, hook), (*string)(&c))
		return c, err
	})
}

// Notices returns what has not been told; see controller.Store.
func (s *Store) Notices(ctx context.Context, hook string, count int) ([]controller.Notice, error) {
	count, err := pageSize("notices", count, maxNotices)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, "read notices", func(t *tx) (list []controller.Notice, err error) {
		var text json.RawMessage
		var due time.Time
		var attempts int
		var last string
		err = t.each(`SELECT notice_json, due_at, attempts, last_error FROM notices
			WHERE scope = ? AND hook = ? AND due_at IS NOT NULL ORDER BY due_at, id LIMIT ?`, values(t.scope, hook, count), func() error {
			n := controller.Notice{}
			if err := json.Unmarshal(text, &n); err != nil {
				return fmt.Errorf("read a notice of hook %s: its row is damaged: %w", hook, err)
			}
			n.DueAt, n.Attempts, n.LastError = due, attempts, last
			list = append(list, n)
			return nil
		}, &text, &due, &attempts, &last)
		return list, err
	})
}

// EndNotice records an attempt to tell; see controller.Store.
func (s *Store) EndNotice(ctx context.Context, hook, id string, e controller.NoticeEnd) error {
	return s.do(ctx, "end a notice", func(t *tx) error {
		if e.Told {
			return t.exec(`UPDATE notices SET due_at = NULL, last_error = ?, recorded_at = ?, attempts = attempts + 1
				WHERE scope = ? AND hook = ? AND id = ? AND due_at IS NOT NULL`,
				orNull(limit.Text(e.Err, controller.MaxError)), t.now, t.scope, hook, id)
		}
		return t.exec(`UPDATE notices SET due_at = ?, attempts = attempts + 1, last_error = ?
			WHERE scope = ? AND hook = ? AND id = ? AND due_at IS NOT NULL`,
			t.now.Add(e.After), orNull(limit.Text(e.Err, controller.MaxError)), t.scope, hook, id)
	})
}

package sqlite

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"piworkflows/controller"
)

const (
	maxPage = 1000
	// maxPageBytes ends a page early, for resources may be of megabytes.
	maxPageBytes = 4 << 20
)

// List returns a page of resources; see controller.Store. A page may be shorter
// than its limit; the last one has no Continue.
func (s *Store) List(ctx context.Context, q controller.ListQuery) (controller.ListPage, error) {
	count, err := pageSize("resources", q.Limit, maxPage)
	if err != nil {
		return controller.ListPage{}, err
	}
	after, err := decodeContinue(q.Continue)
	if err != nil {
		return controller.ListPage{}, err
	}
	var more bool
	rows, err := read(ctx, s, "list resources", func(t *tx) (rows []listRow, err error) {
		rows, more, err = t.list(q, after, count)
		return rows, err
	})
	if err != nil {
		return controller.ListPage{}, err
	}
	return newPage(rows, more)
}

// listRow is one line of a list; row is its state in the queue.
type listRow struct {
	record
	row     controller.QueueRow
	updated time.Time
}

func (r listRow) size() int { return len(r.spec) + r.statusSize() }

// list reads up to count rows after a reference, fewer if they are large, and
// tells whether there are more.
func (t *tx) list(query controller.ListQuery, after controller.Ref, count int) (list []listRow, more bool, err error) {
	join, where, args := "LEFT JOIN", "(r.controller, r.resource_key) > (?, ?)", values(t.scope, after.Controller, after.Key)
	if query.Controller != "" {
		where, args = "r.controller = ? AND "+where, values(t.scope, query.Controller, after.Controller, after.Key)
	}
	if query.Queued {
		join = "CROSS JOIN" // in the order of the resources, which a page needs
	}
	var r record
	var q queueRow
	var updated time.Time
	bytes := 0
	err = t.each("SELECT "+recordColumns+", "+queueColumns+`, r.updated_at FROM resources r
		`+join+` queue q ON q.resource_id = r.id
		WHERE r.scope = ? AND `+where+" ORDER BY r.controller, r.resource_key", args,
		func() error {
			if more = len(list) == count || bytes > maxPageBytes; more {
				return errEnough
			}
			row := listRow{r, q.state(t.now), updated}
			if err := row.attention.show(&row.row); err != nil {
				return err
			}
			list = append(list, row)
			bytes += list[len(list)-1].size()
			return nil
		}, append(append(r.columns(), q.columns()...), &updated)...)
	return list, more, err
}

func newPage(rows []listRow, more bool) (controller.ListPage, error) {
	var p controller.ListPage
	for _, r := range rows {
		raw, err := r.decode()
		if err != nil {
			return controller.ListPage{}, err
		}
		p.Items = append(p.Items, controller.ListItem{Resource: raw, Queue: r.row, UpdatedAt: r.updated})
	}
	if more {
		p.Continue = encodeContinue(rows[len(rows)-1].Ref)
	}
	return p, nil
}

// encodeContinue is the place after a reference.
func encodeContinue(ref controller.Ref) string {
	return base64.RawURLEncoding.EncodeToString([]byte(ref.String()))
}

// decodeContinue reads what encodeContinue writes; empty is the beginning.
func decodeContinue(text string) (controller.Ref, error) {
	if text == "" {
		return controller.Ref{}, nil
	}
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	name, key, ok := strings.Cut(string(bytes), "/")
	ref := controller.Ref{Controller: name, Key: key}
	if err != nil || !ok || controller.ValidateRef(ref) != nil {
		return controller.Ref{}, &CursorError{Cursor: text}
	}
	return ref, nil
}

package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// Put creates or changes a resource; see controller.Store. With DryRun the
// resource that would be created has no UID yet.
func (s *Store) Put(ctx context.Context, p controller.Put) (controller.PutResult, error) {
	if err := preparePut(&p); err != nil {
		return controller.PutResult{}, err
	}
	change := write[putChange]
	if p.DryRun {
		change = read[putChange]
	}
	done, err := change(ctx, s, "put resource", func(t *tx) (putChange, error) { return t.put(p) })
	if err != nil {
		return controller.PutResult{}, err
	}
	raw, err := done.decode()
	return controller.PutResult{Action: done.action, Resource: raw}, err
}

// preparePut checks the names and makes the values canonical.
func preparePut(p *controller.Put) error {
	if err := controller.ValidateRef(p.Ref); err != nil {
		return err
	}
	spec, err := canonical.Canonical(p.Spec)
	if err != nil {
		return fmt.Errorf("spec of %s: %w", p.Ref, err)
	}
	if err := limit.Bytes("resource spec", spec, controller.MaxSpecBytes); err != nil {
		return err
	}
	status, err := encodeStatus(p.InitialStatus)
	if err != nil {
		return fmt.Errorf("initial status of %s: %w", p.Ref, err)
	}
	p.Spec, p.InitialStatus = spec, status
	return checkStatusSize(record{conditions: json.RawMessage(emptyList), status: status})
}

func checkStatusSize(r record) error {
	if size := r.statusSize(); size > controller.MaxStatusBytes {
		return &controller.LimitError{
			What: "resource status", Limit: controller.MaxStatusBytes, Size: size, Unit: "bytes",
		}
	}
	return nil
}

// putChange is what a put does and the record after it.
type putChange struct {
	action controller.PutAction
	record
}

func (t *tx) put(p controller.Put) (putChange, error) {
	old, found, err := t.record(p.Ref)
	if err != nil {
		return putChange{}, err
	}
	if found && old.deletion != nil {
		return putChange{}, &controller.DeletingError{Ref: p.Ref}
	}
	if err := expect(p.Ref, p.Expect, old.version); err != nil {
		return putChange{}, err
	}
	c := planPut(p, old, found)
	if p.DryRun {
		if !found {
			c.uid = ""
		}
		return c, nil
	}
	return c, t.store(c, p.Actor)
}

func planPut(p controller.Put, old record, found bool) putChange {
	switch {
	case !found:
		return putChange{controller.Created, newRecord(p.Ref, p.Spec, p.InitialStatus)}
	case bytes.Equal(old.spec, p.Spec):
		return putChange{controller.Unchanged, old}
	}
	old.spec = p.Spec
	old.generation++
	old.version++
	old.guard = old.version
	return putChange{controller.Configured, old}
}

// expect compares the version that a caller expects, if any, with the one there
// is; 0 is the version of what does not exist.
func expect(ref controller.Ref, expected *int64, current int64) error {
	if expected == nil || *expected == current {
		return nil
	}
	return &controller.ConflictError{Ref: ref, Expected: *expected, Current: current}
}

// create inserts a resource and its first wake-up.
func (t *tx) create(r record) (err error) {
	r.wake = 1
	if r.line, err = t.line(r.Controller); err != nil {
		return err
	}
	if err := t.insert(r); err != nil {
		return err
	}
	return t.exec(dueQuery, t.lastID(), r.line, int(controller.LaneRequest), t.now, false)
}

// respecify stores another spec and wakes the key with a clean slate: errors
// with the old spec say nothing about the new one.
func (t *tx) respecify(r record) error {
	err := t.exec(`UPDATE resources SET spec_json = ?, generation = ?, resource_version = ?, guard_version = ?,
		wake = wake + 1, updated_at = ? WHERE id = ?`, r.spec, r.generation, r.version, r.guard, t.now, r.id)
	if err != nil {
		return err
	}
	k := sleeper{id: r.id, line: r.line, held: r.suspension != nil}
	k.queued, err = t.first("SELECT lane, available_at FROM queue WHERE resource_id = ?", values(r.id), &k.lane, &k.available)
	if err != nil {
		return err
	}
	if err := t.due(k, controller.LaneRequest); err != nil || !k.queued {
		return err
	}
	return t.exec(`UPDATE queue SET consecutive_errors = 0, retries = 0, last_error = NULL
		WHERE resource_id = ? AND (consecutive_errors > 0 OR retries > 0 OR last_error IS NOT NULL)`, r.id)
}

// line returns the number of a controller, and gives it one the first time.
func (t *tx) line(name string) (id int64, err error) {
	known, err := t.first(lineQuery, values(t.scope, name), &id)
	if known || err != nil {
		return id, err
	}
	err = t.exec("INSERT INTO controllers (scope, controller) VALUES (?, ?)", t.scope, name)
	return t.lastID(), err
}

// store writes the change, wakes the key and tells of it.
func (t *tx) store(c putChange, actor string) error {
	kind := controller.EventUpdated
	var err error
	switch c.action {
	case controller.Unchanged:
		return nil
	case controller.Created:
		kind = controller.EventApplied
		err = t.create(c.record)
	case controller.Configured:
		err = t.respecify(c.record)
	}
	if err != nil {
		return err
	}
	var o object
	o.number("generation", c.generation)
	o.stringIfAny("actor", actor)
	return t.tellObject(c.Ref, kind, o)
}

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
	status := json.RawMessage("null")
	if len(p.InitialStatus) > 0 {
		if status, err = canonical.Canonical(p.InitialStatus); err != nil {
			return fmt.Errorf("initial status of %s: %w", p.Ref, err)
		}
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

// store writes the change, wakes the key and tells of it.
func (t *tx) store(c putChange, actor string) error {
	kind := controller.EventUpdated
	var err error
	switch c.action {
	case controller.Unchanged:
		return nil
	case controller.Created:
		kind = controller.EventApplied
		err = t.insert(c.record)
	case controller.Configured:
		err = t.exec(`UPDATE resources SET spec_json = ?, generation = ?, resource_version = ?, guard_version = ?,
			updated_at = ? WHERE uid = ?`, c.spec, c.generation, c.version, c.guard, t.now, c.uid)
	}
	if err != nil {
		return err
	}
	if err := t.wakeForSpec(c.Ref); err != nil {
		return err
	}
	return t.tell(c.Ref, kind, struct {
		Generation int64  `json:"generation"`
		Actor      string `json:"actor,omitempty"`
	}{c.generation, actor})
}

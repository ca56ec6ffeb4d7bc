package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// PutSpec checks a spec with its definition and puts it into the store: the way
// by which callers create and change resources. It fills in the reference's
// controller and the initial status. Errors are a *NameError, a *SpecError, a
// *LimitError, or those of Store.Put; nothing was written then.
//
// Spec: Resource model.
func PutSpec(ctx context.Context, s Store, d *Definition, p Put) (PutResult, error) {
	if p.Ref.Controller == "" {
		p.Ref.Controller = d.Name
	}
	if p.Ref.Controller != d.Name {
		return PutResult{}, fmt.Errorf("a spec of controller %.80q was given to the definition of %q", p.Ref.Controller, d.Name)
	}
	if err := ValidateRef(p.Ref); err != nil {
		return PutResult{}, err
	}
	if err := d.prepare(&p); err != nil {
		return PutResult{}, err
	}
	return s.Put(ctx, p)
}

// prepare checks the spec and fills in the status.
func (d *Definition) prepare(p *Put) error {
	spec, err := canonical.Canonical(p.Spec)
	if err != nil {
		return newSpecError(d.Name, err)
	}
	if err := limit.Bytes("resource spec", spec, MaxSpecBytes); err != nil {
		return err
	}
	if err := d.validate(spec); err != nil {
		return err
	}
	status, err := d.initialStatus(spec)
	if err != nil {
		return fmt.Errorf("initial status of controller %s: %w", d.Name, err)
	}
	p.Spec, p.InitialStatus = spec, status
	return nil
}

func (d *Definition) validate(spec json.RawMessage) error {
	if d.ValidateSpec == nil {
		return nil
	}
	_, err := guarded("ValidateSpec", func() (struct{}, error) { return struct{}{}, d.ValidateSpec(spec) })
	return err
}

func (d *Definition) initialStatus(spec json.RawMessage) (json.RawMessage, error) {
	if d.InitialStatus == nil {
		return json.RawMessage("null"), nil
	}
	status, err := guarded("InitialStatus", func() (json.RawMessage, error) { return d.InitialStatus(spec) })
	if err != nil {
		return nil, err
	}
	if status, err = canonical.Canonical(status); err != nil {
		return nil, err
	}
	return status, limit.Bytes("controller status", status, MaxStatusBytes)
}

// newSpecError tells of JSON text that was refused, with its place if known.
func newSpecError(name string, err error) error {
	problem := SpecProblem{Message: err.Error()}
	if bad := (*canonical.Error)(nil); errors.As(err, &bad) {
		problem = SpecProblem{Pointer: bad.Pointer, Message: bad.Reason}
	}
	return &SpecError{Controller: name, Problems: []SpecProblem{problem}}
}

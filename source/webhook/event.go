package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"piworkflows/controller"
)

// Event is one delivery whose signature is right. It is a hint that something may
// have changed: reconcilers look for themselves.
type Event struct {
	// Type is the provider's name of the kind of event, such as pull_request.
	Type string
	// ID is the provider's ID of the delivery; empty if it gives none.
	ID string
	// Payload is JSON of at most Options.MaxBody bytes. It belongs to the call.
	Payload json.RawMessage
	// ReceivedAt is when the body was there.
	ReceivedAt time.Time
}

// Mapper returns the keys of the resources that an event may be about. It is
// called from many goroutines, should be quick, and should neither ask the outside
// nor decide anything: the event may be old, or come twice, or late.
type Mapper func(ctx context.Context, e Event) ([]string, error)

// Typed is a Mapper that reads the payload into the author's type first; fields
// that the type does not have are passed over.
func Typed[T any](keys func(ctx context.Context, e Event, payload T) ([]string, error)) Mapper {
	if keys == nil {
		return nil
	}
	return func(ctx context.Context, e Event) ([]string, error) {
		var payload T
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			return nil, fmt.Errorf("read the payload: %w", err)
		}
		return keys(ctx, e, payload)
	}
}

// guarded is the mapping without its panics, which are a *controller.PanicError.
func (m Mapper) guarded(ctx context.Context, e Event) (keys []string, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &controller.PanicError{In: "mapping of a webhook", Value: value, Stack: debug.Stack()}
		}
	}()
	return m(ctx, e)
}

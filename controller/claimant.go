package controller

import (
	"context"
	"time"
)

// Claimant is who works on a key.
type Claimant struct {
	// Instance is the store whose claim it is, Label names its process for people.
	Instance, Label string
	// Until is when the claim ends if it is not renewed.
	Until time.Time
	// Dead says that the process is gone: the key is free as soon as a host looks.
	Dead bool
}

// ClaimInspector is an optional ability of a Store: it knows who claimed a key
// and whether they live. Stores whose claimants cannot be judged lack it.
type ClaimInspector interface {
	// Claimant returns who has claimed a key, nil if nobody has.
	Claimant(ctx context.Context, ref Ref) (*Claimant, error)
}

// ResourceCounter is an optional ability of a Store: it counts the resources of the
// project by the names of their controllers, also of those that no program has.
type ResourceCounter interface {
	CountResources(ctx context.Context) (map[string]int64, error)
}

package controller

import "time"

// NoticeKind says what a person is told of.
type NoticeKind string

// The kinds of notices.
const (
	// NoticeNotReady is a resource that says that it is not ready.
	NoticeNotReady NoticeKind = "not_ready"
	// NoticeEffectInDoubt is an effect of which nobody knows what came of it.
	NoticeEffectInDoubt NoticeKind = "effect_in_doubt"
	// NoticeDeletionStuck is a resource whose deletion takes long.
	NoticeDeletionStuck NoticeKind = "deletion_stuck"
	// NoticeRunWaiting is a child run, or a detached run, that waits for an answer.
	NoticeRunWaiting NoticeKind = "run_waiting"
)

// NoticeKinds returns all kinds.
func NoticeKinds() []NoticeKind {
	return []NoticeKind{NoticeNotReady, NoticeEffectInDoubt, NoticeDeletionStuck, NoticeRunWaiting}
}

// Bounds of notices.
const (
	// NoticeMemory is how long the ID of a notice is remembered after it was told.
	NoticeMemory = 30 * 24 * time.Hour
	// MaxNoticeBytes bounds a notice as JSON.
	MaxNoticeBytes = 8 << 10
)

// Notice is one thing that a person is told of.
type Notice struct {
	// ID is the same whenever the same thing is told, so that it can be dropped.
	ID   string     `json:"id"`
	Kind NoticeKind `json:"kind"`
	// Controller and Key name the resource; both are empty for a run that no resource
	// asked for.
	Controller string `json:"controller"`
	Key        string `json:"key"`
	UID        string `json:"uid,omitempty"`
	// Subject is the effect or run that it is about.
	Subject string `json:"subject,omitempty"`
	// Since is when it became so.
	Since   time.Time `json:"since"`
	Message string    `json:"message,omitempty"`

	// Delay is how long it is kept before it is told.
	Delay time.Duration `json:"-"`
	// DueAt is when it is to be told, Attempts how often that failed, and LastError
	// why; the store keeps them.
	DueAt     time.Time `json:"-"`
	Attempts  int       `json:"-"`
	LastError string    `json:"-"`
}

// Ref is the resource that the notice is about.
func (n Notice) Ref() Ref { return Ref{n.Controller, n.Key} }

// NoticeEnd is what came of an attempt to tell.
type NoticeEnd struct {
	// Told ends the notice; else it is due again after so long, because of Err.
	Told  bool
	After time.Duration
	Err   string
}

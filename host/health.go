package host

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"piworkflows/clock"
)

// Readiness says whether a host does its work.
type Readiness struct {
	Ready bool `json:"ready"`
	// Reasons tell why it does not; empty if it does.
	Reasons []Unreadiness `json:"reasons"`
}

// Unreadiness is one reason for which a host does not do its work.
type Unreadiness struct {
	// Code is stable: one of the Unready constants, or the code of an error of the
	// store or of a *FolderError.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of Unreadiness that are not those of errors.
const (
	UnreadyStarting = "starting"
	UnreadyStopping = "stopping"
	UnreadyWorkers  = "workers_elsewhere"
	UnreadyStore    = "store_unavailable"
)

// writeFailer is an optional ability of a store: WriteError is why the last write
// failed, nil if it did not. Without it a disk that takes nothing is noticed by
// those only who write.
type writeFailer interface{ WriteError() error }

// storeTimeout bounds the question to the store of one look at readiness.
const storeTimeout = 2 * time.Second

// phase is where a host is in its life.
type phase = int32

const (
	phaseStarting phase = iota
	phaseWorking
	phaseStopping
)

// health knows whether a host does its work.
type health struct {
	store Store
	// writes is the store itself, if it can tell.
	writes writeFailer
	ground ground
	clock  clock.Clock
	phase  atomic.Int32
}

func newHealth(s Store, c clock.Clock, g ground) *health {
	h := &health{store: s, clock: c, ground: g}
	h.writes, _ = s.(writeFailer)
	return h
}

// healthz says that the process answers, and no more: it must be cheap, and a
// restart would mend nothing that it does not know of.
func healthz(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]bool{"alive": true})
}

func (h *health) readyz(w http.ResponseWriter, r *http.Request) {
	now := h.look(r.Context())
	code := http.StatusOK
	if !now.Ready {
		code = http.StatusServiceUnavailable
	}
	answer(w, code, now)
}

// look finds every reason for which the host does not do its work.
func (h *health) look(ctx context.Context) Readiness {
	now := Readiness{Reasons: []Unreadiness{}}
	add := func(code, message string) { now.Reasons = append(now.Reasons, Unreadiness{code, message}) }
	switch h.phase.Load() {
	case phaseStarting:
		h.waiting(ctx, add)
	case phaseStopping:
		add(UnreadyStopping, "the host stops: it takes nothing new and waits for what is under way")
	}
	if err := h.reads(ctx); err != nil {
		add(codeOr(err, UnreadyStore), "the store does not answer: "+err.Error())
	}
	if err := h.writeError(); err != nil {
		add(codeOr(err, UnreadyStore), "the store takes no writes: "+err.Error())
	}
	for _, err := range h.ground.look() {
		add(codeOr(err, UnreadyStore), err.Error())
	}
	now.Ready = len(now.Reasons) == 0
	return now
}

// waiting says why the host does not work yet.
func (h *health) waiting(ctx context.Context, add func(code, message string)) {
	ctx, cancel := clock.WithTimeoutCause(ctx, h.clock, storeTimeout, errStoreSlow)
	defer cancel()
	if w, err := h.store.Workers(ctx); err == nil && w.Holder != "" {
		add(UnreadyWorkers, "another process runs the workers: "+w.Holder)
		return
	}
	add(UnreadyStarting, "the host has not begun to work")
}

var errStoreSlow = errors.New("no answer in time")

func (h *health) reads(ctx context.Context) error {
	ctx, cancel := clock.WithTimeoutCause(ctx, h.clock, storeTimeout, errStoreSlow)
	defer cancel()
	_, err := h.store.Head(ctx)
	return err
}

func (h *health) writeError() error {
	if h.writes == nil {
		return nil
	}
	return h.writes.WriteError()
}

// codeOr is the stable code of an error, or another one if it has none.
func codeOr(err error, other string) string {
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok {
		return coded.ErrorCode()
	}
	return other
}

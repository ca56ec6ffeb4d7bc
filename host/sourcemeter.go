package host

import (
	"errors"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/limit"
)

// meter keeps the status of one source and tells of what changes it.
type meter struct {
	info    controller.SourceInfo
	clock   clock.Clock
	records controller.Observer

	counted, changed chan struct{}

	mu     sync.Mutex
	status controller.SourceStatus
	// news says that the status was not written since it changed.
	news bool
	// told is the last error of a delivery: a source that ends with it has not
	// failed twice.
	told error
}

func newMeter(info controller.SourceInfo, l *sourceLedger) *meter {
	return &meter{
		info: info, clock: l.clock, records: l.records, counted: l.counted, changed: l.changed,
		status: controller.SourceStatus{SourceInfo: info, State: controller.SourceStopped, Since: l.clock.Now().UTC()},
	}
}

// change applies f under the lock, at the present time, and has it written.
func (m *meter) change(f func(s *controller.SourceStatus, now time.Time)) time.Time {
	now := m.clock.Now().UTC()
	m.mu.Lock()
	state := m.status.State
	f(&m.status, now)
	same := m.status.State == state
	m.news = true
	m.mu.Unlock()
	if same {
		signal(m.counted)
	} else {
		signal(m.changed)
	}
	return now
}

// take returns the status if it is news, and from then on it is none.
func (m *meter) take() (controller.SourceStatus, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	news := m.news
	m.news = false
	return m.status, news
}

// keep makes the status news again.
func (m *meter) keep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.news = true
}

// goOn adds what was counted before, and remembers the last of each that has not
// happened since.
func (m *meter) goOn(before controller.SourceStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.status
	s.Deliveries += before.Deliveries
	s.Duplicates += before.Duplicates
	s.Enqueued += before.Enqueued
	s.Unknown += before.Unknown
	s.Refused += before.Refused
	s.Errors += before.Errors
	s.Restarts += before.Restarts
	if s.LastSeenAt == nil {
		s.LastSeenAt = before.LastSeenAt
	}
	if s.LastErrorAt == nil {
		s.LastError, s.LastErrorAt = before.LastError, before.LastErrorAt
	}
	if s.LastRefusalAt == nil {
		s.LastRefusal, s.LastRefusalAt = before.LastRefusal, before.LastRefusalAt
	}
}

func (m *meter) enter(state controller.SourceState, reason string) {
	reason = limit.Text(reason, controller.MaxMessage)
	m.change(func(s *controller.SourceStatus, now time.Time) {
		if !s.State.Runs() || !state.Runs() {
			s.NextAt = nil
		}
		s.State, s.Since, s.Reason = state, now, reason
	})
	m.records.Observe(controller.SourceChanged{SourceInfo: m.info, State: state, Reason: reason})
}

func (m *meter) restarting(after time.Duration) {
	m.change(func(s *controller.SourceStatus, now time.Time) {
		next := now.Add(after)
		s.State, s.Since, s.Reason, s.NextAt = controller.SourceRestarting, now, "", &next
		s.Restarts++
	})
	m.records.Observe(controller.SourceChanged{SourceInfo: m.info, State: controller.SourceRestarting, After: after})
}

// degraded is Intake.Degraded. That it is so already is no news.
func (m *meter) degraded(reason string) {
	m.mu.Lock()
	same := m.status.Reason == limit.Text(reason, controller.MaxMessage)
	m.mu.Unlock()
	switch {
	case same:
	case reason == "":
		m.enter(controller.SourceRunning, "")
	default:
		m.enter(controller.SourceDegraded, reason)
	}
}

// next is Intake.Next. That it is so already is no news.
func (m *meter) next(at time.Time) {
	var then *time.Time
	if !at.IsZero() {
		at = at.UTC()
		then = &at
	}
	m.mu.Lock()
	now := m.status.NextAt
	m.mu.Unlock()
	if now == then || (now != nil && then != nil && now.Equal(*then)) {
		return
	}
	m.change(func(s *controller.SourceStatus, _ time.Time) { s.NextAt = then })
}

// refused is Intake.Refused.
func (m *meter) refused(reason string) {
	reason = limit.Text(reason, controller.MaxMessage)
	now := m.change(func(s *controller.SourceStatus, now time.Time) {
		s.Refused++
		s.LastSeenAt, s.LastRefusal, s.LastRefusalAt = &now, reason, &now
	})
	m.records.Observe(controller.SourceRefused{SourceInfo: m.info, Reason: reason, At: now})
}

// undelivered counts a delivery that the store did not take.
func (m *meter) undelivered(err error) {
	m.mu.Lock()
	m.told = err
	m.mu.Unlock()
	m.failed(err)
}

// ended counts the error that a source ended with.
func (m *meter) ended(err error) {
	m.mu.Lock()
	told := m.told
	m.told = nil
	m.mu.Unlock()
	if told == nil || !errors.Is(err, told) {
		m.failed(err)
	}
}

// failed is Intake.Failed.
func (m *meter) failed(err error) {
	if err == nil {
		return
	}
	m.change(func(s *controller.SourceStatus, now time.Time) {
		s.Errors++
		s.LastError, s.LastErrorAt = limit.Text(err.Error(), controller.MaxError), &now
	})
	m.records.Observe(controller.SourceFailed{SourceInfo: m.info, Err: err})
}

func (m *meter) delivered(r controller.DeliveryResult) {
	now := m.change(func(s *controller.SourceStatus, now time.Time) {
		s.LastSeenAt = &now
		if r.Duplicate {
			s.Duplicates++
			return
		}
		s.Deliveries++
		s.Enqueued += int64(r.Enqueued)
		s.Unknown += int64(r.Unknown)
	})
	m.records.Observe(controller.SourceDelivered{SourceInfo: m.info, Result: r, At: now})
}

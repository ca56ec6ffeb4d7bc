package modeltest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"

	"piworkflows/controller"
	"piworkflows/lease"
)

// keyState is one key of a store, as the rules describe it.
type keyState struct {
	now      time.Duration
	resource snapshot // without a UID there is none
	queued   bool
	at       time.Duration
	// token names the claim, which lives until expires; seen is how many of the
	// wake-ups it saw.
	token   lease.Token
	expires time.Duration
	seen    int64
	wake    int64
	effect  controller.EffectState // empty without a record
	// errors is how many passes in a row have failed at most. With those, a claim
	// that ran out may have left a delay.
	errors int
	delay  bool
}

// keyRules says of a key which answers are right, whatever happens to others. A
// claim may take any key that is free and due.
var keyRules = porcupine.Model{
	Init: func() any { return keyState{} },
	Step: func(state, input, output any) (bool, any) {
		s, a := state.(keyState), output.(answer) //nolint:forcetypeassert // only these
		ok := s.step(input.(operation), a)        //nolint:forcetypeassert // only these
		return ok, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%s → %s", input, output) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

// step performs an operation and reports whether the answer is right.
func (s *keyState) step(o operation, a answer) bool {
	if o.action == doAdvance {
		s.now += o.by
		return true
	}
	if o.action == doClaim {
		return s.claim(a)
	}
	if refusal := s.refuses(o); refusal != "" || a.code != "" {
		return a.code == refusal
	}
	switch o.action {
	case doPut:
		return s.put(o.spec, a)
	case doGet:
		return a.resource == s.resource
	case doEnqueue:
		s.wakeUp()
		return a.count == s.wake
	case doDelete:
		return s.delete(a)
	case doRenew:
		s.expires = s.now + renewed
	case doFinish:
		return a.finished == s.finish(o.finish)
	case doReserve:
		return a.found == s.reserve()
	case doEffect:
		s.effect = o.state
	case doClaim, doAdvance:
	}
	return true
}

// refuses returns the code of the error that an operation must end with.
func (s *keyState) refuses(o operation) string {
	switch o.action {
	default:
	case doGet, doEnqueue, doDelete:
		if s.resource.uid == "" {
			return "not found"
		}
	case doPut:
		if s.resource.deleting {
			return "deleting"
		}
	case doEffect:
		if s.holds(o.claim.Token) && s.final() && s.effect != o.state {
			return "final"
		}
	}
	if o.claim != nil && !s.holds(o.claim.Token) {
		return "lost"
	}
	return ""
}

func (s *keyState) claimed() bool { return s.token != "" && s.expires > s.now }

func (s *keyState) holds(t lease.Token) bool { return s.claimed() && s.token == t }

func (s *keyState) final() bool {
	return s.effect == controller.EffectApplied || s.effect == controller.EffectRejected
}

func (s *keyState) unfinished() bool { return s.effect != "" && !s.final() }

func (s *keyState) put(spec int, a answer) bool {
	want := controller.Configured
	text := strconv.Itoa(spec)
	switch {
	case s.resource.uid == "":
		want = controller.Created
		*s = keyState{now: s.now, resource: snapshot{uid: a.resource.uid, spec: text, version: 1, generation: 1}}
	case s.resource.spec == text:
		return a.action == controller.Unchanged && a.resource == s.resource
	default:
		s.resource.spec = text
		s.resource.version++
		s.resource.generation++
	}
	s.wakeUp()
	return a.action == want && a.resource == s.resource && a.resource.uid != ""
}

func (s *keyState) wakeUp() {
	s.wake++
	if !s.queued {
		s.queued, s.at = true, s.now
	}
	s.at = min(s.at, s.now)
	s.delay = false
}

// cutOff ends a claim that has run out, of which a store takes notice some time
// later.
func (s *keyState) cutOff() {
	if s.token != "" && !s.claimed() {
		s.delay = s.errors > 0 && s.wake == s.seen
		s.errors++
		s.token = ""
	}
}

func (s *keyState) claim(a answer) bool {
	s.cutOff()
	free := s.queued && s.at <= s.now && !s.claimed()
	if a.key == "" {
		return !free || s.delay
	}
	s.delay = false
	s.token, s.expires, s.seen = a.token, s.now+lasts, s.wake
	return free && a.resource == s.resource && a.count == s.wake
}

func (s *keyState) finish(f controller.Finish) controller.Finished {
	woken := s.wake != s.seen
	s.token = ""
	s.count(f)
	if f.Write != nil && f.Write.Version != s.resource.version {
		s.at = s.now
		return controller.Finished{Conflict: true, Requeued: true, Reason: controller.ReasonConflict}
	}
	if f.Write != nil {
		s.resource.version++ // no pass writes what another did
		if s.resource.deleting && !s.unfinished() {
			*s = keyState{now: s.now}
			return controller.Finished{Deleted: true}
		}
	}
	after, reason := f.After, f.Reason
	switch {
	case woken && (f.Settle || f.After > 0):
		after, reason = 0, controller.ReasonEventDuringPass
	case f.Settle && s.unfinished():
		after, reason = f.Unsettled, controller.ReasonEffectUnsettled
	case f.Settle:
		s.queued = false
		return controller.Finished{}
	}
	s.at = s.now + after
	return controller.Finished{Requeued: true, Reason: reason, After: after}
}

// count keeps the errors that may be counted.
func (s *keyState) count(f controller.Finish) {
	switch {
	case f.Err != "":
		s.errors++
	case !f.KeepErrors && (f.Write == nil || f.Write.Version == s.resource.version):
		s.errors = 0
	}
}

func (s *keyState) delete(a answer) bool {
	if !s.resource.deleting {
		s.resource.deleting = true
		s.resource.version++
	}
	if s.claimed() || s.unfinished() {
		s.wakeUp()
		return !a.deleted
	}
	*s = keyState{now: s.now}
	return a.deleted
}

func (s *keyState) reserve() controller.Reservation {
	switch {
	case s.effect == "":
		s.effect = controller.EffectPending
		return controller.EffectNew
	case s.final():
		return controller.EffectDone
	default:
		return controller.EffectOpen
	}
}

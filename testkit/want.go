package testkit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"piworkflows/controller"
)

// WantConditions wants conditions of the present generation, each written as
// "TYPE=STATUS REASON", for example "Ready=false Sending".
func (r *Resource) WantConditions(want ...string) {
	r.kit.t.Helper()
	resource := r.Get()
	for _, w := range want {
		kind, _, _ := strings.Cut(w, "=")
		if got := condition(resource, kind); got != w {
			r.kit.t.Errorf("%s: %s, want %s%s", r.ref, got, w, because(controller.ReadinessOf(resource).Message))
		}
	}
}

// condition writes the condition of a type.
func condition(r controller.Raw, kind string) string {
	for _, c := range r.Status.Conditions {
		switch {
		case c.Type != kind:
		case c.ObservedGeneration != r.Metadata.Generation:
			return fmt.Sprintf("%s is of generation %d, and the spec of %d", kind, c.ObservedGeneration, r.Metadata.Generation)
		default:
			return fmt.Sprintf("%s=%s %s", kind, c.Status, c.Reason)
		}
	}
	return kind + " is not set"
}

// WantEffects wants effects in those states and no others, oldest first.
func (r *Resource) WantEffects(states ...controller.EffectState) {
	r.kit.t.Helper()
	var got []controller.EffectState
	var lines []string
	for _, e := range r.Effects() {
		got = append(got, e.State)
		lines = append(lines, fmt.Sprintf("%s is %s%s", e.Key, e.State, because(e.Error)))
	}
	if !slices.Equal(got, states) {
		r.kit.t.Errorf("%s: effects %q, want %q: %s", r.ref, got, states, strings.Join(lines, "; "))
	}
}

// WantGone wants the resource to be deleted.
func (r *Resource) WantGone() {
	r.kit.t.Helper()
	if !r.Gone() {
		r.kit.t.Errorf("%s is still there: %s", r.ref, next(r.Explain()))
	}
}

// WantNext wants the reason that explain gives first: who acts next, and why.
func (r *Resource) WantNext(want controller.ReasonCode) {
	r.kit.t.Helper()
	if e := r.Explain(); e.Reasons[0].Code != want {
		r.kit.t.Errorf("%s: %s; want %s", r.ref, next(e), want)
	}
}

// next writes the first reason of an explanation.
func next(e controller.Explanation) string {
	first := e.Reasons[0]
	return fmt.Sprintf("%s, %s (%s)", first.Code, first.Message, first.Next)
}

// WantSettled wants no pass to come by itself, and none that failed for good.
func (r *Resource) WantSettled() {
	r.kit.t.Helper()
	r.wantQueue("settled", func(q controller.QueueRow) bool {
		return q.State == controller.QueueNone && q.Stalled == ""
	})
}

// WantDue wants a pass to be due now.
func (r *Resource) WantDue() {
	r.kit.t.Helper()
	r.wantQueue("due", func(q controller.QueueRow) bool { return q.State == controller.QueueReady })
}

// WantDelayed wants the next pass after so long, and no error before it.
func (r *Resource) WantDelayed(d time.Duration) {
	r.kit.t.Helper()
	r.wantQueue("due after "+d.String(), func(q controller.QueueRow) bool {
		return q.State == controller.QueueDelayed && q.AvailableAt.Sub(r.kit.Clock.Now()) == d && q.ConsecutiveErrors == 0
	})
}

// WantFailing wants so many passes in a row to have failed, the last one with an
// error that contains text, and another to come.
func (r *Resource) WantFailing(passes int, text string) {
	r.kit.t.Helper()
	r.wantQueue(fmt.Sprintf("failing for the %d. time with %q", passes, text), func(q controller.QueueRow) bool {
		return q.State != controller.QueueNone && q.ConsecutiveErrors == passes && strings.Contains(q.LastError, text)
	})
}

// WantStalled wants the last pass to have failed for good, with an error that
// contains text.
func (r *Resource) WantStalled(text string) {
	r.kit.t.Helper()
	r.wantQueue(fmt.Sprintf("stalled with %q", text), func(q controller.QueueRow) bool {
		return q.State == controller.QueueNone && q.Stalled != "" && strings.Contains(q.Stalled, text)
	})
}

func (r *Resource) wantQueue(want string, ok func(controller.QueueRow) bool) {
	r.kit.t.Helper()
	if q := r.Queue(); !ok(q) {
		r.kit.t.Errorf("%s is %s, want it to be %s", r.ref, r.row(q), want)
	}
}

// row writes a queue row.
func (r *Resource) row(q controller.QueueRow) string {
	text := string(q.State)
	switch {
	case q.State == controller.QueueDelayed:
		text = "due after " + q.AvailableAt.Sub(r.kit.Clock.Now()).String()
	case q.State == controller.QueueNone && q.Stalled != "":
		return "stalled" + because(q.Stalled)
	case q.State == controller.QueueNone:
		return "settled"
	}
	if q.ConsecutiveErrors == 0 {
		return text
	}
	return fmt.Sprintf("%s after %d errors%s", text, q.ConsecutiveErrors, because(q.LastError))
}

// because adds a reason to a sentence, if there is one.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

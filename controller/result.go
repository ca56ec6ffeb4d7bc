package controller

import "fmt"

// check refuses results that none of the constructors makes.
func (r Result[T]) check() error {
	switch {
	case r.Kind != ResultSettled && r.Kind != ResultRequeue && r.Kind != ResultRetry:
		return fmt.Errorf("the result kind is %.80q: return Settled, Requeue, RequeueAfter or Retry", r.Kind)
	case r.Kind != ResultRequeue && r.After != 0:
		return fmt.Errorf("a %s result has a delay of %s: return RequeueAfter to run again", r.Kind, r.After)
	case r.After < 0:
		return fmt.Errorf("the requeue delay %s is not positive", r.After)
	}
	return nil
}

// reason names the requeue that the result asks for.
func (r Result[T]) reason() RequeueReason {
	switch {
	case r.Kind == ResultSettled:
		return ""
	case r.Kind == ResultRetry:
		return ReasonRetry
	case r.After > 0:
		return ReasonDelay
	default:
		return ReasonRequested
	}
}

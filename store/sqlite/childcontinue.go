package sqlite

import (
	"piworkflows/controller"
	"piworkflows/runqueue"
)

// continueChild makes the continuation of a waiting child run the one that its
// request follows. What the parent of the resource was asked stays readable until
// the continuation ends.
func (t *tx) continueChild(waiting runqueue.Row, next string) error {
	child, found, err := t.childOf(waiting)
	if err != nil {
		return err
	}
	if !found || child.State != controller.RunWaiting {
		return &runqueue.NotWaitingError{RunID: waiting.RunID, Status: "orphaned"}
	}
	from := child
	child.RunID, child.State = next, controller.RunRunning
	_, err = t.changeChild(from, child)
	return err
}

// giveBackChild lets a request wait again if its continuation never began. If it
// was to be cancelled, it is over. The parent may have seen it run.
func (t *tx) giveBackChild(continuation runqueue.Row) error {
	if continuation.ChildOf == "" {
		return nil
	}
	child, found, err := t.childOf(continuation)
	if err != nil || !found || child.State.Final() {
		return err
	}
	from := child
	child.RunID, child.State = continuation.ContinuationOf, controller.RunWaiting
	if cancelled(continuation, &child) {
		if _, err := t.cancelRun(child.RunID, continuation.CancelReason); err != nil {
			return err
		}
	}
	parent, err := t.changeChild(from, child)
	if err != nil {
		return err
	}
	return t.goOrWake(parent, controller.LaneEvent)
}

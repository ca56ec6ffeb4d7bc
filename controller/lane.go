package controller

import "time"

// Lane is how urgent a wake-up is. It is kept in the queue row, so that work that
// runs again at once keeps its lane; a delayed one falls back to LaneEvent.
//
// Spec: Work queue; the lanes are ours.
type Lane int

// The lanes of the queue.
const (
	// LaneRequest is for what a person or a program asks for: a spec, a request,
	// a deletion.
	LaneRequest Lane = iota
	// LaneEvent is for what sources and child runs report, and for delays.
	LaneEvent
	// LaneBackground is for resyncs and rebuilds.
	LaneBackground
)

// Lanes returns all lanes, the most urgent first.
func Lanes() []Lane { return []Lane{LaneRequest, LaneEvent, LaneBackground} }

// Offset is how much later than its due time a key of the lane has its turn. The
// claim takes the key whose turn is the longest ago, so no key waits behind one
// that became due more than 60 seconds after it: that is the ageing bound.
func (l Lane) Offset() time.Duration {
	switch l {
	case LaneEvent:
		return 5 * time.Second
	case LaneBackground:
		return time.Minute
	default:
		return 0
	}
}

// String returns the name of the lane.
func (l Lane) String() string {
	switch l {
	case LaneRequest:
		return "request"
	case LaneEvent:
		return "event"
	default:
		return "background"
	}
}

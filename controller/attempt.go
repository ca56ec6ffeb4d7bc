package controller

import "time"

// MaxAttempts bounds the attempts that are kept of one effect: the first and the
// newest.
const MaxAttempts = 32

// EffectAction is what was done for an effect.
type EffectAction string

// The actions.
const (
	ActionObserve EffectAction = "observe"
	ActionApply   EffectAction = "apply"
	// ActionVerdict is the word of a person.
	ActionVerdict EffectAction = "verdict"
)

// AttemptOutcome is what came of an attempt: one of the outcomes below, or of a
// verdict its VerdictKind.
type AttemptOutcome string

// The outcomes of calls.
const (
	OutcomeApplied       AttemptOutcome = "applied"
	OutcomeNotApplied    AttemptOutcome = "not_applied"
	OutcomeRejected      AttemptOutcome = "rejected"
	OutcomeIndeterminate AttemptOutcome = "indeterminate"
	// OutcomeFailed is an observation that gave no answer.
	OutcomeFailed AttemptOutcome = "failed"
	// OutcomeUnknown is a call of which no answer was recorded: its pass went away,
	// maybe before it called.
	OutcomeUnknown AttemptOutcome = "unknown"
	// OutcomeWithheld is a call that was not made. It leaves no attempt behind.
	OutcomeWithheld AttemptOutcome = "withheld"
)

// EffectAttempt is one call for an effect, or the word of a person on it. It is
// recorded before the call, so that one without an end is under way or lost.
//
// Spec: External effects.
type EffectAttempt struct {
	// Number counts the attempts of the effect from one. Those between the first
	// and the newest are dropped beyond MaxAttempts.
	Number int          `json:"number"`
	Action EffectAction `json:"action"`
	// EndedAt is nil as long as no answer is recorded.
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	// Outcome is empty while the call is under way.
	Outcome AttemptOutcome `json:"outcome,omitempty"`
	// Error is at most MaxError characters, without known secrets.
	Error string `json:"error,omitempty"`
	// Actor and Reason are those of a verdict.
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// EffectPruning selects the finished effects whose records are cut.
type EffectPruning struct {
	// Before selects effects that ended before it.
	Before time.Time
	// Limit bounds one call, 1 to 10,000; zero is 1000. Call again until less were
	// cut.
	Limit int
	// DryRun counts and cuts nothing.
	DryRun bool
}

// Package lease has what claims have in common: an opaque token, a fencing
// number, an expiry, the error of one that was lost, and the loop that renews
// one while its holder works.
package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Defaults of every lease (design: Liveness of owners). A renewal that fails
// is tried again; only the expiry itself loses the claim.
const (
	DefaultDuration = 30 * time.Second
	DefaultRenewal  = 10 * time.Second
)

// Token names one claim. It is compared, never parsed.
type Token string

// NewToken returns a token that was never used before.
func NewToken() Token { return Token(uuid.NewString()) }

// Fence rises with every claim of one row, so that a guard outside the store
// can tell an older holder from a newer one.
type Fence int64

// Reason says why a claim no longer holds.
type Reason string

// The reasons why a claim is lost.
const (
	// Expired means that the lease ended before it was renewed.
	Expired Reason = "expired"
	// Taken means that somebody else holds the row now.
	Taken Reason = "taken"
	// Released means that the holder gave the row back, or that its deadline
	// did.
	Released Reason = "released"
	// Gone means that the row does not exist any more.
	Gone Reason = "gone"
)

// ErrLost matches every *LostError.
var ErrLost = errors.New("claim lost")

// LostError says that a write was refused because its claim no longer holds.
// Nothing was written.
type LostError struct {
	// What names the claimed row, for example `git-merge/feature-1`.
	What string
	// Reason says how the claim ended.
	Reason Reason
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the claim on %s is lost (%s); nothing was written, its next holder goes on", e.What, e.Reason)
}

// Is makes every LostError match ErrLost.
func (*LostError) Is(target error) bool { return target == ErrLost }

// ErrorCode is the stable code of a lost claim.
func (*LostError) ErrorCode() string { return "claim_lost" }

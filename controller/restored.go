package controller

import "time"

// Restoration says that a project was brought back from a copy: what happened
// after the copy was taken is known only outside.
type Restoration struct {
	At    time.Time `json:"at"`
	Actor string    `json:"actor,omitempty"`
	// From names the copy.
	From string `json:"from,omitempty"`
}

package provider

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/go-github/v84/github"
)

// MissingError says that there is no such thing, or that the token may not see it.
type MissingError struct{ Err error }

func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the API.
func (e *MissingError) Unwrap() error { return e.Err }

// DeniedError says that the token is not taken, or not for this.
type DeniedError struct{ Err error }

func (e *DeniedError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the API.
func (e *DeniedError) Unwrap() error { return e.Err }

// RefusedError says that a change was refused, and nothing was done.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the API.
func (e *RefusedError) Unwrap() error { return e.Err }

// BusyError says that the API wants to be left alone for a time.
type BusyError struct {
	Err   error
	After time.Duration
}

func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the API.
func (e *BusyError) Unwrap() error { return e.Err }

// RetryAfter makes a poll wait as long.
func (e *BusyError) RetryAfter() time.Duration { return e.After }

// busy is how long the API is left alone that does not say how long.
const busy = time.Minute

// told sorts an error by what can be done about it.
func told(what string, err error) error {
	err = fmt.Errorf("%s: %w", what, err)
	if limited, ok := errors.AsType[*github.RateLimitError](err); ok {
		reset := limited.Rate.Reset.Time
		sent, dated := http.ParseTime(limited.Response.Header.Get("Date"))
		if dated != nil || !reset.After(sent) {
			return &BusyError{Err: err, After: busy}
		}
		return &BusyError{Err: err, After: reset.Sub(sent)}
	}
	if limited, ok := errors.AsType[*github.AbuseRateLimitError](err); ok {
		if limited.RetryAfter == nil {
			return &BusyError{Err: err, After: busy}
		}
		return &BusyError{Err: err, After: *limited.RetryAfter}
	}
	answer, ok := errors.AsType[*github.ErrorResponse](err)
	if !ok || answer.Response == nil {
		return err
	}
	switch answer.Response.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return &MissingError{err}
	case http.StatusUnauthorized, http.StatusForbidden:
		return &DeniedError{err}
	case http.StatusMethodNotAllowed, http.StatusConflict, http.StatusUnprocessableEntity:
		return &RefusedError{err}
	default:
		return err
	}
}

package webhook

import (
	"net/http"
)

// refusal is an answer other than 2xx. Its message is ours: nothing that a
// request says is repeated.
type refusal struct {
	status  int
	code    string
	message string
	// wait is what Retry-After says, in seconds; zero says nothing.
	wait int
	// cause is an error of ours, for the operator and not for the caller.
	cause error
}

func (r *refusal) Error() string { return r.message }

// because is the refusal with what is wrong on our side.
func (r *refusal) because(err error) *refusal {
	with := *r
	with.cause = err
	return &with
}

// saying is the refusal with a message of its own.
func (r *refusal) saying(message string) *refusal {
	with := *r
	with.message = message
	return &with
}

// The refusals. docs/sources.md lists the codes, and a test compares.
var (
	errMethod = &refusal{status: http.StatusMethodNotAllowed, code: "method", message: "send deliveries with POST"}
	errClosed = &refusal{
		status: http.StatusServiceUnavailable, code: "closed", wait: 5,
		message: "nothing is taken now: the host is starting or stopping",
	}
	errBusy = &refusal{
		status: http.StatusServiceUnavailable, code: "busy", wait: 1,
		message: "too many deliveries at once",
	}
	errHeaders   = &refusal{status: http.StatusBadRequest, code: "headers", message: "the headers are not those of the format"}
	errSignature = &refusal{status: http.StatusUnauthorized, code: "signature", message: "the signature is missing or wrong"}
	errTime      = &refusal{
		status: http.StatusUnauthorized, code: "time",
		message: "the delivery is too old, or the clocks differ too much",
	}
	errSize  = &refusal{status: http.StatusRequestEntityTooLarge, code: "size", message: "the body is larger than the source takes"}
	errSlow  = &refusal{status: http.StatusRequestTimeout, code: "slow", message: "the body did not come in time"}
	errBody  = &refusal{status: http.StatusBadRequest, code: "body", message: "the body did not come whole, or is no JSON"}
	errMedia = &refusal{
		status: http.StatusUnsupportedMediaType, code: "media_type",
		message: "send JSON, or a form with JSON in the field payload",
	}
	errMapping = &refusal{
		status: http.StatusUnprocessableEntity, code: "mapping",
		message: "the controller cannot tell which resources this is about",
	}
	errPanic  = &refusal{status: http.StatusInternalServerError, code: "panic", message: "the mapping of the controller panicked"}
	errSecret = &refusal{
		status: http.StatusServiceUnavailable, code: "secret", wait: 60,
		message: "the secret of the source is not available",
	}
	errStore = &refusal{
		status: http.StatusServiceUnavailable, code: "store", wait: 5,
		message: "the delivery could not be stored: send it again",
	}
)

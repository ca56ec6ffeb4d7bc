package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

// errTimeUp ends a request whose time is over, errStopping one that a stop of the
// source cut off.
var (
	errTimeUp   = errors.New("the time for the request is over")
	errStopping = errors.New("the source stops")
)

// serve answers one request.
func (s *Source) serve(w http.ResponseWriter, r *http.Request) {
	l := s.gate.enter()
	if l == nil {
		refuse(w, errClosed)
		return
	}
	defer l.leave()
	ctx, cancel := l.during(r.Context(), s.options.Timeout)
	defer cancel()
	result, err := s.receive(ctx, l, w, r.WithContext(ctx))
	no, refused := errors.AsType[*refusal](err)
	if !refused {
		reply(w, http.StatusOK, accepted{Duplicate: result.Duplicate, Enqueued: result.Enqueued, Unknown: result.Unknown})
		return
	}
	l.count(no)
	refuse(w, no)
}

// during is the context of a request: it ends with its time and with the source.
func (l *life) during(request context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	limited, release := clock.WithTimeoutCause(request, l.in.Clock, timeout, errTimeUp)
	ctx, cancel := context.WithCancelCause(limited)
	stop := context.AfterFunc(l.ctx, func() { cancel(errStopping) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
		release()
	}
}

// count tells the operator: what is wrong on our side is a failure, all else was
// refused. A delivery that the store did not take is counted there.
func (l *life) count(no *refusal) {
	switch {
	case no.cause == nil:
		l.in.Refused(no.code + ": " + no.message)
	case no.code != errStore.code:
		l.in.Failed(no.cause)
	}
}

// receive takes a request step by step: what costs little and refuses much comes
// first, and nothing is done for a body before its signature is right.
func (s *Source) receive(
	ctx context.Context, l *life, w http.ResponseWriter, r *http.Request,
) (result controller.DeliveryResult, err error) {
	e, err := s.envelope(l, r)
	if err != nil {
		return result, err
	}
	if !l.place() {
		return result, errBusy
	}
	defer l.free()
	body, err := s.body(ctx, w, r)
	if err != nil {
		return result, err
	}
	if err := s.verify(ctx, l, e, body); err != nil {
		return result, err
	}
	payload, err := unwrap(r.Header.Get("Content-Type"), body)
	if err != nil {
		return result, err
	}
	keys, err := s.keys(ctx, e, Event{Type: e.Type, ID: e.ID, Payload: payload, ReceivedAt: l.in.Clock.Now()})
	if err != nil || len(keys) == 0 && !e.Trial { // a trial is kept, for whoever looks whether it came
		return result, err
	}
	result, err = l.in.Deliver(ctx, controller.Delivery{ID: e.ID, Keys: keys, Note: e.Type})
	if err != nil {
		return result, errStore.because(err)
	}
	return result, nil
}

// envelope reads the headers.
func (s *Source) envelope(l *life, r *http.Request) (Envelope, error) {
	if r.Method != http.MethodPost {
		return Envelope{}, errMethod
	}
	e, err := s.options.Format.Read(r.Header)
	switch {
	case errors.Is(err, errNoSignature):
		return e, errSignature
	case err != nil:
		return e, errHeaders.saying(err.Error())
	case s.options.Format.Window > 0 && l.in.Clock.Now().Sub(e.SentAt).Abs() > s.options.Format.Window:
		return e, errTime
	case r.ContentLength > int64(s.options.MaxBody):
		return e, errSize
	default:
		return e, nil
	}
}

// body reads the body until the time is over: then the connection gives up what it
// waits for.
func (s *Source) body(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	connection := http.NewResponseController(w)
	defer context.AfterFunc(ctx, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.options.MaxBody)))
	if err == nil {
		return body, nil
	}
	_, over := errors.AsType[*http.MaxBytesError](err)
	switch cause := context.Cause(ctx); {
	case over:
		return nil, errSize
	case errors.Is(cause, errTimeUp):
		return nil, errSlow
	case errors.Is(cause, errStopping):
		return nil, errClosed
	default:
		return nil, errBody
	}
}

// verify checks the signature with the secrets that there are.
func (s *Source) verify(ctx context.Context, l *life, e Envelope, body []byte) error {
	var keys [][]byte
	var missing error
	for _, ref := range s.options.Secrets {
		value, err := ref.Resolve(ctx)
		key := []byte(value)
		if err == nil && s.options.Format.Key != nil {
			key, err = s.options.Format.Key(value)
		}
		if err != nil {
			missing = errors.Join(missing, err)
			continue
		}
		keys = append(keys, key)
	}
	switch {
	case e.signedWith(keys, body):
		if missing != nil {
			l.in.Failed(missing) // the other secret does for now
		}
		return nil
	case missing != nil:
		return errSecret.because(missing)
	default:
		return errSignature
	}
}

// unwrap returns the JSON of a body.
func unwrap(contentType string, body []byte) (json.RawMessage, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, errMedia
	}
	switch kind {
	case "application/json":
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, errBody
		}
		body = []byte(form.Get("payload"))
	default:
		return nil, errMedia
	}
	if !json.Valid(body) {
		return nil, errBody
	}
	return body, nil
}

// keys asks the mapping, unless the provider only tries.
func (s *Source) keys(ctx context.Context, envelope Envelope, e Event) ([]string, error) {
	if envelope.Trial {
		return nil, nil
	}
	keys, err := s.options.Keys.guarded(ctx, e)
	_, panicked := errors.AsType[*controller.PanicError](err)
	switch {
	case panicked:
		return nil, errPanic.because(err)
	case err != nil:
		return nil, errMapping.because(err)
	case len(keys) > controller.MaxDeliveryKeys:
		return nil, errMapping.because(&controller.LimitError{
			What: "the list of keys of a webhook", Limit: controller.MaxDeliveryKeys, Size: len(keys), Unit: "keys",
		})
	default:
		return keys, nil
	}
}

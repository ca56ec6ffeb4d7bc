package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Format is how a provider names and signs its deliveries. GitHub, Signed and
// Standard make one.
type Format struct {
	// Read takes what stands in the headers of a request, which nobody has checked.
	// An error refuses the request before its body is read.
	Read func(h http.Header) (Envelope, error)
	// Key makes the key of the signature from a secret; nil takes its bytes.
	Key func(secret string) ([]byte, error)
	// Window is how far Envelope.SentAt may be from the present; zero if the
	// provider signs no time.
	Window time.Duration
}

// Envelope is what a request says of itself.
type Envelope struct {
	// ID names the delivery: one that comes again has the same.
	ID string
	// Type is the kind of event.
	Type string
	// SentAt is the time that is signed, if Format has a Window.
	SentAt time.Time
	// Prefix is signed together with the body, before it.
	Prefix string
	// Signatures are HMAC-SHA256 values; one right one is enough.
	Signatures [][]byte
	// Trial says that the provider only tries whether it is heard: nothing is
	// mapped, and the delivery is counted.
	Trial bool
}

// Bounds on what stands in headers.
const (
	// maxID is well below what the store takes, in bytes.
	maxID = 256
	// maxType bounds the kind of an event, in bytes.
	maxType = 128
	// maxSignatures bounds the work for one request.
	maxSignatures = 4
)

var (
	errNoSignature = errors.New("the request has no signature in the header of its format")
	errID          = errors.New("the ID of the delivery is missing, longer than 256 bytes, or no plain text")
	errType        = errors.New("the type of the event is longer than 128 bytes or no plain text")
)

// check refuses an envelope that cannot be right.
func (e Envelope) check() error {
	switch {
	case len(e.Signatures) == 0 || len(e.Signatures) > maxSignatures:
		return errNoSignature
	case len(e.ID) > maxID || !plain(e.ID):
		return errID
	case len(e.Type) > maxType || !plain(e.Type):
		return errType
	default:
		return nil
	}
}

func plain(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, unicode.IsControl) < 0
}

// signedWith reports whether one of the signatures is made with one of the keys.
// How long it takes tells nothing about where a signature is wrong.
func (e Envelope) signedWith(keys [][]byte, body []byte) bool {
	right := false
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(e.Prefix))
		mac.Write(body)
		want := mac.Sum(nil)
		for _, got := range e.Signatures {
			right = hmac.Equal(got, want) || right
		}
	}
	return right
}

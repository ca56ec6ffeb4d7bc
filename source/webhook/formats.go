package webhook

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// GitHub is the format of GitHub, and of what is compatible with it: the body is
// signed in X-Hub-Signature-256, X-GitHub-Delivery names the delivery and
// X-GitHub-Event its type. It signs no time; a delivery that is sent again keeps
// its ID. A ping wakes nothing.
func GitHub() Format {
	return Format{Read: func(h http.Header) (Envelope, error) {
		e := Envelope{ID: h.Get("X-Github-Delivery"), Type: h.Get("X-Github-Event")}
		e.Trial = e.Type == "ping"
		if e.ID == "" {
			return e, errID
		}
		e.Signatures = hexSignatures(h.Get("X-Hub-Signature-256"), "sha256=")
		return e, e.check()
	}}
}

// Headers name what a Signed format reads.
type Headers struct {
	// Signature has the HMAC-SHA256 of the body in hex, with or without sha256=
	// before it. Required.
	Signature string
	// Delivery has the ID of the delivery. Without the header, or in a request that
	// does not have it, no delivery is taken for one that came before.
	Delivery string
	// Event has the type of the event.
	Event string
}

// Signed is the plain format of many providers and of scripts: the body is signed
// with HMAC-SHA256 in a header of that name. It signs no time, so whoever has seen
// a delivery can send it again: with a new ID it wakes its keys once more.
func Signed(names Headers) Format {
	if names.Signature == "" {
		return Format{}
	}
	return Format{Read: func(h http.Header) (Envelope, error) {
		e := Envelope{ID: get(h, names.Delivery), Type: get(h, names.Event)}
		text := h.Get(names.Signature)
		e.Signatures = hexSignatures("sha256="+strings.TrimPrefix(text, "sha256="), "sha256=")
		return e, e.check()
	}}
}

func get(h http.Header, name string) string {
	if name == "" {
		return ""
	}
	return h.Get(name)
}

// hexSignatures reads one signature; none if it is no such thing.
func hexSignatures(text, prefix string) [][]byte {
	digits, found := strings.CutPrefix(text, prefix)
	value, err := hex.DecodeString(digits)
	if !found || err != nil || len(value) == 0 {
		return nil
	}
	return [][]byte{value}
}

// StandardWindow is how old a delivery of the Standard format may be, and how far
// ahead the clock of its sender.
const StandardWindow = 5 * time.Minute

var errTimestamp = errors.New("webhook-timestamp is no time in seconds since 1970")

// Standard is the format of the Standard Webhooks specification: webhook-id,
// webhook-timestamp and the body are signed together in webhook-signature, so that
// an old delivery is refused. The secret may be written as whsec_ and base64. The
// type of the event is in the payload.
func Standard() Format {
	return Format{Read: readStandard, Key: standardKey, Window: StandardWindow}
}

func readStandard(h http.Header) (Envelope, error) {
	e := Envelope{ID: h.Get("Webhook-Id")}
	if e.ID == "" {
		return e, errID
	}
	sent := h.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil {
		return e, errTimestamp
	}
	e.SentAt = time.Unix(seconds, 0)
	e.Prefix = e.ID + "." + sent + "."
	for signature := range strings.FieldsSeq(h.Get("Webhook-Signature")) {
		text, found := strings.CutPrefix(signature, "v1,")
		if value, err := base64.StdEncoding.DecodeString(text); found && err == nil {
			e.Signatures = append(e.Signatures, value)
		}
	}
	return e, e.check()
}

func standardKey(secret string) ([]byte, error) {
	text, found := strings.CutPrefix(secret, "whsec_")
	if !found {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("after whsec_ the secret is not base64") // the error would quote a part of it
	}
	return key, nil
}

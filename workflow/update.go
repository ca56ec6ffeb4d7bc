package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"piworkflows/clock"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// MaxUpdateBytes bounds the JSON text of the data of one update.
const MaxUpdateBytes = 65_536

// UpdateProgress is the type of an update whose data is a Progress.
const UpdateProgress = "progress"

var (
	updateType = regexp.MustCompile(`^[a-z][a-z0-9.-]{0,63}$`)
	updateKey  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$`)
)

// Update is a durable record of the running attempt that does not complete it.
// Of each type and key the run shows the latest.
//
// Spec: workflow engine, Updates and progress.
type Update struct {
	// Type says what the data means: a small letter, then up to 63 small letters,
	// digits, dots and hyphens. Every type but UpdateProgress is free.
	Type string `json:"type"`
	// Key tells updates of one type apart: a letter or digit, then up to 127
	// letters, digits and . _ : / -.
	Key string `json:"key"`
	// Data is a JSON object of at most MaxUpdateBytes.
	Data json.RawMessage `json:"data"`
}

// ReadUpdate decodes an update that comes from outside: an object with exactly
// the fields type, key and data. It is not checked otherwise.
func ReadUpdate(raw json.RawMessage) (Update, error) {
	var u Update
	if err := canonical.DecodeStrict(raw, &u); err != nil {
		return Update{}, &UpdateError{Problems: []Problem{{"update", err.Error()}}}
	}
	return u, nil
}

// Normalised returns the update as it is recorded: checked, and with data of its
// own that has no white space. What the publisher can correct is an *UpdateError;
// data that is too long is a *limit.Error.
func (u Update) Normalised() (Update, error) {
	var p problems
	u.names(&p)
	data := u.compact(&p)
	if len(p.list) == 0 && u.Type == UpdateProgress {
		readProgress(&p, data)
	}
	if len(p.list) > 0 {
		return Update{}, &UpdateError{Type: u.Type, Key: u.Key, Problems: p.list}
	}
	u.Data = data
	return u, limit.Bytes("data of update "+u.Type+" "+u.Key, data, MaxUpdateBytes)
}

func (u Update) names(p *problems) {
	if !updateType.MatchString(u.Type) {
		p.addf("type", "%q does not match %s", shorten(u.Type), updateType)
	}
	if !updateKey.MatchString(u.Key) {
		p.addf("key", "%q does not match %s", shorten(u.Key), updateKey)
	}
}

// compact returns the data without white space, in memory of its own.
func (u Update) compact(p *problems) json.RawMessage {
	if err := canonical.Check(u.Data); err != nil {
		p.addf("data", "%v", err)
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, u.Data); err != nil {
		p.addf("data", "%v", err)
	}
	if !bytes.HasPrefix(compact.Bytes(), []byte("{")) {
		p.addf("data", "must be a JSON object")
	}
	return compact.Bytes()
}

// UpdateError rejects an update. It lists everything that the publisher can
// correct; the attempt goes on.
type UpdateError struct {
	// Type and Key are those of the update; they may be what is wrong.
	Type, Key string
	// Problems name the field of the update as their place; there is at least
	// one.
	Problems []Problem
}

// Error names all problems, one on each line after the first.
func (e *UpdateError) Error() string {
	return fmt.Sprintf("the update %q %q is not accepted: correct %s", shorten(e.Type), shorten(e.Key), listed(e.Problems))
}

// ErrorCode is the stable code of a rejected update.
func (*UpdateError) ErrorCode() string { return "invalid_update" }

// UpdateReceipt says that an update is in the record.
type UpdateReceipt struct {
	// UpdateID identifies it, Seq is its place in the trace.
	UpdateID string
	Seq      int64
	At       time.Time
	// Type and Key are those of the update.
	Type, Key string
}

// Published is an update in the record.
type Published struct {
	Update
	// UpdateID and Seq are those of its receipt.
	UpdateID string
	Seq      int64
	At       time.Time
	// NodeID and AttemptID say who published it. In a composed run the ID is that
	// of the whole graph, see Result.
	NodeID, AttemptID string
}

// MarshalJSON writes the receipt as an agent gets it, with its time in
// clock.Layout.
func (r UpdateReceipt) MarshalJSON() ([]byte, error) {
	return canonical.Marshal(struct {
		UpdateID string `json:"updateId"`
		Seq      int64  `json:"seq"`
		At       string `json:"at"`
		Type     string `json:"type"`
		Key      string `json:"key"`
	}{r.UpdateID, r.Seq, clock.Format(r.At), r.Type, r.Key})
}

// Publisher records one update of the running attempt. It is safe for concurrent
// use. An update that is refused changes nothing and ends nothing: whoever
// publishes decides what its error means.
type Publisher func(ctx context.Context, u Update) (UpdateReceipt, error)

// NotPublishingError says that a callback publishes which must not: only a
// function action, and the line parser of a shell action, do.
type NotPublishingError struct{ RunID string }

func (e *NotPublishingError) Error() string {
	return fmt.Sprintf("run %s: this callback cannot publish updates: "+
		"do it in a function action, or in the line parser of a shell action", e.RunID)
}

// ErrorCode is the stable code of the error.
func (*NotPublishingError) ErrorCode() string { return "updates_unavailable" }

// Publish records an update of the running attempt. It works in function actions
// and in line parsers, until their attempt ends. Its errors are those of
// Update.Normalised, a *NotPublishingError elsewhere, and those of the engine:
// too many updates, too many at once, an attempt that is over, a record that
// cannot be written.
func (c *Context) Publish(ctx context.Context, u Update) (UpdateReceipt, error) {
	if c.Publisher == nil {
		return UpdateReceipt{}, &NotPublishingError{RunID: c.RunID}
	}
	return c.Publisher(ctx, u)
}

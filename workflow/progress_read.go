package workflow

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"piworkflows/internal/canonical"
)

// readProgress decodes the data of progress and reports everything that is wrong
// with it.
func readProgress(p *problems, data json.RawMessage) Progress {
	var fields map[string]json.RawMessage
	if err := canonical.DecodeStrict(data, &fields); err != nil || fields == nil {
		p.addf("data", "must be a JSON object")
		return Progress{}
	}
	r := progressReader{problems: p, fields: fields}
	progress := Progress{
		Schema: r.schema(), Status: r.status(),
		Label: r.text("label", MaxProgressLabel), Phase: r.text("phase", MaxProgressPhase), Unit: r.text("unit", MaxProgressUnit),
		Completed: r.number("completed"), Total: r.number("total"),
		SourceUpdatedAt: r.time("sourceUpdatedAt"), SourceEstimatedFinishAt: r.time("sourceEstimatedFinishAt"),
	}
	r.counts(progress)
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		r.addf(dataPlace(name), "is no field of %s: remove it or correct its name", ProgressSchema)
	}
	return progress
}

// dataPlace names a field of the data; one from outside may have any name.
func dataPlace(name string) string {
	if !plainKey.MatchString(name) {
		return "data[" + quote(shorten(name)) + "]"
	}
	return "data." + name
}

// progressReader takes one field after the other; what is left is unknown.
type progressReader struct {
	*problems

	fields map[string]json.RawMessage
}

// take decodes a field, reports one that has another form, and says whether it
// is there.
func (r *progressReader) take(name, form string, into any) bool {
	raw, present := r.fields[name]
	delete(r.fields, name)
	if !present {
		return false
	}
	if string(raw) == "null" || json.Unmarshal(raw, into) != nil {
		r.addf(dataPlace(name), "must be %s", form)
		return false
	}
	return true
}

func (r *progressReader) schema() (schema string) {
	r.take("schema", "a string", &schema)
	if schema != ProgressSchema {
		r.addf("data.schema", "must be %q", ProgressSchema)
	}
	return schema
}

func (r *progressReader) status() (status ProgressStatus) {
	r.take("status", "a string", &status)
	if !slices.Contains(progressStatuses, status) {
		r.addf("data.status", "%q is none of %s", shorten(string(status)), joined(progressStatuses))
	}
	return status
}

func joined(statuses []ProgressStatus) string {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

func (r *progressReader) text(name string, most int) (text string) {
	if !r.take(name, "a string", &text) {
		return ""
	}
	switch length := utf8.RuneCountInString(strings.TrimSpace(text)); {
	case strings.ContainsFunc(text, unicode.IsControl):
		r.addf(dataPlace(name), "has a control character: write printable text")
	case length == 0 || length > most:
		r.addf(dataPlace(name), "has %d characters, not 1 to %d", length, most)
	}
	return text
}

func (r *progressReader) number(name string) *float64 {
	var n float64
	if !r.take(name, "a number", &n) {
		return nil
	}
	return &n
}

// rfc3339 is the shape of RFC 3339, where time.Parse is lenient; that each part
// exists in the calendar is left to time.Parse.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// time reads a time that says how far it is from UTC.
func (r *progressReader) time(name string) time.Time {
	var text string
	if !r.take(name, "a string", &text) {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		r.addf(dataPlace(name), "%q is no RFC 3339 time with an offset: write it as 2027-01-05T08:15:00Z or with ±hh:mm", shorten(text))
	}
	return t
}

func (r *progressReader) counts(p Progress) {
	if p.Completed != nil && *p.Completed < 0 {
		r.addf("data.completed", "%v is negative", *p.Completed)
	}
	switch {
	case p.Total != nil && *p.Total <= 0:
		r.addf("data.total", "%v is not above zero: leave it out if it is unknown", *p.Total)
	case p.Total != nil && p.Completed != nil && *p.Total < *p.Completed:
		r.addf("data.total", "%v is below completed %v", *p.Total, *p.Completed)
	}
	if (p.Total != nil || p.Completed != nil) && p.Unit == "" {
		r.addf("data.unit", "is required with completed or total: name what is counted")
	}
}

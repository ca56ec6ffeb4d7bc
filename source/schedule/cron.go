package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// field is one of the five fields of an expression.
type field struct {
	name     string
	min, max int
	names    []string
}

var fields = [...]field{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of the month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
	}},
	// Sunday is 0, and 7 as well.
	{name: "day of the week", max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// shorthands are the words that stand for an expression.
var shorthands = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// set has a bit for each value that a field allows.
type set uint64

func (s set) has(v int) bool { return s&(1<<v) != 0 }

// after returns the smallest allowed value that is at least v; -1 if there is none.
func (s set) after(v int) int {
	if left := s >> v << v; left != 0 {
		return bits.TrailingZeros64(uint64(left))
	}
	return -1
}

// expression is a cron expression as times of a calendar without zones.
type expression struct{ minute, hour, day, month, weekday set }

// parse reads an expression of five fields, or a shorthand.
func parse(text string) (expression, error) {
	if long, ok := shorthands[strings.ToLower(strings.TrimSpace(text))]; ok {
		text = long
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return expression{}, fmt.Errorf("the cron expression %.80q has %d fields: write minute, hour, day of the month, month and "+
			"day of the week, or one of @hourly, @daily, @weekly, @monthly, @yearly", text, len(parts))
	}
	var sets [len(fields)]set
	for i, f := range fields {
		var err error
		if sets[i], err = f.parse(parts[i]); err != nil {
			return expression{}, fmt.Errorf("the cron expression %.80q: %s %.40q: %w", text, f.name, parts[i], err)
		}
	}
	e := expression{sets[0], sets[1], sets[2], sets[3], sets[4]}
	if e.weekday.has(7) {
		e.weekday = (e.weekday | 1) &^ (1 << 7)
	}
	if !e.possible() {
		return e, fmt.Errorf("the cron expression %.80q names a day that no month has", text)
	}
	return e, nil
}

// parse reads a list of values, ranges and steps.
func (f field) parse(text string) (set, error) {
	var all set
	for item := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(item, "/")
		every := 1
		if stepped {
			var err error
			if every, err = strconv.Atoi(step); err != nil || every < 1 || every > f.max {
				return 0, fmt.Errorf("the step %.20q is not between 1 and %d", step, f.max)
			}
		}
		from, to, err := f.span(span, stepped)
		if err != nil {
			return 0, err
		}
		for v := from; v <= to; v += every {
			all |= 1 << v
		}
	}
	return all, nil
}

// span reads *, a value or a range. A value with a step goes on to the end.
func (f field) span(text string, stepped bool) (from, to int, err error) {
	if text == "*" {
		return f.min, f.max, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	if from, err = f.value(first); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		to, err = f.value(last)
	case stepped:
		to = f.max
	default:
		to = from
	}
	if err == nil && to < from {
		err = fmt.Errorf("the range %.20q goes backwards", text)
	}
	return from, to, err
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < f.min || v > f.max || strings.HasPrefix(text, "+") {
		return 0, fmt.Errorf("%.20q is not between %d and %d", text, f.min, f.max)
	}
	return v, nil
}

const (
	everyHour    = set(1<<24 - 1)
	everyDay     = set(1<<32 - 2)
	everyWeekday = set(1<<7 - 1)
)

// wildHour says that the expression follows elapsed time, not the time of day.
func (e expression) wildHour() bool { return e.hour == everyHour }

// possible reports whether any day ever matches.
func (e expression) possible() bool {
	if e.weekday != everyWeekday {
		return true // every week has one, or the day of the month says more
	}
	for month := e.month.after(1); month > 0; month = e.month.after(month + 1) {
		// the year is a leap year: day 0 of the next month is the last of this one
		if day := e.day.after(1); day <= time.Date(2000, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
			return true
		}
	}
	return false
}

// onDay reports whether a day matches. If both the day of the month and that of
// the week are restricted, one of them suffices, as everywhere.
func (e expression) onDay(t time.Time) bool {
	if !e.month.has(int(t.Month())) {
		return false
	}
	day, weekday := e.day.has(t.Day()), e.weekday.has(int(t.Weekday()))
	if e.day != everyDay && e.weekday != everyWeekday {
		return day || weekday
	}
	return day && weekday
}

// next returns the first matching minute from t on and before the end; zero if
// there is none. Both are local times written as UTC.
func (e expression) next(t, end time.Time) time.Time {
	if up := t.Truncate(time.Minute); up.Before(t) {
		t = up.Add(time.Minute)
	}
	for t.Before(end) {
		if !e.onDay(t) {
			t = e.skipDay(t)
			continue
		}
		hour := e.hour.after(t.Hour())
		if hour < 0 {
			t = midnight(t).AddDate(0, 0, 1)
			continue
		}
		if hour > t.Hour() {
			t = midnight(t).Add(time.Duration(hour) * time.Hour)
		}
		if minute := e.minute.after(t.Minute()); minute >= 0 {
			t = t.Add(time.Duration(minute-t.Minute()) * time.Minute)
			break
		}
		t = t.Truncate(time.Hour).Add(time.Hour)
	}
	if !t.Before(end) {
		return time.Time{}
	}
	return t
}

// skipDay goes to the next day, or over a month that does not match.
func (e expression) skipDay(t time.Time) time.Time {
	if e.month.has(int(t.Month())) {
		return midnight(t).AddDate(0, 0, 1)
	}
	return time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
}

func midnight(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

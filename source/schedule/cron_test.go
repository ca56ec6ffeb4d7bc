package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, text string) expression {
	t.Helper()
	e, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// slots are the first n after a time, as the clocks of a zone show them.
func slots(p plan, zone *time.Location, after time.Time, n int) []string {
	var list []string
	for range n {
		after = p.next(after)
		if after.IsZero() {
			return append(list, "none")
		}
		list = append(list, after.In(zone).Format("Mon 2006-01-02 15:04 -07:00"))
	}
	return list
}

// TestWhatAnExpressionMeans has no change of the clock in it.
func TestWhatAnExpressionMeans(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"* * * * *":          {"Tue 2027-01-05 08:16", "Tue 2027-01-05 08:17", "Tue 2027-01-05 08:18"},
		"*/20 * * * *":       {"Tue 2027-01-05 08:20", "Tue 2027-01-05 08:40", "Tue 2027-01-05 09:00"},
		"10/20 8-9 * * *":    {"Tue 2027-01-05 08:30", "Tue 2027-01-05 08:50", "Tue 2027-01-05 09:10"},
		"15 8 * * *":         {"Wed 2027-01-06 08:15", "Thu 2027-01-07 08:15", "Fri 2027-01-08 08:15"},
		"0 0,12 * * *":       {"Tue 2027-01-05 12:00", "Wed 2027-01-06 00:00", "Wed 2027-01-06 12:00"},
		"0 9 * * mon-FRI":    {"Tue 2027-01-05 09:00", "Wed 2027-01-06 09:00", "Thu 2027-01-07 09:00"},
		"0 9 * * 6-7":        {"Sat 2027-01-09 09:00", "Sun 2027-01-10 09:00", "Sat 2027-01-16 09:00"},
		"0 9 * * 0":          {"Sun 2027-01-10 09:00", "Sun 2027-01-17 09:00", "Sun 2027-01-24 09:00"},
		"0 0 31 * *":         {"Sun 2027-01-31 00:00", "Wed 2027-03-31 00:00", "Mon 2027-05-31 00:00"},
		"0 0 29 2 *":         {"Tue 2028-02-29 00:00", "Sun 2032-02-29 00:00", "Fri 2036-02-29 00:00"},
		"0 0 13 * 5":         {"Fri 2027-01-08 00:00", "Wed 2027-01-13 00:00", "Fri 2027-01-15 00:00"},
		"0 0 1-7 jan,JUL *":  {"Wed 2027-01-06 00:00", "Thu 2027-01-07 00:00", "Thu 2027-07-01 00:00"},
		"59 23 31 12 *":      {"Fri 2027-12-31 23:59", "Sun 2028-12-31 23:59", "Mon 2029-12-31 23:59"},
		"@hourly":            {"Tue 2027-01-05 09:00", "Tue 2027-01-05 10:00", "Tue 2027-01-05 11:00"},
		"@Daily":             {"Wed 2027-01-06 00:00", "Thu 2027-01-07 00:00", "Fri 2027-01-08 00:00"},
		"@weekly":            {"Sun 2027-01-10 00:00", "Sun 2027-01-17 00:00", "Sun 2027-01-24 00:00"},
		"@monthly":           {"Mon 2027-02-01 00:00", "Mon 2027-03-01 00:00", "Thu 2027-04-01 00:00"},
		"@yearly":            {"Sat 2028-01-01 00:00", "Mon 2029-01-01 00:00", "Tue 2030-01-01 00:00"},
		" 0  0 \t* * 1-5/2 ": {"Wed 2027-01-06 00:00", "Fri 2027-01-08 00:00", "Mon 2027-01-11 00:00"},
	} {
		got := slots(calendar{mustParse(t, text), time.UTC}, time.UTC, time.Date(2027, 1, 5, 8, 15, 0, 0, time.UTC), 3)
		for i := range want {
			want[i] += " +00:00"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestTheNext29thOfFebruaryIsFoundOverACentury(t *testing.T) {
	t.Parallel()
	got := slots(calendar{mustParse(t, "0 0 29 2 *"), time.UTC}, time.UTC, time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC), 1)
	if diff := cmp.Diff([]string{"Fri 2104-02-29 00:00 +00:00"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsNoExpression(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 "has 0 fields",
		"* * * *":          "has 4 fields",
		"* * * * * *":      "has 6 fields",
		"@reboot":          "has 1 fields",
		"60 * * * *":       "minute \"60\": \"60\" is not between 0 and 59",
		"-1 * * * *":       "minute",
		"+1 * * * *":       "minute",
		"1.5 * * * *":      "minute",
		"* 24 * * *":       "hour",
		"* * 0 * *":        "day of the month",
		"* * 32 * *":       "day of the month",
		"* * * 13 *":       "month",
		"* * * foo *":      "month",
		"* * * * 8":        "day of the week",
		"* * * * l":        "day of the week",
		"*/0 * * * *":      "the step \"0\"",
		"*/60 * * * *":     "the step \"60\"",
		"*/x * * * *":      "the step \"x\"",
		"*/ * * * *":       "the step \"\"",
		"5-1 * * * *":      "goes backwards",
		"1,,2 * * * *":     "minute",
		"1-2-3 * * * *":    "minute",
		"? * * * *":        "minute",
		"0 0 30 2 *":       "names a day that no month has",
		"0 0 31 2,4,6,9 *": "names a day that no month has",
	} {
		_, err := parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q in it", text, err, want)
		}
	}
	if _, err := parse("0 0 31 2 1"); err != nil {
		t.Errorf("a Monday in February: %v", err)
	}
}

package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTheClockChanges is the table of docs/sources.md: what a slot becomes where
// a time of the clock does not exist, or exists twice.
func TestTheClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, zone, expression, after string
		want                          []string
	}{
		// Vienna: 28 March 2027 02:00 becomes 03:00, 31 October 2027 03:00 becomes 02:00.
		{
			"a time of the day that does not exist comes at the change", "Europe/Vienna", "30 2 * * *", "2027-03-27T12:00:00Z",
			[]string{"Sun 2027-03-28 03:00 +02:00", "Mon 2027-03-29 02:30 +02:00"},
		},
		{
			"several of them come once", "Europe/Vienna", "*/10 2,3 * * *", "2027-03-28T00:50:00Z",
			[]string{"Sun 2027-03-28 03:00 +02:00", "Sun 2027-03-28 03:10 +02:00"},
		},
		{
			"the first time of the gap does not exist either", "Europe/Vienna", "0 2 * * *", "2027-03-27T12:00:00Z",
			[]string{"Sun 2027-03-28 03:00 +02:00", "Mon 2027-03-29 02:00 +02:00"},
		},
		{
			"the time after the gap does", "Europe/Vienna", "0 3 * * *", "2027-03-27T12:00:00Z",
			[]string{"Sun 2027-03-28 03:00 +02:00", "Mon 2027-03-29 03:00 +02:00"},
		},
		{
			"a day that does not match has no slot in its gap", "Europe/Vienna", "30 2 * * 1-6", "2027-03-27T12:00:00Z",
			[]string{"Mon 2027-03-29 02:30 +02:00"},
		},
		{
			"every hour passes over the gap", "Europe/Vienna", "30 * * * *", "2027-03-27T23:30:00Z",
			[]string{"Sun 2027-03-28 01:30 +01:00", "Sun 2027-03-28 03:30 +02:00", "Sun 2027-03-28 04:30 +02:00"},
		},
		{
			"a time of the day that exists twice comes first", "Europe/Vienna", "30 2 * * *", "2027-10-30T12:00:00Z",
			[]string{"Sun 2027-10-31 02:30 +02:00", "Mon 2027-11-01 02:30 +01:00"},
		},
		{
			"also if one starts between the two", "Europe/Vienna", "30 2 * * *", "2027-10-31T00:45:00Z",
			[]string{"Mon 2027-11-01 02:30 +01:00"},
		},
		{
			"the change itself is the first time after", "Europe/Vienna", "0 3 * * *", "2027-10-30T12:00:00Z",
			[]string{"Sun 2027-10-31 03:00 +01:00", "Mon 2027-11-01 03:00 +01:00"},
		},
		{
			"every hour comes twice", "Europe/Vienna", "30 * * * *", "2027-10-30T23:30:00Z",
			[]string{"Sun 2027-10-31 02:30 +02:00", "Sun 2027-10-31 02:30 +01:00", "Sun 2027-10-31 03:30 +01:00"},
		},
		{
			"every other hour is a time of the day", "Europe/Vienna", "0 */2 * * *", "2027-10-30T22:00:00Z",
			[]string{"Sun 2027-10-31 02:00 +02:00", "Sun 2027-10-31 04:00 +01:00"},
		},
		// New York: 14 March 2027 02:00 becomes 03:00, 7 November 2027 02:00 becomes 01:00.
		{
			"New York in spring", "America/New_York", "15 2 * * *", "2027-03-13T12:00:00Z",
			[]string{"Sun 2027-03-14 03:00 -04:00", "Mon 2027-03-15 02:15 -04:00"},
		},
		{
			"New York in autumn", "America/New_York", "15 1 * * *", "2027-11-06T12:00:00Z",
			[]string{"Sun 2027-11-07 01:15 -04:00", "Mon 2027-11-08 01:15 -05:00"},
		},
		{
			"New York in autumn, every quarter", "America/New_York", "*/15 * * * *", "2027-11-07T05:40:00Z",
			[]string{"Sun 2027-11-07 01:45 -04:00", "Sun 2027-11-07 01:00 -05:00", "Sun 2027-11-07 01:15 -05:00"},
		},
		// Lord Howe changes by half an hour: 3 October 2027 02:00 becomes 02:30, 4 April 2027 02:00 becomes 01:30.
		{
			"half an hour that does not exist", "Australia/Lord_Howe", "0,15,30 2 * * *", "2027-10-02T00:00:00Z",
			[]string{"Sun 2027-10-03 02:30 +11:00", "Mon 2027-10-04 02:00 +11:00"},
		},
		{
			"half an hour that exists twice", "Australia/Lord_Howe", "15,45 1 * * *", "2027-04-03T00:00:00Z",
			[]string{"Sun 2027-04-04 01:15 +11:00", "Sun 2027-04-04 01:45 +11:00", "Mon 2027-04-05 01:15 +10:30"},
		},
		// São Paulo changed at midnight, Apia left out the 30 December 2011.
		{
			"a midnight that does not exist", "America/Sao_Paulo", "0 0 * * *", "2017-10-14T12:00:00Z",
			[]string{"Sun 2017-10-15 01:00 -02:00", "Mon 2017-10-16 00:00 -02:00"},
		},
		{
			"a day that does not exist", "Pacific/Apia", "0 12 * * *", "2011-12-29T12:00:00Z",
			[]string{"Thu 2011-12-29 12:00 -10:00", "Sat 2011-12-31 00:00 +14:00", "Sat 2011-12-31 12:00 +14:00"},
		},
		{
			"a zone without changes", "Asia/Tokyo", "30 2 * * *", "2027-03-27T12:00:00Z",
			[]string{"Sun 2027-03-28 02:30 +09:00", "Mon 2027-03-29 02:30 +09:00"},
		},
	} {
		after, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		zone := mustZone(t, c.zone)
		got := slots(calendar{mustParse(t, c.expression), zone}, zone, after, len(c.want))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s %s (-want +got):\n%s", c.what, c.zone, c.expression, diff)
		}
	}
}

// TestAYearOfSlots compares every slot of a year with what one finds who looks at
// each minute of it.
func TestAYearOfSlots(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{
		"UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "America/St_Johns",
	} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			y := newYear(mustZone(t, zone), 2027)
			for _, text := range []string{
				"*/30 * * * *", "7 * * * *", "30 2 * * *", "*/20 1-3 * * *", "0 0 * * *", "15 1,2,3 * * 0", "0 */3 * * *",
				"59 23 28-31 * *", "0 2 1 * 0", "45 2 14,28 3 *",
			} {
				e := mustParse(t, text)
				if diff := cmp.Diff(y.slots(e), y.planned(calendar{e, y.zone})); diff != "" {
					t.Errorf("%s (-each minute +plan):\n%s", text, diff)
				}
			}
		})
	}
}

// year has every minute of a year in a zone.
type year struct {
	zone       *time.Location
	begin, end time.Time
}

func newYear(zone *time.Location, n int) year {
	return year{zone, time.Date(n, 1, 1, 0, 0, 0, 0, zone).UTC(), time.Date(n+1, 1, 1, 0, 0, 0, 0, zone).UTC()}
}

func (y year) planned(p plan) (list []time.Time) {
	for t := p.next(y.begin.Add(-1)); t.Before(y.end); t = p.next(t) {
		list = append(list, t)
	}
	return list
}

// slots finds the slots by looking at each minute: one that matches is a slot, but
// for a time of the day only when the clock shows it for the first time; and one
// at which the clock jumped over a minute that matches is a slot, too.
func (y year) slots(e expression) (list []time.Time) {
	matches := func(local time.Time) bool {
		return e.minute.has(local.Minute()) && e.hour.has(local.Hour()) && e.onDay(local)
	}
	var shown time.Time // the latest minute that the clock has shown
	for t := y.begin; t.Before(y.end); t = t.Add(time.Minute) {
		_, offset := t.In(y.zone).Zone()
		local := t.Add(time.Duration(offset) * time.Second)
		found := matches(local) && (e.wildHour() || local.After(shown))
		if !e.wildHour() && !shown.IsZero() {
			for left := shown.Add(time.Minute); left.Before(local); left = left.Add(time.Minute) {
				found = found || matches(left)
			}
		}
		if found {
			list = append(list, t)
		}
		if local.After(shown) {
			shown = local
		}
	}
	return list
}

func TestAnIntervalIsTheSameAfterEveryStart(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	p := interval(40 * time.Minute)
	got := slots(p, time.UTC, at("2027-01-05T08:15:00Z"), 3)
	want := []string{"Tue 2027-01-05 08:40 +00:00", "Tue 2027-01-05 09:20 +00:00", "Tue 2027-01-05 10:00 +00:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		after, now, slot string
		earlier          int64
	}{
		{"2027-01-05T08:40:00Z", "2027-01-05T09:19:59Z", "", 0},
		{"2027-01-05T08:40:00Z", "2027-01-05T09:20:00Z", "2027-01-05T09:20:00Z", 0},
		{"2027-01-05T08:39:59Z", "2027-01-05T10:10:00Z", "2027-01-05T10:00:00Z", 2},
		{"1969-12-31T23:59:00Z", "1970-01-01T00:10:00Z", "1970-01-01T00:00:00Z", 0},
	} {
		slot, earlier := p.latest(at(c.after), at(c.now))
		if slot.IsZero() != (c.slot == "") || (c.slot != "" && !slot.Equal(at(c.slot))) || earlier != c.earlier {
			t.Errorf("from %s to %s: %s, %d earlier", c.after, c.now, slot, earlier)
		}
	}
}

func TestTheLatestSlotIsFoundHoweverLongAgo(t *testing.T) {
	t.Parallel()
	leap := calendar{mustParse(t, "0 0 29 2 *"), time.UTC}
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	slot, earlier := leap.latest(time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), now)
	if want := time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC); !slot.Equal(want) || earlier != 1 {
		t.Errorf("the latest is %s, %d earlier", slot, earlier)
	}
	daily := calendar{mustParse(t, "@daily"), time.UTC}
	slot, earlier = daily.latest(now.AddDate(-5, 0, 0), now)
	if !slot.Equal(now) || earlier != 365 { // not more than a year is counted
		t.Errorf("the latest is %s, %d earlier", slot, earlier)
	}
}

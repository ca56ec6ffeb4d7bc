package view

import (
	"strings"
	"testing"
	"time"
)

func TestTableAlignsAndFits(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "NAME", Flex: true}, {Title: "N", Right: true}, {Title: "TEXT", Flex: true}}
	rows := [][]string{
		{"short", "7", strings.Repeat("word ", 30)},
		{"a-name-that-is-rather-long", "1234", "\u65e5\u672c"},
	}
	golden(t, "table.txt", Table(columns, rows, Style{Width: 40}))
}

func TestTableOfFixedColumnsIsCutAtTheEdge(t *testing.T) {
	t.Parallel()
	got := Table([]Column{{Title: "A"}}, [][]string{{strings.Repeat("x", 100)}}, Style{Width: 10})
	if want := "A\nxxxxxxxxx…\n"; got != want {
		t.Errorf("Table = %q, want %q", got, want)
	}
}

func TestDurationAndAge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d             time.Duration
		duration, age string
	}{
		{-time.Second, "0ms", "0s"},
		{12 * time.Millisecond, "12ms", "0s"},
		{1290 * time.Millisecond, "1.2s", "1s"},
		{59 * time.Second, "59s", "59s"},
		{3*time.Minute + 5*time.Second, "3m05s", "3m"},
		{47*time.Hour + 59*time.Minute, "1d23h", "47h"},
		{50 * time.Hour, "2d02h", "2d"},
	} {
		if got := Duration(c.d); got != c.duration {
			t.Errorf("Duration(%v) = %q, want %q", c.d, got, c.duration)
		}
		if got := Age(c.d); got != c.age {
			t.Errorf("Age(%v) = %q, want %q", c.d, got, c.age)
		}
	}
}

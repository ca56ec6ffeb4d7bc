package view

import (
	"strings"
	"testing"
	"time"

	"piworkflows/internal/golden"
)

func TestTableAlignsAndFits(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "NAME", Flex: true}, {Title: "N", Right: true}, {Title: "TEXT", Flex: true}}
	rows := [][]string{
		{"short", "7", strings.Repeat("word ", 30)},
		{"a-name-that-is-rather-long", "1234", "\u65e5\u672c"},
	}
	golden.Check(t, "table.txt", Table(columns, rows, Style{Width: 40}))
}

func TestTableOfFixedColumnsIsCutAtTheEdge(t *testing.T) {
	t.Parallel()
	got := Table([]Column{{Title: "A"}}, [][]string{{strings.Repeat("x", 100)}}, Style{Width: 10})
	if want := "A\nxxxxxxxxx…\n"; got != want {
		t.Errorf("Table = %q, want %q", got, want)
	}
}

func TestNamesAreCutLastAndInTheirMiddle(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "RUN", Name: true}, {Title: "WORKFLOW", Flex: true}, {Title: "TOOK", Right: true}}
	rows := [][]string{{"20270105T081412Z-verify-branch-0a1b2c3d", "verify-branch", "1.2s"}}
	for width, want := range map[int]string{
		58: "20270105T081412Z-verify-branch-0a1b2c3d  verify-bra…  1.2s",
		40: "20270105T081…ch-0a1b2c3d  verify-…  1.2s",
		20: "20270105…a1b2c3d  v…", // nothing left to take
	} {
		lines := strings.Split(Table(columns, rows, Style{Width: width}), "\n")
		if lines[1] != want {
			t.Errorf("at %d cells: %q, want %q", width, lines[1], want)
		}
	}
}

func TestATableForAFileIsWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60) + "end"
	got := Table([]Column{{Title: "A", Flex: true}, {Title: "B"}}, [][]string{{long, "b"}}, Style{Whole: true})
	if want := "A" + strings.Repeat(" ", len(long)-1) + "  B\n" + long + "  b\n"; got != want {
		t.Errorf("Table = %q", got)
	}
	facts, block := Facts([][2]string{{"name", long}}, Style{Whole: true}), Block("name", long, Style{Whole: true})
	if facts != "name  "+long+"\n" || block != "name\n  "+long+"\n" {
		t.Errorf("folded:\n%s%s", facts, block)
	}
}

// Later rows stay below the earlier ones, and a column only grows.
func TestLinesStayAligned(t *testing.T) {
	t.Parallel()
	l := NewLines([]Column{{Title: "KEY"}, {Title: "STATE", Min: 7}, {Title: "TEXT", Flex: true}}, Style{Width: 32})
	var got strings.Builder
	for _, row := range [][]string{{"a", "ok", "x"}, {"longer", "claimed", "y"}, {"b", "ok", strings.Repeat("z", 40)}} {
		got.WriteString(l.Add([][]string{row}))
	}
	golden.Check(t, "lines.txt", got.String())
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

// Where lines would be cut, spare columns are left out instead, the last ones first,
// for all rows alike.
func TestSpareColumnsAreLeftOutFirst(t *testing.T) {
	t.Parallel()
	columns := []Column{
		{Title: "KEY", Flex: true}, {Title: "GEN", Right: true, Spare: true}, {Title: "CHILD", Spare: true}, {Title: "AGE", Right: true},
	}
	rows := [][]string{{"a-key-with-a-name", "12", "succeeded", "5m"}}
	for width, want := range map[int]string{
		40: "KEY                GEN  CHILD      AGE\na-key-with-a-name   12  succeeded   5m\n",
		29: "KEY       GEN  CHILD      AGE\na-key-w…   12  succeeded   5m\n",
		28: "KEY                GEN  AGE\na-key-with-a-name   12   5m\n",
		17: "KEY           AGE\na-key-with-…   5m\n",
	} {
		lines := NewLines(columns, Style{Width: width})
		if got := lines.Add(rows); got != want {
			t.Errorf("at %d cells:\n%s\nwant\n%s", width, got, want)
		}
		if _, row, _ := strings.Cut(want, "\n"); lines.Add(rows) != row {
			t.Errorf("at %d cells, a later row is not %q", width, row)
		}
	}
}

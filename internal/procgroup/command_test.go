package procgroup

import (
	"strings"
	"testing"
)

func TestMarkers(t *testing.T) {
	t.Parallel()
	if got := markers("", "a"); got != "a" {
		t.Errorf("first marker %q", got)
	}
	if got := markers("a b", "c"); got != "a b c" {
		t.Errorf("marker of a command in commands %q", got)
	}
	many := markers(strings.Repeat("x ", 10_000), "last")
	if fields := strings.Fields(many); len(fields) != maxMarkers || fields[maxMarkers-1] != "last" {
		t.Errorf("%d markers, last %q", len(fields), fields[len(fields)-1])
	}
}

func TestNewMarkersDiffer(t *testing.T) {
	t.Parallel()
	if a, b := newMarker(), newMarker(); a == b || len(a) < 26 || strings.ContainsAny(a, " =\x00") {
		t.Errorf("markers %q and %q", a, b)
	}
}

func TestLastVariableCounts(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=/a", "OTHER", "PATH=/b=c", "PATHS=/d"}
	if got := lookup(env, "PATH"); got != "/b=c" {
		t.Errorf("PATH %q", got)
	}
	if got := lookup(env, "MISSING"); got != "" {
		t.Errorf("MISSING %q", got)
	}
}

package controller

import (
	"errors"
	"strings"
	"testing"
)

// broken is an error whose method cannot be called.
type broken struct{ inner error }

func (b *broken) Error() string { return b.inner.Error() }

func TestErrorTextSurvivesAnErrorThatPanics(t *testing.T) {
	t.Parallel()
	if got := errorText(&broken{}); !strings.Contains(got, "PANIC") {
		t.Errorf("errorText = %q", got)
	}
	if got := errorText(errors.New(strings.Repeat("x", MaxError+1))); len([]rune(got)) != MaxError {
		t.Errorf("a long error has %d characters", len([]rune(got)))
	}
}

package controller

import (
	"errors"
	"strings"
	"testing"
)

func TestGuarded(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	if v, err := guarded("F", func() (int, error) { return 3, own }); v != 3 || !errors.Is(err, own) {
		t.Errorf("a normal return = %d, %v", v, err)
	}
	for name, thrown := range map[string]any{"text": "boom", "error": own, "nil": nil} {
		_, err := guarded("F", func() (int, error) { panic(thrown) })
		var p *PanicError
		if !errors.As(err, &p) || p.In != "F" || p.Value == nil || !strings.Contains(string(p.Stack), "TestGuarded") {
			t.Errorf("panic with %s = %v", name, err)
		}
	}
}

package secret

import (
	"fmt"
	"testing"
)

func TestTheOldestSecretGivesWay(t *testing.T) {
	t.Parallel()
	var r redactor
	value := func(i int) string { return fmt.Sprintf("%05d-one-of-many", i) }
	for i := range maxKnown + 1 {
		r.add(value(i))
	}
	r.add(value(maxKnown)) // counts once
	for i, want := range map[int]string{0: value(0), 1: Mask, maxKnown: Mask} {
		if got := r.text(value(i)); got != want {
			t.Errorf("secret %d of %d is shown as %s, want %s", i, maxKnown+1, got, want)
		}
	}
}

func TestWithoutSecretsNothingIsTouched(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts those of all tests
	var r redactor
	text, raw := "text", []byte(`{"a":"b"}`)
	allocations := testing.AllocsPerRun(100, func() {
		if r.text(text) != text || &r.json(raw)[0] != &raw[0] || r.begun(text) != 0 {
			t.Error("a text was changed")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}

package main

import (
	"testing"

	"piworkflows/examples/internal/try"
)

func TestTheInputComesBack(t *testing.T) {
	t.Parallel()
	got := try.New(t, program()).Run("run", "echo", "--input", `{"text":"hello"}`)
	if want := "{\n  \"text\": \"hello\"\n}\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

package controller_test

import (
	"errors"
	"strings"
	"testing"

	"piworkflows/controller"
)

func TestValidateRef(t *testing.T) {
	t.Parallel()
	emoji := "😀" // two UTF-16 code units
	tests := []struct {
		name  string
		ref   controller.Ref
		wrong string // the kind that the error names; empty if valid
	}{
		{"plain", controller.Ref{Controller: "git-merge", Key: "feature/1"}, ""},
		{"one letter", controller.Ref{Controller: "g", Key: "k"}, ""},
		{"spaces and text in the key", controller.Ref{Controller: "g", Key: "größe 1 / x"}, ""},
		{"longest name", controller.Ref{Controller: strings.Repeat("g", controller.MaxName), Key: "k"}, ""},
		{"name too long", controller.Ref{Controller: strings.Repeat("g", controller.MaxName+1), Key: "k"}, "controller name"},
		{"no name", controller.Ref{Key: "k"}, "controller name"},
		{"upper case", controller.Ref{Controller: "Git", Key: "k"}, "controller name"},
		{"digit first", controller.Ref{Controller: "1g", Key: "k"}, "controller name"},
		{"line end after the name", controller.Ref{Controller: "g\n", Key: "k"}, "controller name"},
		{"no key", controller.Ref{Controller: "g"}, "resource key"},
		{"longest key", controller.Ref{Controller: "g", Key: strings.Repeat("ä", controller.MaxKey)}, ""},
		{"key too long", controller.Ref{Controller: "g", Key: strings.Repeat("ä", controller.MaxKey+1)}, "resource key"},
		{"longest key of pairs", controller.Ref{Controller: "g", Key: strings.Repeat(emoji, controller.MaxKey/2)}, ""},
		{"too many pairs", controller.Ref{Controller: "g", Key: strings.Repeat(emoji, controller.MaxKey/2) + "x"}, "resource key"},
		{"line end", controller.Ref{Controller: "g", Key: "a\nb"}, "resource key"},
		{"delete character", controller.Ref{Controller: "g", Key: "a\x7f"}, "resource key"},
		{"no UTF-8", controller.Ref{Controller: "g", Key: "a\xff"}, "resource key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkName(t, controller.ValidateRef(test.ref), test.wrong)
		})
	}
}

func TestValidateName(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"Ready": true, "git_merge.v1-x": true, "r": true,
		"": false, "1st": false, "a b": false, "a/b": false, "ü": false, "-a": false,
		strings.Repeat("a", controller.MaxName): true, strings.Repeat("a", controller.MaxName+1): false,
	} {
		want := "finalizer"
		if valid {
			want = ""
		}
		checkName(t, controller.ValidateName("finalizer", name), want)
	}
}

// checkName expects a *NameError that names the kind, or none.
func checkName(t *testing.T, err error, kind string) {
	t.Helper()
	var bad *controller.NameError
	switch {
	case kind == "" && err != nil:
		t.Errorf("refused: %v", err)
	case kind != "" && (!errors.As(err, &bad) || bad.What != kind):
		t.Errorf("error = %v, want one about the %s", err, kind)
	}
}

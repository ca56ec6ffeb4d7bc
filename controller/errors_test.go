package controller_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"piworkflows/controller"
)

// Codes and sentinels are what programs rely on; the text must name the thing.
func TestErrors(t *testing.T) {
	t.Parallel()
	k := ref("k")
	problems := []controller.SpecProblem{{Pointer: "/a", Message: "first"}, {Message: "second"}}
	tests := []struct {
		err  error
		code string
		is   error
		says []string
	}{
		{&controller.NotFoundError{Ref: k}, "not_found", controller.ErrNotFound, []string{"c/k", "apply"}},
		{&controller.ConflictError{Ref: k, Expected: 3, Current: 4}, "version_conflict", controller.ErrConflict, []string{"c/k", "version 4, not 3"}},
		{&controller.DeletingError{Ref: k}, "being_deleted", controller.ErrDeleting, []string{"c/k", "wait"}},
		{&controller.NameError{What: "resource key", Value: "\n", Rule: "r"}, "invalid_name", nil, []string{`resource key "\n"`, "r"}},
		{&controller.SpecError{Controller: "c", Problems: problems}, "invalid_spec", nil, []string{"/a: first", "/: second"}},
		{&controller.EffectConflictError{Ref: k, Key: "e", Differs: "request"}, "effect_conflict", nil, []string{`"e"`, "c/k", "another request"}},
		{&controller.ChildConflictError{Ref: k, RequestKey: "q", Differs: "input"}, "child_conflict", nil, []string{`"q"`, "c/k", "another input"}},
		{&controller.UnknownControllerError{Name: "x", Known: []string{"a", "b"}}, "unknown_controller", nil, []string{`"x"`, "a, b"}},
		{&controller.UnknownWorkflowError{Name: "x"}, "unknown_workflow", nil, []string{`"x"`, "none"}},
		{&controller.LimitError{What: "spec", Limit: 1, Size: 2, Unit: "bytes"}, "limit_exceeded", nil, []string{"spec", "2 bytes", "limit of 1"}},
		{&controller.TimeoutError{Ref: k, Timeout: time.Minute}, "pass_timeout", nil, []string{"c/k", "1m0s"}},
		{&controller.StopError{Abandoned: 2}, "passes_abandoned", nil, []string{"2 passes"}},
	}
	for _, test := range tests {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			var coded interface{ ErrorCode() string }
			if !errors.As(test.err, &coded) || coded.ErrorCode() != test.code {
				t.Errorf("%T has another code than %s", test.err, test.code)
			}
			if test.is != nil && !errors.Is(test.err, test.is) {
				t.Errorf("%v is not %v", test.err, test.is)
			}
			for _, part := range test.says {
				if !strings.Contains(test.err.Error(), part) {
					t.Errorf("%q does not say %q", test.err, part)
				}
			}
		})
	}
}

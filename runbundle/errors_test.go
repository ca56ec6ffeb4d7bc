package runbundle_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"piworkflows/runbundle"
)

func TestErrorsTellWhatAndWhatNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err   interface{ ErrorCode() string }
		code  string
		parts []string
	}{
		{&runbundle.IDError{RunID: "a/b"}, "invalid_run_id", []string{`"a/b"`, "begin with a letter or digit"}},
		{&runbundle.ExistsError{RunID: "r", Dir: "/runs/r"}, "run_exists", []string{"run r", "/runs/r", "another run ID"}},
		{&runbundle.CorruptError{Path: "/r/state.json", Err: fs.ErrInvalid}, "corrupt_bundle", []string{"/r/state.json: invalid argument", "restore"}},
		{&runbundle.CorruptError{Path: "/r/trace.ndjson", Line: 7, Err: errors.New("x")}, "corrupt_bundle", []string{"line 7", "x"}},
		{&runbundle.UnknownSchemaError{Path: "/r/m", Schema: "v9", Want: "v1"}, "unknown_bundle_schema", []string{`"v9"`, "v1", "newer version"}},
	}
	for _, test := range tests {
		text := test.err.(error).Error()
		if test.err.ErrorCode() != test.code || strings.Contains(text, "\n") {
			t.Errorf("%T: code %s, text %q", test.err, test.err.ErrorCode(), text)
		}
		for _, part := range test.parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not contain %q", text, part)
			}
		}
	}
	if !errors.Is(&runbundle.CorruptError{Err: fs.ErrInvalid}, fs.ErrInvalid) {
		t.Error("a CorruptError hides its cause")
	}
}

package runbundle_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"piworkflows/runbundle"
)

func TestAFileInThePlaceOfTheRunsFolderIsNoBundle(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "runs")
	if err := os.WriteFile(root, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := runbundle.Create(t.Context(), runbundle.Options{}, root, runbundle.Init{RunID: "r1", WorkflowName: "w"})
	if err == nil || errors.Is(err, runbundle.ErrExists) {
		t.Fatalf("Create = %v, want the error of the file layer", err)
	}
}

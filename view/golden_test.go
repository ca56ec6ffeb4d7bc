package view

import (
	"os"
	"path/filepath"
	"testing"
)

func readGraph(t *testing.T, name string) *Graph {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	g, err := ReadGraph(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

package main

import "testing"

func TestTheBuiltInDefinitionsAreValid(t *testing.T) {
	t.Parallel()
	if _, err := builtins().Compile(); err != nil {
		t.Error(err)
	}
}

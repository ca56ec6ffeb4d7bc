package controller_test

import (
	"context"
	"reflect"
	"testing"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// A store may be far away: whoever asks it can give up, and hears that it failed.
func TestEveryOperationOfAStoreTakesAContextAndCanFail(t *testing.T) {
	t.Parallel()
	for _, contract := range []reflect.Type{reflect.TypeFor[controller.Store](), reflect.TypeFor[runqueue.Store]()} {
		for method := range contract.Methods() {
			f := method.Type
			if f.NumIn() == 0 || f.In(0) != reflect.TypeFor[context.Context]() {
				t.Errorf("%s takes no context", method.Name)
			}
			if f.NumOut() == 0 || f.Out(f.NumOut()-1) != reflect.TypeFor[error]() {
				t.Errorf("%s cannot fail", method.Name)
			}
		}
	}
}

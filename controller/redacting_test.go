package controller_test

import (
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
)

func TestAStoreThatRedactsCanDoWhatItsStoreCan(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), clock.System())
	once := controller.Redacting(s)
	if _, ok := once.(controller.FinishClaimer); !ok {
		t.Error("it does not end a pass and claim in one step any more")
	}
	if twice := controller.Redacting(once); twice != once {
		t.Error("it was wrapped twice")
	}
	if _, ok := controller.Redacting(struct{ controller.Store }{s}).(controller.FinishClaimer); ok {
		t.Error("it can do what its store cannot")
	}
}

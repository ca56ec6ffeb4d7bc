package sqlite_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/store/sqlite"
	"piworkflows/store/storetest"
	"piworkflows/store/storetest/modeltest"
)

const (
	scope = "0123456789abcdef01234567"
	lasts = 30 * time.Second
)

func TestMain(m *testing.M) {
	storetest.Main(harness())
	if helper := helpers[os.Getenv(helperEnv)]; helper != nil {
		helper()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness())
}

func TestCrash(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, harness())
}

func TestModel(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, harness())
}

// options names a new store under a clock that stands still.
func options(t *testing.T) sqlite.Options {
	t.Helper()
	return sqlite.Options{
		Path: filepath.Join(t.TempDir(), "project", "controller.sqlite"), Scope: scope, Clock: clocktest.New(),
	}
}

func open(t *testing.T, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func ref(key string) controller.Ref { return controller.Ref{Controller: "c", Key: key} }

func wakeUp(ctx context.Context, s *sqlite.Store, key string) error {
	_, err := s.Enqueue(ctx, ref(key), "")
	return err
}

func put(t testing.TB, s *sqlite.Store, key string) {
	t.Helper()
	if _, err := s.Put(t.Context(), controller.Put{Ref: ref(key), Spec: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, s *sqlite.Store) *controller.Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), []string{"c"}, lasts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

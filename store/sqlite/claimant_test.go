package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/store/sqlite"
)

func claimant(t *testing.T, s *sqlite.Store) *controller.Claimant {
	t.Helper()
	c, err := s.Claimant(t.Context(), ref("a"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClaimantIsWhoHoldsALiveClaim(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	if c := claimant(t, s); c != nil {
		t.Errorf("no resource is claimed by %+v", c)
	}
	put(t, s, "a")
	if c := claimant(t, s); c != nil {
		t.Errorf("a free key is claimed by %+v", c)
	}
	claim(t, s)
	o.ReadOnly = true
	c := claimant(t, open(t, o))
	if c == nil || c.Dead || c.Instance != s.Instance() || !strings.HasPrefix(c.Label, "process ") || c.Until.Sub(o.Clock.Now()) != lasts {
		t.Errorf("claimant %+v", c)
	}
	o.Clock.(*clocktest.Manual).Advance(lasts)
	if c := claimant(t, s); c != nil {
		t.Errorf("an expired claim is that of %+v", c)
	}
}

// A reader frees nothing, so it tells of the dead what it sees.
func TestClaimantIsDeadOnceItsLockIsFree(t *testing.T) {
	t.Parallel()
	o := options(t)
	deserted(t, o, "a")
	o.ReadOnly = true
	s := open(t, o)
	c := claimant(t, s)
	if c == nil || !c.Dead {
		t.Fatalf("claimant %+v, want a dead one", c)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(o.Path), "owners", c.Instance+".lock")); err != nil {
		t.Fatal(err)
	}
	if c := claimant(t, s); c == nil || c.Dead {
		t.Errorf("an owner without a lock is judged: %+v", c)
	}
}

package controller_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"piworkflows/controller"
)

func TestNewManagerNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := controller.NewManager(controller.ManagerOptions{
		Definitions: []*controller.Definition{controller.Define("c", plain[spec, status]{})},
		Workers:     -1,
		Concurrency: map[string]int{"c": 0, "x": 1},
		Lease:       time.Second, Renewal: time.Second,
		StopGrace: -time.Second,
		Backoff:   controller.Backoff{Base: time.Minute, Max: time.Second, Jitter: math.NaN()},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"no store", "-1 workers", `concurrency of "c" is 0`, `no controller is named "x"`, "lease 1s, renewed every 1s",
		"stop grace -1s", "backoff from 1m0s to 1s", "jitter NaN",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

func TestNewManagerReportsItsDefinitions(t *testing.T) {
	t.Parallel()
	_, err := controller.NewManager(controller.ManagerOptions{
		Store:       untouchable{},
		Definitions: []*controller.Definition{controller.Define("A", plain[spec, status]{})},
	})
	if err == nil || !strings.Contains(err.Error(), "controller name") {
		t.Errorf("error = %v", err)
	}
}

func TestNewManagerTakesTheDefaults(t *testing.T) {
	t.Parallel()
	if _, err := controller.NewManager(controller.ManagerOptions{Store: untouchable{}}); err != nil {
		t.Error(err)
	}
}

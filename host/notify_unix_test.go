//go:build !windows

package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"piworkflows/host"
)

func TestPeopleAreToldByAProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	w.runWith(t, host.NotifyHook{Name: "mail", Argv: []string{"sh", "-c", `cat > "$0"`, pipe}})
	w.listens(t, "mail")
	w.put(t, "a", "fail")
	got := make(chan []byte, 1)
	go func() {
		body, _ := os.ReadFile(pipe)
		got <- body
	}()
	var told struct{ Kind, Key string }
	if err := json.Unmarshal(await(t, got), &told); err != nil || told.Kind != "not_ready" || told.Key != "a" {
		t.Errorf("told %+v, %v", told, err)
	}
}

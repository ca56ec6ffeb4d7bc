package procgroup

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() {
		t.Errorf("%+v is not alive", self)
	}
	text, err := json.Marshal(self)
	if err != nil {
		t.Fatal(err)
	}
	var kept Identity
	if err := json.Unmarshal(text, &kept); err != nil || kept != self {
		t.Errorf("kept as %s and read as %+v, %v", text, kept, err)
	}
	for name, change := range map[string]func(*Identity){
		"earlier process of that number": func(i *Identity) { i.StartTime-- },
		"before the machine restarted":   func(i *Identity) { i.BootID = "another" },
		"another process":                func(i *Identity) { i.PID = os.Getppid() },
		"none":                           func(i *Identity) { *i = Identity{} },
	} {
		other := self
		if change(&other); other.Alive() {
			t.Errorf("%s: %+v is alive", name, other)
		}
	}
}

func TestIdentifyNobody(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := Identify(pid); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("process %d: error %v, want fs.ErrNotExist", pid, err)
		}
	}
}

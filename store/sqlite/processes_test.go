package sqlite_test

import (
	"strconv"
	"testing"
)

// Two processes with a connection that writes each, of which one writes without a
// break: the other gets its turn every time.
func TestAnotherProcessThatWritesAllTheTimeLetsUsWrite(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	out, kill := helper(t, "write", o.Path)
	defer kill()
	for i := range 20 {
		if _, err := out.ReadString('\n'); err != nil { // it is at work
			t.Fatal(err)
		}
		put(t, s, "ours-"+strconv.Itoa(i))
	}
}

// Nothing but the other process tells of what it wrote, and who waits holds no lock
// that would keep it from writing.
func TestAWaitEndsWithAWriteOfAnotherProcess(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Clock = nil // the time of the other process
	s := open(t, o)
	ended := make(chan error, 1)
	go func() { ended <- s.WaitDue(t.Context(), []string{"c"}) }()
	_, kill := helper(t, "write", o.Path)
	defer kill()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if c := claim(t, s); c == nil {
		t.Error("the wait ended and nothing is due")
	}
}

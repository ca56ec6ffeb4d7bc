package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"piworkflows/runbundle"
)

// tell publishes progress of the attempt that goes on.
func (s *story) tell(node, key string, after time.Duration, data string) {
	s.now = s.now.Add(after)
	s.append(runbundle.Draft{NodeID: node, AttemptID: s.attempt(), Payload: runbundle.UpdatePublished{
		UpdateID: "upd_1", Kind: "progress", Key: key, Data: json.RawMessage(data),
	}})
}

// progressLines returns the lines of the drawing that are about progress, and
// the one after them.
func progressLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "progress  ") || strings.HasPrefix(line, "… and") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestProgressOfARun(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.enter("runCheck", "action")
	count := func(n int, more string) string {
		return fmt.Sprintf(`{"schema":"pi-workflows.progress.v1","status":"running","label":"Tests","completed":%d,"total":80,"unit":"files"%s}`, n, more)
	}
	s.tell("runCheck", "tests", 0, count(0, ""))
	s.tell("runCheck", "tests", 10*time.Second, count(10, ""))
	s.tell("runCheck", "tests", 10*time.Second, count(20, ""))
	s.tell("runCheck", "stuck", time.Second, `{"schema":"pi-workflows.progress.v1","status":"blocked"}`)
	want := "progress  stuck · blocked · ETA unavailable (progress is blocked)\nprogress  Tests · 20/80 files · ETA 1m\n"
	text := draw(t, s.read(), RunOptions{})
	if got := progressLines(text); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	s.leave("runCheck", time.Second, runbundle.NodeEnded{Outcome: "ok", Output: json.RawMessage(`{}`)})
	s.append(runbundle.Draft{Payload: runbundle.RunEnded{Status: runbundle.Completed}})
	if got := progressLines(draw(t, s.read(), RunOptions{})); got != "progress  stuck · blocked\nprogress  Tests · 20/80 files\n" {
		t.Errorf("after the end: %s", got)
	}
}

// A replay shows what was told by then, and when the work would have been done.
func TestProgressAtAStep(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	count := func(n int) string {
		return fmt.Sprintf(`{"schema":"pi-workflows.progress.v1","status":"running","label":"Tests","completed":%d,"total":80,"unit":"files"}`, n)
	}
	s.step("observe", "compute", time.Second, `{}`)
	s.enter("runCheck", "action")
	s.tell("runCheck", "tests", 0, count(0))
	s.tell("runCheck", "tests", 10*time.Second, count(20))
	s.leave("runCheck", 0, runbundle.NodeEnded{Outcome: "ok", Output: json.RawMessage(`{}`)})
	s.enter("runCheck", "action")
	s.tell("runCheck", "tests", 10*time.Second, count(60))
	s.leave("runCheck", time.Second, runbundle.NodeEnded{Outcome: "failed", Error: "no"})
	s.append(runbundle.Draft{Payload: runbundle.RunEnded{Status: runbundle.Failed, Error: "no"}})
	for step, want := range []string{
		"progress  Tests · 60/80 files\n", "", "progress  Tests · 20/80 files · ETA 30s\n", "progress  Tests · 60/80 files · ETA 6s–8s\n",
	} {
		if got := progressLines(draw(t, s.read(), RunOptions{Step: step})); got != want {
			t.Errorf("step %d: %q, want %q", step, got, want)
		}
	}
}

// Steps that a continuation carries were recorded elsewhere, with what they told.
func TestNoProgressAtACarriedStep(t *testing.T) {
	t.Parallel()
	told := []runbundle.Event{{Type: runbundle.EventUpdatePublished, AttemptID: "own"}}
	if got := until(told, "carried"); got != nil {
		t.Errorf("events %v", got)
	}
}

func TestProgressLeavesRoomForTheGraph(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.enter("runCheck", "action")
	for i := range 7 {
		s.tell("runCheck", fmt.Sprint("k", i), 0, `{"schema":"pi-workflows.progress.v1","status":"running","label":"`+strings.Repeat("long ", 30)+`"}`)
	}
	text := progressLines(draw(t, s.read(), RunOptions{}))
	if strings.Count(text, "\n") != 6 || !strings.HasSuffix(text, "… and 2 more\n") {
		t.Errorf("%s", text)
	}
}

// Nothing of a head is cut that fits on a line of its own, and a run that goes on is
// not said to have taken its time.
func TestHeadOfANarrowTerminal(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.enter("runCheck", "action")
	text := draw(t, s.read(), RunOptions{DrawOptions: DrawOptions{Style: Style{Width: 44}}})
	if want := "\nverify-branch · running · 0 steps\n2m00s so far · at 2027-01-05 08:15Z\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

package live

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piworkflows/internal/golden"
	"piworkflows/runbundle"
	"piworkflows/view"
)

// stage drives a model as a terminal would.
type stage struct {
	t    *testing.T
	m    model
	quit bool
}

func newStage(t *testing.T, r *record, o Options, width, height int) *stage {
	t.Helper()
	o.Bundle, o.Clock = r.read(), r.clock
	m, err := newModel(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, m: m}
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

func (s *stage) send(msg tea.Msg) {
	next, cmd := s.m.Update(msg)
	s.m = next.(model)
	if cmd != nil {
		_, s.quit = cmd().(tea.QuitMsg)
	}
}

var special = map[string]rune{
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "enter": tea.KeyEnter, "esc": tea.KeyEscape,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "space": tea.KeySpace,
}

// press presses keys and returns the screen.
func (s *stage) press(keys ...string) string {
	s.t.Helper()
	for _, key := range keys {
		code, ok := special[key]
		msg := tea.KeyPressMsg{Code: code}
		switch {
		case ok && key == "space":
			msg.Text = " "
		case !ok:
			msg = tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
		}
		if got := msg.String(); got != key {
			s.t.Fatalf("key %q is %q", key, got)
		}
		s.send(msg)
	}
	return s.screen()
}

// screen is the view, as long as it is no wider and no higher than the terminal.
func (s *stage) screen() string {
	s.t.Helper()
	text := s.m.View().Content
	lines := strings.Split(text, "\n")
	if len(lines) > s.m.height {
		s.t.Errorf("%d lines on a terminal of %d:\n%s", len(lines), s.m.height, text)
	}
	for _, l := range lines {
		if w := view.Width(l); w > s.m.style.Width {
			s.t.Errorf("line of %d cells on a terminal of %d: %q", w, s.m.style.Width, l)
		}
	}
	return text
}

// scenes are screens, each below the keys that led to it.
func scenes(s *stage, presses ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "=== at first\n%s\n", ends(s.screen()))
	for _, keys := range presses {
		fmt.Fprintf(&b, "=== %s\n%s\n", keys, ends(s.press(repeated(keys)...)))
	}
	return b.String()
}

// repeated is a key as often as it is to be pressed: up*3.
func repeated(keys string) []string {
	key, times, many := strings.Cut(keys, "*")
	n, err := strconv.Atoi(times)
	if !many || err != nil {
		return []string{keys}
	}
	return slices.Repeat([]string{key}, n)
}

// ends drops what cannot be seen.
func ends(screen string) string {
	lines := strings.Split(screen, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func TestScreensOfARun(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {60, 20}, {140, 36}, {40, 10}} {
		s := newStage(t, ended(t), Options{}, size[0], size[1])
		golden.Check(t, fmt.Sprintf("ended-%dx%d.txt", size[0], size[1]), scenes(s,
			"left", "left*3", "home", "up*2", "down*3", "right*5", "enter", "left*2", "down*2", "esc", "end", "?", "?"))
	}
}

func TestScreensOfARunThatGoesOn(t *testing.T) {
	t.Parallel()
	r := loop(t)
	s := newStage(t, r, Options{}, 80, 24)
	s.m.now = r.clock.Now()
	got := scenes(s, "enter")
	s.send(tick{r.clock.Now().Add(7 * time.Second)})
	got += "=== seven seconds later\n" + ends(s.screen()) + "\n"
	s.press("esc")
	r.leave("repair", 8*time.Second, runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: []byte(`{"changed":true}`)})
	r.enter("observe", "compute")
	s.send(grown{r.read(), r.clock.Now()})
	got += "=== more was recorded\n" + ends(s.screen()) + "\n"
	golden.Check(t, "running.txt", got)
}

func TestScreensOfGroups(t *testing.T) {
	t.Parallel()
	r := nested(t)
	s := newStage(t, r, Options{}, 80, 24)
	golden.Check(t, "nested.txt", scenes(s, "space", "space", "up*3", "enter", "enter", "esc", "a", "a", "end", "?"))
}

// What the run does moves the cursor, until the person does.
func TestTheCursorGoesWithTheRunUntilItIsMoved(t *testing.T) {
	t.Parallel()
	r := loop(t)
	s := newStage(t, r, Options{}, 80, 24)
	if s.m.node != "repair" {
		t.Fatalf("at first the cursor is at %s", s.m.node)
	}
	s.press("up")
	r.leave("repair", time.Second, runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: []byte(`{}`)})
	r.enter("observe", "compute")
	s.send(grown{r.read(), r.clock.Now()})
	if s.m.node != "triage" {
		t.Errorf("the cursor went from triage to %s", s.m.node)
	}
	if s.press("end"); s.m.node != "observe" {
		t.Errorf("at the present the cursor is at %s", s.m.node)
	}
}

// A run that nobody runs any more says so, until more of it is recorded.
func TestARunThatIsLeftIsShown(t *testing.T) {
	t.Parallel()
	r := loop(t)
	s := newStage(t, r, Options{}, 80, 24)
	s.send(stands{"interrupted"})
	if screen := s.screen(); !strings.Contains(screen, "interrupted") {
		t.Errorf("nothing tells that it was interrupted:\n%s", screen)
	}
	r.leave("repair", time.Second, runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: []byte(`{}`)})
	s.send(grown{r.read(), r.clock.Now()})
	if screen := s.screen(); strings.Contains(screen, "interrupted") {
		t.Errorf("it goes on:\n%s", screen)
	}
}

// A replay stays at its step while the run goes on.
func TestAStepIsKeptWhileTheRunGoesOn(t *testing.T) {
	t.Parallel()
	r := loop(t)
	s := newStage(t, r, Options{Step: 3}, 80, 24)
	before := s.screen()
	r.leave("repair", time.Second, runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: []byte(`{}`)})
	s.send(grown{r.read(), r.clock.Now()})
	if s.m.step != 3 || s.m.node != "prepareWorktree" {
		t.Errorf("step %d, cursor at %s", s.m.step, s.m.node)
	}
	after := strings.ReplaceAll(s.screen(), "3 of 8", "3 of 7")
	_, shown, _ := strings.Cut(before, "decision")
	if _, still, _ := strings.Cut(after, "decision"); shown == "" || still != shown {
		t.Errorf("the screen changed:\n%s", cmp.Diff(before, after))
	}
}

func TestKeysThatLeave(t *testing.T) {
	t.Parallel()
	for _, key := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		for _, before := range [][]string{nil, {"enter"}, {"?"}, {"left", "enter", "down"}} {
			s := newStage(t, ended(t), Options{}, 80, 24)
			s.press(before...)
			if s.send(key); !s.quit {
				t.Errorf("%s after %q does not leave", key, before)
			}
		}
	}
	s := newStage(t, ended(t), Options{}, 80, 24)
	_, cmd := s.m.Update(tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl})
	if _, ok := cmd().(tea.SuspendMsg); !ok {
		t.Error("ctrl+z does not suspend")
	}
}

func TestAStepThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := loop(t)
	if _, err := newModel(Options{Bundle: r.read(), Clock: r.clock, Step: 8}); err == nil || !strings.Contains(err.Error(), "no step 8") {
		t.Errorf("error = %v", err)
	}
}

// A run that nothing is known of yet, and one that cannot be followed any more.
func TestScreensAtTheEdges(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "loop.json")
	s := newStage(t, r, Options{}, 60, 16)
	got := scenes(s, "left", "enter", "esc", "up", "enter")
	s.press("esc")
	s.send(trouble{errors.New("line 7: \x1b[2Jbroken")})
	golden.Check(t, "edges.txt", got+"=== trouble\n"+ends(s.screen())+"\n")
}

// Whatever is pressed at whatever size: no line is too wide, no screen too high,
// and nothing from the record commands the terminal.
func TestAnyKeysAtAnySize(t *testing.T) {
	t.Parallel()
	records := []*record{ended(t), nested(t), newRecord(t, "loop.json")}
	keys := []string{
		"up", "down", "left", "right", "enter", "esc", "home", "end", "pgup", "pgdown", "space", "a", "?", "g", "G", "x",
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := rapid.SampledFrom(records).Draw(rt, "record")
		s := newStage(t, r, Options{}, 80, 24)
		for range rapid.IntRange(1, 12).Draw(rt, "moves") {
			if rapid.Bool().Draw(rt, "resize") {
				s.send(tea.WindowSizeMsg{Width: rapid.IntRange(0, 150).Draw(rt, "width"), Height: rapid.IntRange(0, 45).Draw(rt, "height")})
			}
			screen := s.press(rapid.SampledFrom(keys).Draw(rt, "key"))
			if i := strings.IndexFunc(screen, func(c rune) bool { return c != '\n' && unicode.IsControl(c) }); i >= 0 {
				rt.Fatalf("a control character reaches the terminal: %q", screen[i:min(i+20, len(screen))])
			}
		}
	})
}

func TestColoursChangeNothingButColour(t *testing.T) {
	t.Parallel()
	r := ended(t)
	plain, coloured := newStage(t, r, Options{}, 80, 24), newStage(t, r, Options{Palette: view.Colors()}, 80, 24)
	for _, key := range []string{"left", "left", "up", "enter", "esc", "?"} {
		p, c := plain.press(key), coloured.press(key)
		if p == c || ends(ansi.Strip(c)) != ends(p) {
			t.Errorf("%s:\n%s", key, cmp.Diff(ends(p), ends(ansi.Strip(c))))
		}
	}
}

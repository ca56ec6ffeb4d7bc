package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/crashpoint"
	"piworkflows/runqueue"
)

// Crash starts the test binary again with these variables, and Main plays the
// part of the process that dies.
const (
	crashPlaceEnv = "STORETEST_CRASH_PLACE"
	crashAtEnv    = "STORETEST_CRASH_AT"
)

// later is when the story begins, for processes that find the clock of their place
// where it was left.
const later = time.Hour

// Main ends the process if it is one that Crash started; TestMain calls it first.
// Such a process acts in a story over a store until it dies at one of its durable
// operations: where the store, or the harness for it, calls crashpoint.Reached.
func Main(h Harness) {
	place := os.Getenv(crashPlaceEnv)
	if place == "" {
		return
	}
	at, err := strconv.Atoi(os.Getenv(crashAtEnv))
	if err == nil {
		err = tell(context.Background(), h, place, crashpoint.DieAt(at), os.Stdout)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// tell acts the story and says after each step how many durable operations there
// have been.
func tell(ctx context.Context, h Harness, place string, reached func() int, out io.Writer) error {
	a := newActor(h, place)
	for i, step := range story {
		if err := step.act(ctx, a); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, step.name, err)
		}
		_, _ = fmt.Fprintln(out, reached()) // nobody listens to one that should be dead
	}
	return nil
}

// Crash kills a process at the durable operations of a story that has every kind
// of operation in it, once for each: at all of them if the environment variable
// PI_WORKFLOWS_STRESS is set, at two in each step otherwise. What the process was
// told to be done is done then, and the operation that it died in is done or not,
// nothing between; asking for it again does no harm, and each key and run is free
// for whoever comes next, once. TestMain must call Main.
func Crash(t *testing.T, h Harness) {
	t.Helper()
	c := &crashes{harness: h, pictures: undisturbed(t, h)}
	counts, whole := c.live(t, t.TempDir(), 0)
	if !whole {
		t.Fatalf("the story ended after %d of its %d steps", len(counts), len(story))
	}
	before := 0
	for i, count := range counts {
		for _, n := range chosen(count - before) {
			at := before + n
			t.Run(fmt.Sprintf("%s, %d of %d", story[i].name, n, count-before), func(t *testing.T) {
				t.Parallel()
				c.crash(t, at)
			})
		}
		before = count
	}
}

// chosen are the durable operations of a step, of so many, at which to die: without
// stress, one in the middle of the step and the last.
func chosen(count int) (numbers []int) {
	for n := 1; n <= count; n++ {
		if Stressed() || n == count || n == (count+1)/2 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// crashes are the lives of processes that act in the story.
type crashes struct {
	harness Harness
	// pictures are those of a life in which nothing happens: before the first
	// step, and after each.
	pictures []picture
}

// undisturbed acts the story in this process and draws a picture after each step.
// It makes sure that the story forgets no operation that writes.
func undisturbed(t *testing.T, h Harness) []picture {
	t.Helper()
	k := newKit(t, h)
	k.Advance(later)
	a, pictures := newActor(h, k.place), []picture{k.picture()}
	open, faulty := a.open, (*Faulty)(nil)
	a.open = func(ctx context.Context) (Store, error) {
		s, err := open(ctx)
		faulty = NewFaulty(s)
		return faulty, err
	}
	for _, step := range story {
		if err := step.act(t.Context(), a); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		pictures = append(pictures, k.picture())
	}
	var asked asked
	asked.took(faulty.Took())
	asked.check(t, 1, questions...)
	return pictures
}

// live starts a process that dies at its n-th durable operation, or never. It
// returns how many of them there were after each step that the process was told
// to be done, and whether it lived to the end.
func (c *crashes) live(t *testing.T, place string, n int) (counts []int, whole bool) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), executable)
	process.Env = append(os.Environ(), crashPlaceEnv+"="+place, crashAtEnv+"="+strconv.Itoa(n))
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		count, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Errorf("the process said %q", lines.Text())
		}
		counts = append(counts, count)
	}
	err = process.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		t.Fatalf("the process ended by itself, with exit code %d", exit.ExitCode())
	}
	return counts, err == nil
}

// crash lets a process die at its n-th durable operation and looks at what it
// leaves.
func (c *crashes) crash(t *testing.T, n int) {
	t.Helper()
	place := t.TempDir()
	if err := c.harness.Advance(place, later); err != nil {
		t.Fatal(err)
	}
	counts, whole := c.live(t, place, n)
	if whole {
		t.Fatalf("the process had no operation %d", n)
	}
	k := openKit(t, c.harness, place, Scope(""))
	c.compare(k, len(counts), k.picture())
	if step := story[len(counts)]; step.again {
		k.must(step.act(t.Context(), &actor{store: k.asked}))
		c.want(k, step.name+" was asked for again", len(counts)+1, k.picture())
	}
	k.takeOver()
}

// compare accepts a picture in which a step is done, or not.
func (c *crashes) compare(k *kit, step int, got picture) {
	k.Helper()
	before := c.pictures[step]
	if story[step].many || k.text(got, before.claimed()) == k.text(before, before.claimed()) {
		return
	}
	c.want(k, story[step].name+" was neither done nor left alone", step+1, got)
}

// want compares a picture with that after a number of steps.
func (c *crashes) want(k *kit, what string, steps int, got picture) {
	k.Helper()
	want := c.pictures[steps]
	if g, w := k.text(got, want.claimed()), k.text(want, want.claimed()); g != w {
		k.Fatalf("%s:\n%s", what, difference(g, w))
	}
}

// takeOver works off what is left, as the next process does: every key that has a
// row and every child run that has not ended is there for it, once.
func (k *kit) takeOver() {
	k.Helper()
	_, err := k.Store.Unfreeze(k.Context(), "ada", "")
	k.must(err)
	k.Advance(2 * lasts)
	for _, row := range slices.Backward(k.picture().Runs) { // the newest are first, and claimed last
		if row.ChildOf != "" && !row.Status.Final() && row.Status != runqueue.Parked {
			c := k.claimRun(row.RunID)
			k.finishChild(c, controller.RunSucceeded)
		}
	}
	if c := k.tryClaimRun(); c != nil {
		k.Errorf("%s was claimed twice", c.Row.RunID)
	}
	for _, d := range k.picture().Resources {
		if d.Queue.State != controller.QueueNone && d.Queue.State != controller.QueueSuspended {
			c := k.tryClaim()
			if c == nil {
				k.Fatal("a key was lost")
			}
			k.finish(c, controller.Finish{Settle: true, Unsettled: 10 * lasts})
		}
	}
	k.wantNoClaim()
}

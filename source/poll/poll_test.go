package poll_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/source/poll"
)

func saw(cursor, note string, keys ...string) answer {
	return answer{seen: poll.Observation{Keys: keys, Cursor: cursor, Note: note}}
}

func TestWhatIsSeenWakesItsKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t, poll.Options{Every: 5 * time.Minute})
	b.ask("", saw("etag-1", "one is new", "k", "unknown"))
	b.wait(5 * time.Minute)
	b.ask("etag-1", saw("etag-1", "nothing is"))
	b.wait(5 * time.Minute)
	b.ask("etag-1", saw("", "seen without a cursor", "k"))
	b.wait(5 * time.Minute)
	b.ask("etag-1", saw("etag-2", "no keys"))
	b.stop()
	if diff := cmp.Diff([]string{"one is new", "seen without a cursor"}, b.notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	b.start()
	b.ask("etag-2", saw("", ""))
	b.stop()
}

func TestAnObservationThatFailsIsTriedAgainWithGrowingDelays(t *testing.T) {
	t.Parallel()
	b := newBench(t, poll.Options{Every: 90 * time.Second})
	b.ask("", saw("1", ""))
	b.wait(90 * time.Second)
	down := errors.New("no route to the forge")
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 90, 90} {
		if reason := b.ask("1", answer{err: down}); !strings.Contains(reason, "the last observations failed") {
			t.Errorf("degraded: %q", reason)
		}
		if err := <-b.failed; !errors.Is(err, down) {
			t.Errorf("failed: %v", err)
		}
		b.wait(time.Duration(seconds) * time.Second)
	}
	if reason := b.ask("1", saw("2", "", "k")); reason != "" {
		t.Errorf("degraded although it works: %q", reason)
	}
	b.wait(90 * time.Second)
	b.ask("2", answer{err: down})
	b.wait(time.Second) // the delays begin anew
	b.stop()
}

func TestTheOutsideSaysWhenToComeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, poll.Options{Every: time.Minute})
	limited := errors.New("rate limit")
	for asked, want := range map[time.Duration]time.Duration{
		10 * time.Minute: 10 * time.Minute,
		time.Millisecond: time.Second, // the backoff is longer
		48 * time.Hour:   24 * time.Hour,
	} {
		b.ask("", answer{err: fmt.Errorf("list the pulls: %w", poll.Later(limited, asked))})
		if err := <-b.failed; !errors.Is(err, limited) {
			t.Errorf("failed: %v", err)
		}
		if at := b.clock.Now().Add(want); !b.next.Equal(at) {
			t.Errorf("the next try is said to be at %s, want %s", b.next, at)
		}
		b.wait(want)
		b.ask("", saw("", "")) // so that the backoff begins anew
		b.wait(time.Minute)
	}
	b.stop()
	if err := poll.Later(nil, time.Hour); err != nil {
		t.Errorf("Later(nil) = %v", err)
	}
	if err := poll.Later(limited, 0); err != limited { //nolint:errorlint // it is the same
		t.Errorf("Later(0) = %v", err)
	}
}

func TestAnObservationHasADeadline(t *testing.T) {
	t.Parallel()
	b := newBench(t, poll.Options{Every: time.Minute})
	b.ask("", answer{hang: true})
	if err := <-b.failed; !strings.Contains(err.Error(), "took longer than 1m0s") {
		t.Errorf("failed: %v", err)
	}
	b.stop()
}

func TestTooManyKeysAreAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, poll.Options{Every: time.Minute})
	<-b.asked
	b.answers <- saw("1", "", make([]string, controller.MaxDeliveryKeys+1)...)
	<-b.judged
	err := b.source.Ended()
	if _, ok := errors.AsType[*controller.LimitError](err); !ok {
		t.Errorf("Run = %v", err)
	}
	b.start()
	b.ask("", saw("", "")) // the cursor has not moved
	b.stop()
}

func TestRetryAfterOfAServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"":                              0,
		"120":                           2 * time.Minute,
		" 120 ":                         2 * time.Minute,
		"-1":                            0,
		"9000000000":                    24 * time.Hour,
		"soon":                          0,
		"Tue, 05 Jan 2027 08:16:30 GMT": 90 * time.Second,
		"Tue, 05 Jan 2027 08:00:00 GMT": 0,
		"Thu, 05 Jan 2126 08:00:00 GMT": 24 * time.Hour,
	} {
		if got := poll.HTTPDelay(http.Header{"Retry-After": {text}}, clocktest.Epoch); got != want {
			t.Errorf("Retry-After %q: %s, want %s", text, got, want)
		}
	}
}

func TestWhatIsNoPoll(t *testing.T) {
	t.Parallel()
	observe := func(context.Context, string) (poll.Observation, error) { return poll.Observation{}, nil }
	for want, o := range map[string]poll.Options{
		"Every is less than a second":  {Every: time.Millisecond, Observe: observe},
		"no Observe":                   {Every: time.Minute},
		"Timeout is negative":          {Every: time.Minute, Observe: observe, Timeout: -1},
		"Backoff has no positive Base": {Every: time.Minute, Observe: observe, Backoff: controller.Backoff{Base: 2, Max: 1}},
		"the Jitter of Backoff":        {Every: time.Minute, Observe: observe, Backoff: controller.Backoff{Base: 1, Max: 1, Jitter: 2}},
	} {
		if err := poll.New("pulls", o).Check(owner); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q in it", o, err, want)
		}
	}
}

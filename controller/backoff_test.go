package controller_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"piworkflows/controller"
)

func TestBackoffDelay(t *testing.T) {
	t.Parallel()
	standard := controller.Backoff{Base: controller.BackoffBase, Max: controller.BackoffMax, Jitter: controller.BackoffJitter}
	plain := controller.Backoff{Base: time.Second, Max: time.Minute}
	tests := []struct {
		name    string
		backoff controller.Backoff
		n       int
		r       float64
		want    time.Duration
	}{
		{"first, middle of the jitter", standard, 1, 0.5, time.Second},
		{"first, shortest", standard, 1, 0, 800 * time.Millisecond},
		{"second", standard, 2, 0.5, 2 * time.Second},
		{"sixth", standard, 6, 0.5, 32 * time.Second},
		{"at the maximum", standard, 7, 0.5, time.Minute},
		{"above the maximum by the jitter", standard, 50, 0.75, 66 * time.Second},
		{"no jitter", plain, 3, 0.99, 4 * time.Second},
		{"a count that overflows a shift", plain, 1 << 40, 0, time.Minute},
		{"zero counts as the first", plain, 0, 0, time.Second},
		{"never nothing", controller.Backoff{Base: 1, Max: 1}, 1, 0, time.Millisecond},
	}
	for _, test := range tests {
		if got := test.backoff.Delay(test.n, test.r); got != test.want {
			t.Errorf("%s: Delay(%d, %v) = %s, want %s", test.name, test.n, test.r, got, test.want)
		}
	}
}

func TestBackoffNeverShrinksAndStaysInItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := controller.Backoff{
			Base:   time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Minute)).Draw(t, "base")),
			Jitter: rapid.Float64Range(0, 1).Draw(t, "jitter"),
		}
		b.Max = b.Base * time.Duration(rapid.IntRange(1, 1000).Draw(t, "factor"))
		n, r := rapid.IntRange(1, 100).Draw(t, "n"), rapid.Float64Range(0, 0.999).Draw(t, "r")
		first, second := b.Delay(n, r), b.Delay(n+1, r)
		if second < first {
			t.Fatalf("delay %s after %d errors, then %s", first, n, second)
		}
		if top := time.Duration(float64(b.Max)*(1+b.Jitter)) + time.Millisecond; second > top || first < time.Millisecond {
			t.Fatalf("delays %s and %s leave the bounds up to %s", first, second, top)
		}
	})
}

// Package bench holds what benchmarks of the program report: numbers with the
// settings under which they were measured, and the machine that they are from.
package bench

import (
	"math"
	"slices"
	"time"
)

// Result is one measured number. Its JSON is a contract: docs/cli-json.md.
type Result struct {
	Scenario string `json:"scenario"`
	// Settings are what the scenario did, by name.
	Settings map[string]any `json:"settings"`
	// Metric says what was measured, Unit in what.
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	// P50 and P99 are percentiles in the same unit, absent if there is one
	// sample only. Value is then the mean.
	P50 *float64 `json:"p50,omitempty"`
	P99 *float64 `json:"p99,omitempty"`
}

// Of returns a result with the mean and the percentiles of durations, in a unit
// of that length.
func (r Result) Of(samples []time.Duration, unit time.Duration) Result {
	sorted := slices.Sorted(slices.Values(samples))
	if len(sorted) == 0 {
		return r
	}
	var sum time.Duration
	for _, d := range sorted {
		sum += d
	}
	at := func(share float64) *float64 {
		d := sorted[int(share*float64(len(sorted)-1))]
		return new(round(float64(d) / float64(unit)))
	}
	r.Value = round(float64(sum) / float64(len(sorted)) / float64(unit))
	r.P50, r.P99 = at(0.5), at(0.99)
	return r
}

// With returns the result with another value.
func (r Result) With(value float64) Result {
	r.Value, r.P50, r.P99 = round(value), nil, nil
	return r
}

// digits is how many digits of a number matter.
const digits = 3

// round keeps the digits that matter: the others are noise.
func round(value float64) float64 {
	if value == 0 || math.IsInf(value, 0) || math.IsNaN(value) {
		return 0
	}
	scale := math.Pow10(digits - 1 - int(math.Floor(math.Log10(math.Abs(value)))))
	return math.Round(value*scale) / scale
}

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"piworkflows/internal/durable"
)

// Machine is what a number depends on besides the program. Its JSON is a
// contract: docs/cli-json.md.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
	// Load is how many processes wanted to run in the last minute, absent where
	// the system does not say.
	Load *float64 `json:"load,omitempty"`
	// Disk is how long it takes to make a small file that lasts, on the disk that
	// is measured.
	Disk DiskSpeed `json:"newFileMs"`
}

// DiskSpeed is how long an operation takes, in milliseconds.
type DiskSpeed struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Look describes the machine and the disk that a folder lies on.
func Look(now func() time.Time, dir string) (Machine, error) {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Load: load()}
	const files, size = 50, 1000
	samples := make([]time.Duration, files)
	for i := range samples {
		start := now()
		if err := durable.OS().Replace(filepath.Join(dir, fmt.Sprintf("file-%d", i)), make([]byte, size), true); err != nil {
			return m, fmt.Errorf("measure the disk: %w", err)
		}
		samples[i] = now().Sub(start)
	}
	spread := Result{}.Of(samples, time.Millisecond)
	m.Disk = DiskSpeed{*spread.P50, *spread.P99}
	return m, nil
}

// load reads the load average of the last minute, where there is one.
func load() *float64 {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(raw), " ")
	value, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return &value
}

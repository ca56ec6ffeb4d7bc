package fswatch_test

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/source/fswatch"
)

// stormFiles are made while they are watched, in stormFolders that are made
// meanwhile.
const (
	stormFiles   = 50_000
	stormFolders = 100
	// stormHeap is what the source may hold on to for each file, in bytes.
	stormHeap = 2000
)

//nolint:paralleltest // it measures the memory of the process
func TestStorm(t *testing.T) {
	b := newBench(t, func(o *fswatch.Options) { o.Quiet = fswatch.DefaultQuiet })
	b.start(clock.System())
	b.want(".")
	before := heap()
	began := clock.System().Now()
	var makers sync.WaitGroup
	for maker := range 4 {
		makers.Go(func() { b.fill(maker, 4, stormFiles) })
	}
	makers.Wait()
	made := clock.System().Now()
	b.await("for every file", func() bool { return len(b.heard) >= stormFiles+stormFolders })
	converged := clock.System().Now()
	grown := int64(heap()) - int64(before)
	if most := int64(stormFiles * stormHeap); grown > most {
		t.Errorf("the heap grew by %d KiB, over %d", grown>>10, most>>10)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Logf("%d files were made in %s and known %s later with %d deliveries; the heap grew by %d KiB",
		stormFiles, made.Sub(began).Round(time.Millisecond), converged.Sub(made).Round(time.Millisecond), b.deliveries, grown>>10)
	if b.degraded != "" || len(b.failed) > 0 {
		t.Errorf("degraded %q, failed %v", b.degraded, b.failed)
	}
}

// fill makes every so many'th file.
func (b *bench) fill(first, step, n int) {
	for i := first; i < n; i += step {
		folder := b.path(fmt.Sprintf("d%d", i%stormFolders))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			b.t.Error(err)
		}
		if err := os.WriteFile(fmt.Sprintf("%s/f%d", folder, i), nil, 0o600); err != nil {
			b.t.Error(err)
		}
	}
}

// heap is what is in use, once what is not is gone.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

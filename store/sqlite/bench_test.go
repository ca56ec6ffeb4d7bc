package sqlite_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/store/sqlite"
)

// BenchmarkPass claims and finishes, by one worker and by several who share
// commits, and with many keys that wait for a later time.
func BenchmarkPass(b *testing.B) {
	for _, bench := range []struct{ workers, waiting int }{{1, 0}, {16, 0}, {16, 20_000}} {
		b.Run(fmt.Sprintf("workers=%d/waiting=%d", bench.workers, bench.waiting), func(b *testing.B) {
			s := benchStore(b, bench.workers, bench.waiting)
			commits := s.Transactions()
			work(b, s, bench.workers)
			b.ReportMetric(float64(s.Transactions()-commits)/float64(b.N), "commits/op")
		})
	}
}

// benchStore has keys that are due, and others that wait for a day.
func benchStore(b *testing.B, due, waiting int) *sqlite.Store {
	b.Helper()
	path := filepath.Join(b.TempDir(), "s.sqlite")
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path, Scope: scope})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	for i := range due {
		put(b, s, strconv.Itoa(i))
	}
	raw(b, path, fmt.Sprintf(`
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %[2]d)
		INSERT INTO resources SELECT 1000 + i, 1, '%[1]s', 'c', 'waits-' || i, 'waits-' || i, 1, 1, 1, 1, 0,
			NULL, (SELECT NULL), '{}', 0, '[]', NULL, 'null', NULL,
			'[]', 0, 0 FROM n WHERE %[2]d > 0;
		INSERT INTO queue (resource_id, controller_id, lane, available_at, held, consecutive_errors, retries)
			SELECT id, controller_id, 0, %[3]d, 0, 0, 0 FROM resources WHERE uid LIKE 'waits-%%'`,
		scope, waiting, time.Now().Add(24*time.Hour).UnixMilli()))
	return s
}

// pass is one claim and one finish that writes.
func pass(b *testing.B, s *sqlite.Store) {
	b.Helper()
	var c *controller.Claim
	for c == nil {
		var err error
		// Another worker may give its key back in the very millisecond.
		if c, err = s.Claim(b.Context(), []string{"c"}, lasts); err != nil {
			b.Fatal(err)
		}
	}
	version := c.Resource.Metadata.ResourceVersion
	_, err := s.Finish(b.Context(), c, controller.Finish{Write: &controller.Write{
		Version: version, ObservedGeneration: 1, ControllerStatus: json.RawMessage(strconv.FormatInt(version, 10)),
	}})
	if err != nil {
		b.Fatal(err)
	}
}

func work(b *testing.B, s *sqlite.Store, workers int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var running sync.WaitGroup
	b.ResetTimer()
	for range workers {
		running.Go(func() {
			for left.Add(-1) >= 0 {
				pass(b, s)
			}
		})
	}
	running.Wait()
	b.StopTimer()
}

package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/testproc"
	"piworkflows/secret"
	"piworkflows/source/webhook"
	"piworkflows/store/sqlite"
)

// helperEnv makes this program a process that takes webhooks into the store in
// that folder until it is killed.
const helperEnv = "WEBHOOK_TEST_STORE"

func help() {
	if err := takeWebhooks(context.Background(), os.Getenv(helperEnv)); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func takeWebhooks(ctx context.Context, folder string) error {
	s, err := sqlite.Open(ctx, sqlite.Options{
		Path: filepath.Join(folder, "store.sqlite"), Scope: strings.Repeat("0", 24), Clock: clock.System(),
	})
	if err != nil {
		return err
	}
	ref, err := secret.Parse("file:" + filepath.Join(folder, "secret"))
	if err != nil {
		return err
	}
	source := webhook.New(sourceName, webhook.Options{
		Format: webhook.GitHub(), Secrets: []secret.Ref{ref}, Keys: webhook.Typed(keysOf),
	})
	server := httptest.NewServer(source.Handler())
	_, _ = fmt.Fprintln(os.Stdout, server.URL)
	return source.Run(ctx, controller.Intake{
		Clock: clock.System(), Feed: s, Refused: func(string) {}, Failed: func(error) {}, Degraded: func(string) {},
		Deliver: func(ctx context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
			d.Source = sourceName
			return s.Deliver(ctx, owner, d)
		},
	})
}

// startHelper starts a process that takes webhooks at the address that it says.
func startHelper(t *testing.T, folder string) *testproc.Process {
	t.Helper()
	p, err := testproc.Start(t.Context(), helperEnv, folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

const crashDeliveries = 400

// Killed in the middle of a storm: what was acknowledged is in the store, and what
// was not can be sent again.
func TestNoAcknowledgedDeliveryIsLost(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "secret"), []byte(inUse), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := make([]string, crashDeliveries)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	settled(t, folder, keys)

	acknowledged := stormUntilKilled(t, startHelper(t, folder), keys, crashDeliveries/3)
	if n := len(acknowledged); n < crashDeliveries/3 || n == len(keys) {
		t.Fatalf("%d of %d deliveries are acknowledged: the kill was not in the middle", n, len(keys))
	}
	wantWoken(t, folder, acknowledged)

	if n := len(stormUntilKilled(t, startHelper(t, folder), keys, len(keys))); n != len(keys) {
		t.Errorf("sent again, %d of %d deliveries are acknowledged", n, len(keys))
	}
	wantWoken(t, folder, keys)
	t.Logf("%d of %d deliveries were acknowledged before the kill", len(acknowledged), len(keys))
}

// stormUntilKilled sends a delivery for each key until so many are acknowledged, then
// kills the process. It returns the keys of those that were.
func stormUntilKilled(t *testing.T, taker *testproc.Process, keys []string, until int) (acknowledged []string) {
	t.Helper()
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	left := make(chan string, len(keys))
	for _, key := range keys {
		left <- key
	}
	close(left)
	var mu sync.Mutex
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for key := range left {
				if !acknowledges(t.Context(), client, taker.Said, key) {
					continue
				}
				mu.Lock()
				if acknowledged = append(acknowledged, key); len(acknowledged) == until {
					taker.Kill()
				}
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	return acknowledged
}

// acknowledges sends a delivery, and again while the source is not run yet.
func acknowledges(ctx context.Context, client *http.Client, url, key string) bool {
	status := http.StatusServiceUnavailable
	for status == http.StatusServiceUnavailable {
		r, err := githubRequest(ctx, url, "delivery-"+key, "pull_request", body(key), inUse)
		if err != nil {
			return false
		}
		response, err := client.Do(r)
		if err != nil {
			return false // the process is dead
		}
		_ = response.Body.Close()
		status = response.StatusCode
	}
	return status == http.StatusOK
}

// settled makes resources for which nothing is left to do.
func settled(t *testing.T, folder string, keys []string) {
	t.Helper()
	s := reopen(t, folder)
	defer s.close()
	putAll(t, s.Store, keys...)
	for range keys {
		claim, err := s.Claim(t.Context(), []string{owner}, time.Hour)
		if err != nil || claim == nil {
			t.Fatalf("Claim = %v, %v", claim, err)
		}
		if _, err := s.Finish(t.Context(), claim, controller.Finish{Settle: true}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := s.List(t.Context(), controller.ListQuery{Controller: owner, Queued: true})
	if err != nil || len(page.Items) > 0 {
		t.Fatalf("%d keys wait, %v", len(page.Items), err)
	}
}

// wantWoken wants these keys to wait for a pass, and to be able to have one.
func wantWoken(t *testing.T, folder string, keys []string) {
	t.Helper()
	s := reopen(t, folder)
	defer s.close()
	for _, key := range slices.Sorted(slices.Values(keys)) {
		row, err := s.Queue(t.Context(), controller.Ref{Controller: owner, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if row.State != controller.QueueReady {
			t.Errorf("%s was acknowledged, and its key is %s", key, row.State)
		}
	}
}

// shut is a store that is closed before the test ends.
type shut struct {
	*sqlite.Store
	close func()
}

func reopen(t *testing.T, folder string) shut {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(folder, "store.sqlite"), Scope: strings.Repeat("0", 24), Clock: clock.System(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return shut{s, func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}}
}

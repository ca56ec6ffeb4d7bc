package e2e

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/store/sqlite"
)

// The storm: deliveries that come twice, of which some are not signed right, some
// are far too large, and some never come to their end.
const (
	stormKeys       = 500
	stormDeliveries = 1000
	stormWrong      = 20
	stormLarge      = 32
	stormSlow       = 8
	stormClients    = 16
	// stormMemory is what a host may have at most, also with the race detector: the
	// large bodies would be 320 MiB on top of it.
	stormMemory = 170 << 20
)

// A host is killed in the middle of a storm, and another one goes on: what was
// acknowledged is in the store, every key has its pass after its last delivery, and
// what is wrong was refused.
func TestStorm(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	mustNot(t, os.WriteFile(filepath.Join(folder, "secret"), []byte(hookSecret), 0o600))
	putStormed(t, folder)
	s := &storm{t: t, answers: map[int]int{}, acknowledged: map[int]bool{}}

	first := startStormHost(t, folder)
	s.blow(first, stormDeliveries/2)
	before := len(s.acknowledged)
	if before < stormDeliveries/2 || before == stormDeliveries {
		t.Fatalf("%d of %d deliveries were acknowledged: the kill was not in the middle", before, stormDeliveries)
	}
	second := startStormHost(t, folder)
	clear(s.answers)
	s.blow(second, 0)
	memory := second.memory()
	t.Logf("%d of %d acknowledged before the kill; answers of the second host: %v; it had at most %d MiB",
		before, stormDeliveries, s.answers, memory>>20)
	if s.answers[http.StatusUnauthorized] != stormWrong || s.answers[http.StatusRequestEntityTooLarge] != stormLarge ||
		s.answers[http.StatusOK] != 2*stormDeliveries || memory > stormMemory {
		t.Errorf("answers %v, %d MiB", s.answers, memory>>20)
	}
	s.check(folder)
}

func putStormed(t *testing.T, folder string) {
	t.Helper()
	store, err := host.OpenStore(t.Context(), stormPaths(folder), clock.System(), nil)
	mustNot(t, err)
	var puts sync.WaitGroup
	for key := range stormKeys {
		puts.Go(func() {
			ref := controller.Ref{Controller: "stormed", Key: strconv.Itoa(key)}
			if _, err := store.Put(t.Context(), controller.Put{Ref: ref, Spec: []byte(`{}`)}); err != nil {
				t.Error(err)
			}
		})
	}
	puts.Wait()
	mustNot(t, store.Close())
}

// storm is all who send.
type storm struct {
	t       *testing.T
	mu      sync.Mutex
	answers map[int]int
	// acknowledged are the deliveries that a host answered with 200.
	acknowledged map[int]bool
}

// blow sends everything to a host, and kills it once so many deliveries are
// acknowledged, if there are so many.
func (s *storm) blow(h *stormHost, killAt int) {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: stormClients}}
	defer client.CloseIdleConnections()
	for range stormSlow {
		defer s.dawdle(h)()
	}
	requests := make(chan request)
	var clients sync.WaitGroup
	for range stormClients {
		clients.Go(func() {
			for r := range requests {
				s.send(client, h, r, killAt)
			}
		})
	}
	for i := range 2 * stormDeliveries {
		requests <- request{id: i % stormDeliveries, key: hookSecret}
		if i < stormWrong {
			requests <- request{id: -1, key: "another-secret"}
		}
		if i < stormLarge {
			requests <- request{id: -1, key: hookSecret, large: true}
		}
	}
	close(requests)
	clients.Wait()
}

// request is one that is to be sent; id is below 0 for what is refused.
type request struct {
	id    int
	key   string
	large bool
}

// make makes the request; a large body is in nobody's memory.
func (r request) make(ctx context.Context, url string) (*http.Request, error) {
	body := fmt.Sprintf(`{"Key":"%d"}`, r.id%stormKeys)
	mac := hmac.New(sha256.New, []byte(r.key))
	_, _ = io.WriteString(mac, body)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	if r.large {
		q.Body, q.GetBody, q.ContentLength = io.NopCloser(io.LimitReader(spaces{}, 10<<20)), nil, -1
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-Github-Delivery", fmt.Sprint("delivery ", r.id))
	q.Header.Set("X-Github-Event", "push")
	q.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return q, nil
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return len(p), nil }

// send sends a request, and again while the host asks for that: a host that is just
// starting does.
func (s *storm) send(client *http.Client, h *stormHost, r request, killAt int) {
	status := http.StatusServiceUnavailable
	for status == http.StatusServiceUnavailable {
		q, err := r.make(s.t.Context(), h.url)
		if err != nil {
			s.t.Error(err)
			return
		}
		response, err := client.Do(q)
		if err != nil {
			return // the host is dead
		}
		_ = response.Body.Close()
		status = response.StatusCode
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[status]++
	if status != http.StatusOK {
		return
	}
	s.acknowledged[r.id] = true
	if len(s.acknowledged) == killAt {
		h.Kill()
	}
}

// dawdle sends the beginning of a request, and ends it when it is told to.
func (s *storm) dawdle(h *stormHost) (end func()) {
	address, err := url.Parse(h.url)
	mustNot(s.t, err)
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", address.Host)
	mustNot(s.t, err)
	_, err = conn.Write([]byte(strings.Join([]string{
		"POST " + address.Path + " HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Content-Length: 1000",
		"X-GitHub-Delivery: slow", "X-GitHub-Event: push", "X-Hub-Signature-256: sha256=00", "", "{",
	}, "\r\n")))
	mustNot(s.t, err)
	return func() { _ = conn.Close() }
}

// check looks for every acknowledged delivery, and for the pass after it.
func (s *storm) check(folder string) {
	s.t.Helper()
	store, err := host.OpenStore(s.t.Context(), stormPaths(folder), clock.System(), nil)
	mustNot(s.t, err)
	defer func() { mustNot(s.t, store.Close()) }()
	awaitSettled(s.t, store)
	found := map[string]bool{}
	for key := range stormKeys {
		for id := range s.deliveries(store, strconv.Itoa(key)) {
			found[id] = true
		}
	}
	for id := range s.acknowledged {
		if !found[fmt.Sprint("delivery ", id)] {
			s.t.Errorf("delivery %d was acknowledged, and is lost", id)
		}
	}
	if len(found) != stormDeliveries {
		s.t.Errorf("%d deliveries are known, want %d", len(found), stormDeliveries)
	}
}

// deliveries returns the IDs of those that woke a key, the last of which has to
// have a pass after it.
func (s *storm) deliveries(store *sqlite.Store, key string) map[string]bool {
	s.t.Helper()
	events, err := store.Events(s.t.Context(), controller.EventQuery{Controller: "stormed", Key: key, Limit: 1000})
	mustNot(s.t, err)
	ids := map[string]bool{}
	due := false
	for _, e := range events {
		switch e.Type {
		case controller.EventDelivered:
			var payload struct{ DeliveryID string }
			mustNot(s.t, json.Unmarshal(e.Payload, &payload))
			if ids[payload.DeliveryID] {
				s.t.Errorf("%s woke the key %s twice", payload.DeliveryID, key)
			}
			ids[payload.DeliveryID], due = true, true
		case controller.EventFinished:
			due = false
		default:
		}
	}
	if due {
		s.t.Errorf("no pass came after the last delivery of %s", key)
	}
	return ids
}

// awaitSettled follows the events until no key waits.
func awaitSettled(t *testing.T, store *sqlite.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		after, err := store.Head(ctx)
		mustNot(t, err)
		page, err := store.List(ctx, controller.ListQuery{Queued: true, Limit: 1})
		mustNot(t, err)
		if len(page.Items) == 0 {
			return
		}
		_, err = store.Changes(ctx, after, controller.ChangeFilter{})
		mustNot(t, err)
	}
}

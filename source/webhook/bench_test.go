package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/secret"
	"piworkflows/source/webhook"
	"piworkflows/store/sqlite"
)

const (
	owner      = "pull-request"
	sourceName = "github"
	// inUse is the value of the secret that every test begins with.
	inUse = "in-use-secret-of-the-tests"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		help()
		return
	}
	goleak.VerifyTestMain(m)
}

// payload is what the tests send.
type payload struct {
	Number string   `json:"number"`
	More   []string `json:"more"`
}

func keysOf(_ context.Context, e webhook.Event, p payload) ([]string, error) {
	switch {
	case p.Number == "panic":
		panic("the mapping cannot read")
	case p.Number == "error":
		return nil, errors.New("the mapping does not know")
	case p.Number == "none" || e.Type == "star":
		return nil, nil
	}
	return append(p.More, p.Number), nil
}

// bench is a source that runs over the real store, behind a real server.
type bench struct {
	t      *testing.T
	store  *sqlite.Store
	source *webhook.Source
	server *httptest.Server
	// secretFile has the secret in use, folder the files of the store.
	secretFile, folder string
	// stop ends the run of the source.
	stop func()

	mu      sync.Mutex
	refused map[string]int
	failed  []error
	// broken lets deliveries fail.
	broken error
}

// newBench makes a bench with the resources of these keys. The options may be
// changed before the source is made.
func newBench(t *testing.T, c clock.Clock, change func(*webhook.Options), keys ...string) *bench {
	t.Helper()
	b := &bench{t: t, refused: map[string]int{}, secretFile: filepath.Join(t.TempDir(), "secret"), folder: t.TempDir()}
	b.store = openStore(t, filepath.Join(b.folder, "store.sqlite"))
	putAll(t, b.store, keys...)
	b.write(b.secretFile, inUse)
	o := webhook.Options{Format: webhook.GitHub(), Secrets: []secret.Ref{refTo(t, b.secretFile)}, Keys: webhook.Typed(keysOf)}
	if change != nil {
		change(&o)
	}
	b.source = webhook.New(sourceName, o)
	if err := b.source.Check(owner); err != nil {
		t.Fatal(err)
	}
	b.server = httptest.NewServer(b.source.Handler())
	t.Cleanup(b.server.Close)
	b.start(c)
	return b
}

// start runs the source as a host does.
func (b *bench) start(c clock.Clock) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.source.Run(ctx, b.intake(c))
	}()
	b.stop = func() {
		cancel()
		<-ended
	}
	b.t.Cleanup(func() { b.stop() })
	b.awaitOpen()
}

// awaitOpen returns once the source takes requests.
func (b *bench) awaitOpen() {
	b.t.Helper()
	for b.t.Context().Err() == nil {
		r := b.send(http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.server.URL, http.NoBody))
		if r.status == http.StatusMethodNotAllowed {
			b.mu.Lock()
			defer b.mu.Unlock()
			clear(b.refused)
			return
		}
	}
}

func (b *bench) intake(c clock.Clock) controller.Intake {
	return controller.Intake{
		Clock: c, Feed: b.store,
		Deliver: func(ctx context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
			b.mu.Lock()
			err := b.broken
			b.mu.Unlock()
			if err != nil {
				return controller.DeliveryResult{}, err
			}
			d.Source = sourceName
			return b.store.Deliver(ctx, owner, d)
		},
		Refused: func(reason string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			code, _, _ := strings.Cut(reason, ":")
			b.refused[code]++
		},
		Failed: func(err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.failed = append(b.failed, err)
		},
		Degraded: func(string) {},
	}
}

// counts returns what was refused, by its code, and what failed.
func (b *bench) counts() (refused map[string]int, failed []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.refused), b.failed
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func refTo(t *testing.T, path string) secret.Ref {
	t.Helper()
	ref, err := secret.Parse("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// answer is how the source answered.
type answer struct {
	status     int
	retryAfter string
	Duplicate  bool
	Enqueued   int
	Unknown    int
	Error      struct{ Code, Message string }
}

// send sends a request and reads its answer.
func (b *bench) send(r *http.Request, err error) (a answer) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	response, err := b.server.Client().Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	return b.read(response)
}

func (b *bench) read(response *http.Response) (a answer) {
	b.t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		b.t.Fatalf("answer %q: %v", text, err)
	}
	a.status, a.retryAfter = response.StatusCode, response.Header.Get("Retry-After")
	return a
}

// github is a delivery as GitHub makes it, with its secret.
func (b *bench) github(id, event, body, key string) (*http.Request, error) {
	return githubRequest(b.t.Context(), b.server.URL, id, event, body, key)
}

func githubRequest(ctx context.Context, url, id, event, body, key string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Github-Delivery", id)
	r.Header.Set("X-Github-Event", event)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sign(key, body)))
	return r, nil
}

func sign(key, body string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return mac.Sum(nil)
}

// deliver sends an ordinary delivery about one key.
func (b *bench) deliver(id, key string) answer {
	b.t.Helper()
	return b.send(b.github(id, "pull_request", body(key), inUse))
}

func body(key string) string { return `{"number":"` + key + `"}` }

// woken counts how often the source woke a key.
func (b *bench) woken(key string) int {
	b.t.Helper()
	events, err := b.store.Events(b.t.Context(), controller.EventQuery{Controller: owner, Key: key, Limit: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	n := 0
	for _, e := range events {
		if e.Type == controller.EventDelivered {
			n++
		}
	}
	return n
}

func openStore(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Scope: strings.Repeat("0", 24), Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func putAll(t *testing.T, s *sqlite.Store, keys ...string) {
	t.Helper()
	var puts sync.WaitGroup
	for _, key := range keys {
		puts.Go(func() {
			put := controller.Put{Ref: controller.Ref{Controller: owner, Key: key}, Spec: json.RawMessage(`{}`)}
			if _, err := s.Put(t.Context(), put); err != nil {
				t.Error(err)
			}
		})
	}
	puts.Wait()
}

// patience bounds what a test waits for.
const patience = 30 * time.Second

func awaitTimers(t *testing.T, c *clocktest.Manual, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.AwaitTimers(ctx, n); err != nil {
		t.Fatalf("wait for %d timers: %v", n, err)
	}
}

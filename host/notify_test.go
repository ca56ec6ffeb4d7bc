package host_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/secret"
)

// receiver takes notices by HTTP.
type receiver struct {
	*httptest.Server
	got chan *http.Request
	// bodies belong to the requests.
	bodies chan string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: make(chan *http.Request, 16), bodies: make(chan string, 16)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.got <- q
		r.bodies <- string(body)
	}))
	t.Cleanup(r.Close)
	return r
}

// secretFile keeps a secret in a file, and returns the reference.
func secretFile(t *testing.T, value string) secret.Ref {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(path, []byte(value), 0o600))
	ref, err := secret.Parse("file:" + path)
	must(t, err)
	return ref
}

// runWith runs a host with notify hooks until the test ends.
func (w *world) runWith(t *testing.T, hooks ...host.NotifyHook) {
	t.Helper()
	o := w.options()
	o.Notify = hooks
	h, err := host.New(t.Context(), o, w.store)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil {
			t.Error(err)
		}
	})
}

// listens waits until the hooks are told of what happens from now on.
func (w *world) listens(t *testing.T, hook string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := 0; ; i++ {
		cursor, err := w.store.NoticeCursor(ctx, hook)
		must(t, err)
		if cursor != "" {
			return
		}
	}
}

const notifySecret = "a secret of the tests"

func TestPeopleAreToldByHTTP(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := newWorld(t, newWork())
	w.runWith(t, host.NotifyHook{Name: "pager", URL: r.URL + "/in", Secret: secretFile(t, notifySecret)})
	w.listens(t, "pager")
	w.put(t, "a", "fail")
	q, body := await(t, r.got), await(t, r.bodies)
	sum := hmac.New(sha256.New, []byte(notifySecret))
	sum.Write([]byte(q.Header.Get("Webhook-Id") + "." + q.Header.Get("Webhook-Timestamp") + "." + body))
	if want := "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil)); q.Header.Get("Webhook-Signature") != want || q.URL.Path != "/in" {
		t.Errorf("request %s %v, want the signature %s", q.URL, q.Header, want)
	}
	var told map[string]any
	must(t, json.Unmarshal([]byte(body), &told))
	for field, want := range map[string]any{
		"schema": "pi-workflows.notice.v1", "id": q.Header.Get("Webhook-Id"), "kind": "not_ready", "controller": "job", "key": "a",
		"message": "WorkFailed: it does not work", "project": w.paths.Project, "do": "explain job a",
	} {
		if told[field] != want {
			t.Errorf("%s is %v, want %v", field, told[field], want)
		}
	}
}

// A detached run has no terminal and no resource on which somebody would see that it
// asks.
func TestPeopleAreToldOfADetachedRunThatWaits(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := travel(t, t.TempDir(), newTrip().stay())
	w.runWith(t, host.NotifyHook{Name: "pager", URL: r.URL, Secret: secretFile(t, notifySecret)})
	w.listens(t, "pager")
	runID := w.queued(t)
	await(t, r.got)
	var told map[string]any
	must(t, json.Unmarshal([]byte(await(t, r.bodies)), &told))
	for field, want := range map[string]any{
		"kind": "run_waiting", "controller": "", "key": "", "subject": runID, "message": "workflow trip waits for an answer", "do": "view " + runID,
	} {
		if told[field] != want {
			t.Errorf("%s is %v, want %v", field, told[field], want)
		}
	}
}

func TestOnlyTheKindsThatWereAskedForAreTold(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := newWorld(t, newWork())
	w.runWith(t, host.NotifyHook{Name: "other", URL: r.URL, Secret: secretFile(t, notifySecret), Kinds: []controller.NoticeKind{controller.NoticeDeletionStuck}})
	w.listens(t, "other")
	w.put(t, "a", "fail")
	w.waitReady(t, "a", controller.False)
	select {
	case <-r.got:
		t.Errorf("told what was not asked for: %s", <-r.bodies)
	default:
	}
}

// waitReady waits for what the resource says.
func (w *world) waitReady(t *testing.T, key string, want controller.ConditionStatus) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var after controller.Cursor
	for {
		if ready, _ := w.job(t, key); ready.Status == want {
			return
		}
		changes, err := w.store.Changes(ctx, after, controller.ChangeFilter{})
		must(t, err)
		after = changes.Next
	}
}

func TestNotifyHooksThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	signed := secretFile(t, notifySecret)
	for want, hooks := range map[string][]host.NotifyHook{
		"either a URL or a program": {{Name: "a"}},
		"needs a secret":            {{Name: "a", URL: "https://example.com"}},
		"has to be https":           {{Name: "a", URL: "http://example.com", Secret: signed}},
		"no URL of the form":        {{Name: "a", URL: "https://ada:pass@example.com", Secret: signed}},
		"same name":                 {{Name: "a", Argv: []string{"x"}}, {Name: "a", Argv: []string{"y"}}},
		"no kind of notice":         {{Name: "a", Argv: []string{"x"}, Kinds: []controller.NoticeKind{"rain"}}},
		"notify hook":               {{Name: "No Name", Argv: []string{"x"}}},
	} {
		o := w.options()
		o.Notify = hooks
		_, err := host.New(t.Context(), o, w.store)
		if refused, ok := errors.AsType[*host.NotifyError](err); !ok || !strings.Contains(refused.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

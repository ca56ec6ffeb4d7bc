package webhook_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/secret"
	"piworkflows/source/webhook"
)

func TestADeliveryWakesItsKeysOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, clocktest.New(), nil, "1", "2")
	first := b.send(b.github("d1", "pull_request", `{"number":"1","more":["2","3","1"]}`, inUse))
	if first.status != http.StatusOK || first.Enqueued != 2 || first.Unknown != 1 || first.Duplicate {
		t.Errorf("first: %+v", first)
	}
	again := b.deliver("d1", "1")
	if again.status != http.StatusOK || !again.Duplicate || again.Enqueued != 0 {
		t.Errorf("again: %+v", again)
	}
	if got := b.woken("1"); got != 1 {
		t.Errorf("the key was woken %d times", got)
	}
}

func TestWhatIsNotTaken(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	tests := []struct {
		name, id, event, body, key string
		change                     func(*http.Request)
		status                     int
		code                       string
	}{
		{name: "a wrong secret", key: "another-secret", status: 401, code: "signature"},
		{name: "no signature", change: without("X-Hub-Signature-256"), status: 401, code: "signature"},
		{name: "half a signature", change: with("X-Hub-Signature-256", "sha256=abcd"), status: 401, code: "signature"},
		{name: "a signature of another kind", change: with("X-Hub-Signature-256", "sha1=abcd"), status: 401, code: "signature"},
		{name: "a signature that is no hex", change: with("X-Hub-Signature-256", "sha256=xyz"), status: 401, code: "signature"},
		{name: "no ID", change: without("X-Github-Delivery"), status: 400, code: "headers"},
		{name: "a long ID", id: long, status: 400, code: "headers"},
		{name: "a long type", event: long, status: 400, code: "headers"},
		{name: "no JSON", body: "number=1", status: 400, code: "body"},
		{name: "JSON of another shape", body: `{"number":1}`, status: 422, code: "mapping"},
		{name: "an error of the mapping", body: body("error"), status: 422, code: "mapping"},
		{name: "a panic of the mapping", body: body("panic"), status: 500, code: "panic"},
		{name: "too many keys", body: `{"more":["` + strings.Repeat(`a","`, 10_000) + `"]}`, status: 422, code: "mapping"},
		{name: "another media type", change: with("Content-Type", "text/plain"), status: 415, code: "media_type"},
		{name: "no media type", change: without("Content-Type"), status: 415, code: "media_type"},
		{name: "a body that is too large", body: body(strings.Repeat("x", 1<<20)), status: 413, code: "size"},
		{
			name: "one that does not say how large it is", body: body(strings.Repeat("x", 1<<20)),
			change: func(r *http.Request) { r.ContentLength = -1 }, status: 413, code: "size",
		},
		{name: "another method", change: func(r *http.Request) { r.Method = http.MethodPut }, status: 405, code: "method"},
	}
	b := newBench(t, clocktest.New(), nil, "1")
	for _, test := range tests {
		r, err := b.github(or(test.id, "d"), or(test.event, "pull_request"), or(test.body, body("1")), or(test.key, inUse))
		if err == nil && test.change != nil {
			test.change(r)
		}
		before, _ := b.counts()
		_, failedBefore := b.counts()
		got := b.send(r, err)
		if got.status != test.status || got.Error.Code != test.code || got.Error.Message == "" {
			t.Errorf("%s: %+v, want %d %s", test.name, got, test.status, test.code)
		}
		refused, failed := b.counts()
		if told := refused[test.code] - before[test.code] + len(failed) - len(failedBefore); told != 1 {
			t.Errorf("%s: counted %d times", test.name, told)
		}
	}
	if got := b.woken("1"); got != 0 {
		t.Errorf("the key was woken %d times", got)
	}
	if after := b.deliver("d", "1"); after.Enqueued != 1 {
		t.Errorf("an ID that was refused only is no duplicate: %+v", after)
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func without(name string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Del(name) }
}

func TestAPanicOfTheMappingIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, clocktest.New(), nil)
	b.deliver("d", "panic")
	_, failed := b.counts()
	if len(failed) != 1 {
		t.Fatalf("failed: %v", failed)
	}
	thrown, ok := errors.AsType[*controller.PanicError](failed[0])
	if !ok || len(thrown.Stack) == 0 {
		t.Errorf("failed: %v", failed[0])
	}
}

func TestWhatIsTakenAndWakesNothing(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, event, body string }{
		{"a ping", "ping", `{"zen":"Keep it logically awesome."}`},
		{"another type", "star", body("1")},
		{"an event about nothing of ours", "pull_request", body("none")},
	}
	b := newBench(t, clocktest.New(), nil, "1")
	for _, test := range tests {
		got := b.send(b.github(test.name, test.event, test.body, inUse))
		if got.status != http.StatusOK || got.Enqueued+got.Unknown != 0 {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	if again := b.send(b.github("a ping", "ping", `{}`, inUse)); !again.Duplicate {
		t.Errorf("nobody sees that a ping came: %+v", again)
	}
	if again := b.send(b.github("another type", "star", body("1"), inUse)); again.Duplicate {
		t.Errorf("what wakes nothing is kept: %+v", again)
	}
}

func TestAFormIsReadAsGitHubSendsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, clocktest.New(), nil, "1")
	r, err := b.github("d", "pull_request", url.Values{"payload": {body("1")}}.Encode(), inUse)
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if got := b.send(r, err); got.Enqueued != 1 {
		t.Errorf("%+v", got)
	}
}

func TestASecretIsReplacedWithoutAGap(t *testing.T) {
	t.Parallel()
	const coming = "the-next-secret-of-the-tests"
	next := filepath.Join(t.TempDir(), "next")
	b := newBench(t, clocktest.New(), func(o *webhook.Options) { o.Secrets = append(o.Secrets, refTo(t, next)) }, "1")
	want := func(when, key string, status int) {
		t.Helper()
		if got := b.send(b.github(when+key, "pull_request", body("1"), key)); got.status != status {
			t.Errorf("%s, signed with %s: %+v, want %d", when, key, got, status)
		}
	}
	want("before", inUse, 200)
	want("before", coming, 503) // it may be the one that is not there yet
	b.write(next, coming)
	want("both", inUse, 200)
	want("both", coming, 200)
	want("both", "neither-of-the-two", 401)
	if err := os.Remove(b.secretFile); err != nil {
		t.Fatal(err)
	}
	want("after", coming, 200)
	want("after", inUse, 503)
	if refused, failed := b.counts(); refused["signature"] != 1 || len(failed) != 4 {
		t.Errorf("refused %v, failed %v", refused, failed)
	}
}

func TestOtherFormats(t *testing.T) {
	t.Parallel()
	signed := webhook.Signed(webhook.Headers{Signature: "X-Signature", Delivery: "X-Delivery", Event: "X-Event"})
	key := []byte("the-bytes-of-a-standard-key")
	whsec := "whsec_" + base64.StdEncoding.EncodeToString(key)
	at := func(when time.Time, id, text string) map[string]string {
		seconds := strconv.FormatInt(when.Unix(), 10)
		signature := base64.StdEncoding.EncodeToString(sign(string(key), id+"."+seconds+"."+text))
		return map[string]string{
			"Webhook-Id": id, "Webhook-Timestamp": seconds, "Webhook-Signature": "v2,no v1,bm90IHRoaXM= v1," + signature,
		}
	}
	now := clocktest.Epoch
	tests := []struct {
		name    string
		format  webhook.Format
		headers map[string]string
		status  int
		code    string
	}{
		{"signed", signed, map[string]string{"X-Signature": hex.EncodeToString(sign(whsec, body("1"))), "X-Delivery": "a"}, 200, ""},
		{"signed, with the algorithm", signed, map[string]string{"X-Signature": "sha256=" + hex.EncodeToString(sign(whsec, body("1")))}, 200, ""},
		{"signed wrongly", signed, map[string]string{"X-Signature": hex.EncodeToString(sign("other", body("1")))}, 401, "signature"},
		{"standard", webhook.Standard(), at(now, "m1", body("1")), 200, ""},
		{"standard, not too old", webhook.Standard(), at(now.Add(-webhook.StandardWindow), "m2", body("1")), 200, ""},
		{"standard, too old", webhook.Standard(), at(now.Add(-webhook.StandardWindow-time.Second), "m3", body("1")), 401, "time"},
		{"standard, from the future", webhook.Standard(), at(now.Add(webhook.StandardWindow+time.Second), "m4", body("1")), 401, "time"},
		{"standard, another body", webhook.Standard(), at(now, "m5", body("2")), 401, "signature"},
		{"standard, no time", webhook.Standard(), map[string]string{"Webhook-Id": "m6", "Webhook-Signature": "v1,AAAA"}, 400, "headers"},
		{"standard, no ID", webhook.Standard(), map[string]string{"Webhook-Timestamp": "1", "Webhook-Signature": "v1,AAAA"}, 400, "headers"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, clocktest.New(), func(o *webhook.Options) { o.Format = test.format }, "1")
			b.write(b.secretFile, whsec)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL, strings.NewReader(body("1")))
			if err == nil {
				r.Header.Set("Content-Type", "application/json")
				for name, value := range test.headers {
					r.Header.Set(name, value)
				}
			}
			if got := b.send(r, err); got.status != test.status || got.Error.Code != test.code {
				t.Errorf("%+v, want %d %s", got, test.status, test.code)
			}
		})
	}
}

func TestADeliveryThatCannotBeStoredIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	b := newBench(t, clocktest.New(), nil, "1")
	b.broken = errors.New("the disk is full")
	if got := b.deliver("d", "1"); got.status != 503 || got.Error.Code != "store" || got.retryAfter == "" {
		t.Errorf("%+v", got)
	}
	b.mu.Lock()
	b.broken = nil
	b.mu.Unlock()
	if got := b.deliver("d", "1"); got.Enqueued != 1 {
		t.Errorf("sent again: %+v", got)
	}
}

func TestASourceThatIsNotRunTakesNothing(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	b := newBench(t, c, nil, "1")
	if err := b.source.Run(t.Context(), b.intake(c)); err == nil {
		t.Error("it ran twice at once")
	}
	b.stop()
	if got := b.deliver("d", "1"); got.status != 503 || got.Error.Code != "closed" || got.retryAfter == "" {
		t.Errorf("%+v", got)
	}
	b.start(c)
	if got := b.deliver("d", "1"); got.Enqueued != 1 {
		t.Errorf("run again: %+v", got)
	}
}

// What a provider sends beside its keys is nowhere in the store.
func TestThePayloadIsNotStored(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a-in-the-payload"
	b := newBench(t, clocktest.New(), nil, "1")
	if got := b.send(b.github("d", "pull_request", `{"number":"1","title":"`+canary+`"}`, inUse)); got.Enqueued != 1 {
		t.Fatalf("%+v", got)
	}
	files, err := os.ReadDir(b.folder)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(b.folder, file.Name()))
		if err != nil {
			continue // a lock of the store
		}
		found = found || strings.Contains(string(text), "pull_request")
		if strings.Contains(string(text), canary) {
			t.Errorf("%s has a part of the payload", file.Name())
		}
	}
	if !found {
		t.Error("the note of the delivery is in no file: the test looks at the wrong ones")
	}
}

func TestCheckNamesEveryMistake(t *testing.T) {
	t.Parallel()
	var none secret.Ref
	wrong := webhook.Options{
		Format: webhook.Signed(webhook.Headers{}), Keys: webhook.Typed[payload](nil), Secrets: []secret.Ref{none, none, none},
		MaxBody: webhook.LargestMaxBody + 1, MaxRequests: -1, Timeout: -1,
	}
	err := webhook.New("s", wrong).Check(owner)
	for _, want := range []string{"no Format", "no Keys", "more than two", "refers to nothing", "MaxBody", "MaxRequests", "Timeout"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	if err := webhook.New("s", webhook.Options{}).Check(owner); err == nil || !strings.Contains(err.Error(), "no Secrets") {
		t.Errorf("without secrets: %v", err)
	}
}

var _ controller.Source = (*webhook.Source)(nil)

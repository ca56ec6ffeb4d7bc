package webhook_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"piworkflows/clock/clocktest"
	"piworkflows/source/webhook"
)

// slow is a client that sends headers and a part of the body, and no more.
type slow struct {
	net.Conn
	bench  *bench
	reader *bufio.Reader
}

// dawdle connects a slow client, and returns once its body is being read.
func (b *bench) dawdle() *slow {
	b.t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(b.t.Context(), "tcp", b.server.Listener.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	headers := strings.Join([]string{
		"POST / HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Content-Length: 1000", "Expect: 100-continue",
		"X-GitHub-Delivery: slow", "X-GitHub-Event: push", "X-Hub-Signature-256: sha256=00",
	}, "\r\n") + "\r\n\r\n"
	if _, err := conn.Write([]byte(headers)); err != nil {
		b.t.Fatal(err)
	}
	s := &slow{conn, b, bufio.NewReader(conn)}
	if line, err := s.reader.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		b.t.Fatalf("%q, %v", line, err)
	}
	if _, err := s.reader.ReadString('\n'); err != nil { // the empty line after it
		b.t.Fatal(err)
	}
	return s
}

func (s *slow) answer() answer {
	s.bench.t.Helper()
	response, err := http.ReadResponse(s.reader, nil)
	if err != nil {
		s.bench.t.Fatal(err)
	}
	defer response.Body.Close()
	return s.bench.read(response)
}

func TestASlowClientIsCutOff(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	b := newBench(t, c, nil)
	s := b.dawdle()
	if _, err := s.Write([]byte(`{"number":`)); err != nil {
		t.Fatal(err)
	}
	awaitTimers(t, c, 1)
	c.Advance(webhook.DefaultTimeout)
	if got := s.answer(); got.status != http.StatusRequestTimeout || got.Error.Code != "slow" {
		t.Errorf("%+v", got)
	}
	if refused, _ := b.counts(); refused["slow"] != 1 {
		t.Errorf("counted: %v", refused)
	}
}

func TestTooManyAtOnceAreToldToComeAgain(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	b := newBench(t, c, func(o *webhook.Options) { o.MaxRequests = 1 }, "1")
	s := b.dawdle()
	if got := b.deliver("d", "1"); got.status != 503 || got.Error.Code != "busy" || got.retryAfter != "1" {
		t.Errorf("%+v", got)
	}
	awaitTimers(t, c, 1)
	c.Advance(webhook.DefaultTimeout)
	s.answer()
	if got := b.deliver("d", "1"); got.Enqueued != 1 {
		t.Errorf("once there is a place: %+v", got)
	}
}

// A stop does not wait for who is slow.
func TestAStopCutsSlowClientsOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, clocktest.New(), nil)
	s := b.dawdle()
	b.stop()
	if got := s.answer(); got.status != 503 || got.Error.Code != "closed" {
		t.Errorf("%+v", got)
	}
}

func TestAClientThatGoesAwayIsNoTrouble(t *testing.T) {
	t.Parallel()
	b := newBench(t, clocktest.New(), nil, "1")
	if err := b.dawdle().Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.deliver("d", "1"); got.Enqueued != 1 {
		t.Errorf("%+v", got)
	}
	b.stop() // it returns only when nobody is inside
	if refused, _ := b.counts(); refused["body"] != 1 {
		t.Errorf("counted: %v", refused)
	}
}

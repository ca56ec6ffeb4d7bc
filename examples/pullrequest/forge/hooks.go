package forge

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"time"
)

// deliveryTimeout is the patience of GitHub.
const deliveryTimeout = 10 * time.Second

// hooks delivers webhooks one after the other, in the order of what happened.
type hooks struct {
	secret string
	ended  sync.WaitGroup

	mu       sync.Mutex
	url      string
	queue    []delivery
	more     *sync.Cond
	stopped  bool
	answered map[int]int
}

type delivery struct {
	url, id, event string
	body           []byte
}

func (h *hooks) start(secret string) {
	h.secret, h.more, h.answered = secret, sync.NewCond(&h.mu), map[int]int{}
	h.ended.Go(h.run)
}

func (h *hooks) stop() {
	h.mu.Lock()
	h.stopped = true
	h.more.Signal()
	h.mu.Unlock()
	h.ended.Wait()
}

func (h *hooks) to(url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.url = url
}

func (h *hooks) answers() map[int]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.answered)
}

// tell queues a delivery about a pull request, twice, as a provider does that is
// not sure whether the first arrived. The lock of the server is held.
func (s *Server) tell(r *repository, p *pull, event, action string) {
	payload := map[string]any{
		"action": action, "number": p.number, "pull_request": r.pull(p), "repository": map[string]any{"full_name": r.name},
	}
	if event == "check_run" {
		payload = map[string]any{
			"action": action, "repository": map[string]any{"full_name": r.name},
			"check_run": map[string]any{"head_sha": r.head(p), "pull_requests": []any{map[string]any{"number": p.number}}},
		}
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return // not reached: it is made of texts and numbers
	}
	d := delivery{id: s.hash("delivery"), event: event, body: body}
	s.hooks.add(d)
	s.hooks.add(d)
}

func (h *hooks) add(d delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.url = h.url; d.url != "" {
		h.queue = append(h.queue, d)
		h.more.Signal()
	}
}

func (h *hooks) run() {
	client := &http.Client{Timeout: deliveryTimeout, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		d, ok := h.next()
		if !ok {
			return
		}
		status := h.send(client, d)
		h.mu.Lock()
		h.answered[status]++
		h.mu.Unlock()
	}
}

// next waits for a delivery; there is none any more once the forge is closed.
func (h *hooks) next() (delivery, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.queue) == 0 {
		if h.stopped {
			return delivery{}, false
		}
		h.more.Wait()
	}
	d := h.queue[0]
	h.queue = h.queue[1:]
	return d, true
}

// send returns the status of the answer; 0 if there is none, as GitHub does not
// send again either.
func (h *hooks) send(client *http.Client, d delivery) int {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, d.url, bytes.NewReader(d.body))
	if err != nil {
		return 0
	}
	mac := hmac.New(sha256.New, []byte(h.secret))
	mac.Write(d.body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Github-Delivery", d.id)
	r.Header.Set("X-Github-Event", d.event)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := client.Do(r)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

package poll_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/source/poll"
)

// poll:declare

// pulls looks for the open pull requests of a forge that changed.
func pulls(url string) controller.Option {
	return controller.WithSources(poll.New("pulls", poll.Options{
		Every: 5 * time.Minute,
		Observe: func(ctx context.Context, cursor string) (poll.Observation, error) {
			return changedPulls(ctx, url, cursor)
		},
	}))
}

func changedPulls(ctx context.Context, url, cursor string) (poll.Observation, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return poll.Observation{}, err
	}
	request.Header.Set("If-None-Match", cursor)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return poll.Observation{}, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusNotModified:
		return poll.Observation{}, nil
	case http.StatusOK:
		var list []struct {
			Number int `json:"number"`
		}
		const limit = 1 << 20
		if err := json.NewDecoder(io.LimitReader(answer.Body, limit)).Decode(&list); err != nil {
			return poll.Observation{}, err
		}
		seen := poll.Observation{Cursor: answer.Header.Get("ETag")}
		for _, pull := range list {
			seen.Keys = append(seen.Keys, strconv.Itoa(pull.Number))
		}
		return seen, nil
	default:
		err := fmt.Errorf("list the pull requests: %s", answer.Status)
		return poll.Observation{}, poll.Later(err, poll.HTTPDelay(answer.Header, time.Now()))
	}
}

// poll:end

// The example does what it says against a real server.
func TestTheExampleObserves(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked++; {
		case r.Header.Get("If-None-Match") == `"2"`:
			w.WriteHeader(http.StatusNotModified)
		case asked == 1:
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			w.Header().Set("ETag", `"2"`)
			_, _ = io.WriteString(w, `[{"number":7},{"number":9}]`)
		}
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	_, err := changedPulls(t.Context(), server.URL, "")
	later, ok := err.(poll.RetryAfter) //nolint:errorlint // it is the error itself
	if !ok || later.RetryAfter() != 90*time.Second {
		t.Errorf("the first observation: %v", err)
	}
	got, err := changedPulls(t.Context(), server.URL, "")
	if diff := cmp.Diff(poll.Observation{Keys: []string{"7", "9"}, Cursor: `"2"`}, got); diff != "" || err != nil {
		t.Errorf("the second observation: %v (-want +got):\n%s", err, diff)
	}
	got, err = changedPulls(t.Context(), server.URL, `"2"`)
	if diff := cmp.Diff(poll.Observation{}, got); diff != "" || err != nil {
		t.Errorf("the third observation: %v (-want +got):\n%s", err, diff)
	}
	if d := controller.Define("pull-request", nothing{}, pulls(server.URL)); d.Sources[0].(*poll.Source).Check(owner) != nil {
		t.Error("the source of the document has a mistake")
	}
}

// nothing is a controller that does nothing.
type nothing struct{}

func (nothing) Reconcile(
	context.Context, *controller.Pass, controller.Resource[struct{}, struct{}],
) (controller.Result[struct{}], error) {
	return controller.Settled(controller.Patch[struct{}]{}), nil
}

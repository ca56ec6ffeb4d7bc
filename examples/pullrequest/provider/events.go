package provider

import (
	"context"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/secret"
	"piworkflows/source/poll"
	"piworkflows/source/webhook"
)

// event is the part of GitHub's payloads that tells what they are about.
type event struct {
	Number     int `json:"number"`
	Repository struct {
		FullName string `json:"full_name"` //nolint:tagliatelle // the names are GitHub's
	} `json:"repository"`
	CheckRun struct {
		PullRequests []struct {
			Number int `json:"number"`
		} `json:"pull_requests"` //nolint:tagliatelle // see above
	} `json:"check_run"` //nolint:tagliatelle // see above
}

// Webhook is the source of what GitHub tells by itself.
func Webhook(secrets ...secret.Ref) controller.Source {
	return webhook.New("github", webhook.Options{Format: webhook.GitHub(), Secrets: secrets, Keys: webhook.Typed(keysOf)})
}

func keysOf(_ context.Context, _ webhook.Event, e event) (keys []string, err error) {
	if e.Number != 0 {
		keys = append(keys, Key(e.Repository.FullName, e.Number))
	}
	for _, p := range e.CheckRun.PullRequests {
		keys = append(keys, Key(e.Repository.FullName, p.Number))
	}
	return keys, nil
}

// Poll is the source of what GitHub did not tell: it looks for pull requests of a
// repository that changed. The one that changed last is looked at each time, because
// GitHub dates changes by the second, and another may follow in the same one. That a
// check has ended is no change of a pull request.
func (g GitHub) Poll(every time.Duration, repository string) controller.Source {
	return poll.New("pulls", poll.Options{Every: every, Observe: func(ctx context.Context, cursor string) (poll.Observation, error) {
		since, _ := time.Parse(time.RFC3339, cursor) // the first time there is none
		s, err := g.Session(ctx)
		if err != nil {
			return poll.Observation{}, err
		}
		list, err := s.changed(ctx, repository, since)
		if err != nil {
			return poll.Observation{}, fmt.Errorf("%s: %w", repository, err)
		}
		seen := poll.Observation{Note: "changed at GitHub"}
		for _, p := range list {
			seen.Keys = append(seen.Keys, Key(repository, p.Number))
		}
		if len(list) > 0 {
			seen.Cursor = list[0].UpdatedAt.UTC().Format(time.RFC3339)
		}
		return seen, nil
	}})
}

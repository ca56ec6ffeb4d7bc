package webhook_test

import (
	"context"
	"fmt"

	"piworkflows/controller"
	"piworkflows/secret"
	"piworkflows/source/webhook"
)

// webhook:declare

// pullEvent is the part of GitHub's payloads that tells what they are about.
type pullEvent struct {
	Number     int `json:"number"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

func pullKeys(_ context.Context, _ webhook.Event, p pullEvent) ([]string, error) {
	if p.Number == 0 {
		return nil, nil // about something else than a pull request
	}
	return []string{fmt.Sprintf("%s#%d", p.Repository.FullName, p.Number)}, nil
}

func pullRequests(secrets ...secret.Ref) controller.Option {
	return controller.WithSources(webhook.New("github", webhook.Options{
		Format:  webhook.GitHub(),
		Secrets: secrets,
		Keys:    webhook.Typed(pullKeys),
	}))
}

// webhook:end

// A definition with the source of the document is accepted.
func ExampleNew() {
	ref, err := secret.Parse("env:WEBHOOK_SECRET")
	if err != nil {
		panic(err)
	}
	_, err = controller.NewRegistry(controller.Define(owner, &counting{}, pullRequests(ref)))
	fmt.Println(err)
	_, err = controller.NewRegistry(controller.Define(owner, &counting{}, pullRequests()))
	fmt.Println(err)
	// Output:
	// <nil>
	// controller "pull-request": source "github": no Secrets: everybody could wake keys; give the reference of what the provider signs with
}

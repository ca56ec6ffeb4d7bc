// Package webhook is a source whose events come by HTTP. A request wakes keys and
// does nothing else: it is no command, and its payload is gone once the keys are
// known. The answer is 2xx only when they are durable.
//
//	webhook.New("github", webhook.Options{
//		Format:  webhook.GitHub(),
//		Secrets: []secret.Ref{current},
//		Keys:    webhook.Typed(pullRequestKeys),
//	})
//
// docs/sources.md says how a provider is set up and what each answer means.
//
// Spec: Sources and workers.
package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	"piworkflows/controller"
	"piworkflows/secret"
)

// Bounds of a source, for those that Options leave at zero. A source holds no
// more of bodies in memory than MaxBody * MaxRequests, with what JSON makes of
// them in the mapping on top.
const (
	DefaultMaxBody     = 1 << 20
	DefaultMaxRequests = 32
	// DefaultTimeout is below the ten seconds after which GitHub gives up.
	DefaultTimeout = 9 * time.Second
	// LargestMaxBody is what GitHub sends at most.
	LargestMaxBody = 25 << 20
)

// Options say what a source takes and what it makes of it. Format, Secrets and
// Keys are required.
type Options struct {
	// Format is the provider's way to name and sign deliveries.
	Format Format
	// Secrets are those that a delivery may be signed with: the one in use, and
	// while it is being replaced the next one. They are read for each request.
	Secrets []secret.Ref
	// Keys maps an event to the keys of the resources to look at. One that maps to
	// none is answered 200 and forgotten. An error refuses the delivery, so that
	// the provider shows it as failed; a panic is one, too.
	Keys Mapper
	// MaxBody bounds a body, in bytes: at most LargestMaxBody.
	MaxBody int
	// MaxRequests bounds the requests at once: others are told to come again.
	MaxRequests int
	// Timeout bounds one request, from its headers to its answer.
	Timeout time.Duration
}

// Source is a controller.Source with an HTTP handler. Make one with New.
type Source struct {
	name    string
	options Options
	gate    gate
}

// New makes a source. What is wrong with the options is found by Check, which
// controller.NewRegistry calls.
func New(name string, o Options) *Source {
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = DefaultMaxRequests
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	return &Source{name: name, options: o}
}

// Name implements controller.Source.
func (s *Source) Name() string { return s.name }

// Check implements controller.SourceChecker.
func (s *Source) Check(string) error {
	o := s.options
	var problems []error
	refuse := func(wrong bool, message string) {
		if wrong {
			problems = append(problems, errors.New(message))
		}
	}
	refuse(o.Format.Read == nil, "no Format: give webhook.GitHub(), or that of another provider")
	refuse(o.Keys == nil, "no Keys: give the function that maps an event to keys")
	refuse(len(o.Secrets) == 0, "no Secrets: everybody could wake keys; give the reference of what the provider signs with")
	refuse(len(o.Secrets) > maxSecrets, "more than two Secrets: one in use and the next one")
	for _, ref := range o.Secrets {
		refuse(ref.IsZero(), "one of the Secrets refers to nothing: write env:NAME or file:PATH")
	}
	refuse(o.MaxBody < 0 || o.MaxBody > LargestMaxBody, "MaxBody is not between 1 and 25 MiB")
	refuse(o.MaxRequests < 0, "MaxRequests is negative")
	refuse(o.Timeout < 0, "Timeout is negative")
	return errors.Join(problems...)
}

// maxSecrets is the number of secrets at once, so that a wrong signature costs a
// bounded amount of work.
const maxSecrets = 2

// Run implements controller.Source: the handler takes requests until ctx ends,
// and Run returns once the last of them is answered. The source needs no cursor,
// since a provider sends again what was not acknowledged, or does not.
func (s *Source) Run(ctx context.Context, in controller.Intake) error {
	if !s.gate.open(ctx, in, s.options.MaxRequests) {
		return errors.New("the source is run by another host in this process: give each host a source of its own")
	}
	<-ctx.Done()
	s.gate.close()
	return context.Cause(ctx)
}

// Handler returns the handler of the source. While the source is not run it
// answers 503. Give its server a ReadHeaderTimeout: a handler is not called
// before the headers are there.
func (s *Source) Handler() http.Handler { return http.HandlerFunc(s.serve) }

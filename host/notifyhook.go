package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"piworkflows/controller"
	"piworkflows/secret"
)

// NotifyHook tells somebody of what needs a person: by a request to a URL, or by a
// command. What is told is kept in the store first, and told at least once; the ID
// of a notice is the same each time.
type NotifyHook struct {
	// Name is stable, as ^[a-z][a-z0-9-]*$: what was told belongs to it.
	Name string
	// URL gets a POST for each notice, signed with Secret as the Standard Webhooks
	// specification says. It is https, or http on this machine.
	URL    string
	Secret secret.Ref
	// Argv is a program with its arguments, without a shell. It reads the notice from
	// its stdin, and has told it if it ends with exit code 0 within 30 s.
	Argv []string
	// Kinds are what is told; empty is all.
	Kinds []controller.NoticeKind
}

// Bounds of notify hooks.
const (
	// notifyTimeout is how long one attempt to tell may take.
	notifyTimeout = 30 * time.Second
	// notifyBurst notices may be told at once, and then one each notifyEvery.
	notifyBurst = 20
	notifyEvery = 3 * time.Second
	// deletionStuck is how long a deletion may take before it is told.
	deletionStuck = 10 * time.Minute
)

// notifyBackoff is for attempts to tell that failed.
var notifyBackoff = controller.Backoff{Base: 5 * time.Second, Max: 10 * time.Minute, Jitter: controller.BackoffJitter}

// NotifyError says that a notify hook cannot be used.
type NotifyError struct{ Hook, Reason string }

func (e *NotifyError) Error() string {
	return fmt.Sprintf("notify hook %.80q: %s", e.Hook, e.Reason)
}

// ErrorCode is the stable code of the error.
func (*NotifyError) ErrorCode() string { return "invalid_notify_hook" }

// checkNotify checks hooks, and that their secrets can be had.
func checkNotify(ctx context.Context, hooks []NotifyHook) error {
	seen := map[string]bool{}
	for _, h := range hooks {
		if reason := h.problem(); reason != "" {
			return &NotifyError{h.Name, reason}
		}
		if seen[h.Name] {
			return &NotifyError{h.Name, "another one has the same name: rename one"}
		}
		seen[h.Name] = true
		if h.URL == "" {
			continue
		}
		if _, err := h.Secret.Resolve(ctx); err != nil {
			return err
		}
	}
	return nil
}

// problem says what is wrong with a hook by itself.
func (h NotifyHook) problem() string {
	if err := controller.ValidateName("notify hook", h.Name); err != nil {
		return err.Error()
	}
	for _, kind := range h.Kinds {
		if !slices.Contains(controller.NoticeKinds(), kind) {
			return fmt.Sprintf("%.40q is no kind of notice: take some of %v", string(kind), controller.NoticeKinds())
		}
	}
	switch {
	case (h.URL == "") == (len(h.Argv) == 0):
		return "give it either a URL or a program"
	case h.URL == "":
		return ""
	case h.Secret.IsZero():
		return "a URL needs a secret to sign with, as env:NAME or file:PATH"
	}
	if err := checkNotifyURL(h.URL); err != nil {
		return err.Error()
	}
	return ""
}

// checkNotifyURL refuses what others on the way could read.
func checkNotifyURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("it is no URL of the form https://HOST/PATH") // which may hold a secret
	}
	here := u.Hostname() == "localhost"
	if ip := net.ParseIP(u.Hostname()); ip != nil {
		here = ip.IsLoopback()
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !here) {
		return errors.New("its URL has to be https, or http on this machine")
	}
	return nil
}

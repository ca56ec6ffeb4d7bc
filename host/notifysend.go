package host

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/internal/procgroup"
	"piworkflows/secret"
)

var (
	// errNotifySlow ends an attempt to tell that takes too long.
	errNotifySlow = fmt.Errorf("it took longer than %s", notifyTimeout)
	// errNotifyRefused is an answer that another attempt will not change.
	errNotifyRefused = errors.New("the receiver refuses it")
)

// maxNotifyOutput bounds what is read of an answer or an output.
const maxNotifyOutput = 2000

// notifyBody is what a receiver gets.
type notifyBody struct {
	Schema  string `json:"schema"`
	Project string `json:"project"`
	controller.Notice
	// Do is a command of this program that says more.
	Do string `json:"do"`
}

func (o Options) notifyBody(n controller.Notice) ([]byte, error) {
	n.Message = limit.Text(n.Message, controller.MaxMessage)
	do := "explain " + n.Controller + " " + n.Key
	if n.Controller == "" {
		do = "view " + n.Subject
	}
	text, err := canonical.Marshal(notifyBody{"pi-workflows.notice.v1", o.Project, n, do})
	return secret.RedactJSON(text), err
}

// deliverer returns what tells a notice to a hook.
func (h NotifyHook) deliverer(o Options) func(context.Context, controller.Notice) error {
	client := &http.Client{
		// What is told is rare: no connection is kept for the next one.
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, n controller.Notice) error {
		body, err := o.notifyBody(n)
		if err != nil {
			return err
		}
		if h.URL != "" {
			return h.post(ctx, client, n.ID, strconv.FormatInt(o.Clock.Now().Unix(), 10), body)
		}
		return h.run(ctx, o.processes(), body)
	}
}

// post sends a signed request; see https://www.standardwebhooks.com.
func (h NotifyHook) post(ctx context.Context, client *http.Client, id, at string, body []byte) error {
	key, err := h.key(ctx)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("tell: %w", err)
	}
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(id + "." + at + "."))
	sum.Write(body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", at)
	r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("tell: %w", err)
	}
	defer answer.Body.Close()
	return judge(answer.StatusCode)
}

// judge says what a status means. Redirections are refused: who is told is decided
// here.
func judge(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return fmt.Errorf("the receiver answered %d", status)
	}
	return fmt.Errorf("%w: it answered %d", errNotifyRefused, status)
}

// key is that of the signature. A secret may be written as whsec_ and base64.
func (h NotifyHook) key(ctx context.Context) ([]byte, error) {
	value, err := h.Secret.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	text, encoded := strings.CutPrefix(value, "whsec_")
	if !encoded {
		return []byte(value), nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("after whsec_ the secret is not base64") // the error would quote a part of it
	}
	return key, nil
}

// run runs the program of a hook in a process group of its own.
func (h NotifyHook) run(ctx context.Context, ledger string, body []byte) error {
	r, err := procgroup.Run(ctx, procgroup.Spec{
		Command: h.Argv[0], Args: h.Argv[1:], Stdin: body, MaxOutput: maxNotifyOutput, Ledger: ledger,
	})
	switch {
	case err != nil:
		return fmt.Errorf("tell: %w", err)
	case r.ExitCode == nil:
		return fmt.Errorf("the program was ended by %s", r.Signal)
	case *r.ExitCode != 0:
		return fmt.Errorf("the program ended with exit code %d: %s", *r.ExitCode, strings.TrimSpace(r.Stderr))
	}
	return nil
}

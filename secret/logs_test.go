package secret_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"piworkflows/secret"
)

// private is a type whose text says more than its fields.
type private struct{ Token string }

func (p *private) String() string { return "private" }

func TestNothingSecretReachesALog(t *testing.T) {
	t.Parallel()
	value := known(t, "logged-by-mistake-0")
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"JSON": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var out bytes.Buffer
		log := slog.New(secret.Logs(secret.Logs(handler(&out))))
		log.With("with", value).WithGroup("g").Info("message "+value, //nolint:sloglint // it is to be masked
			"string", value, "error", errors.New("no "+value), "list", []string{value}, "struct", private{value}, "pointer", &private{value},
			slog.Group("inner", "string", value), "bytes", []byte(value), "number", 7)
		log.Info("clean", "error", errors.New("no"), "pointer", &private{"p"})
		if strings.Contains(out.String(), value) || strings.Contains(out.String(), "bG9nZ2VkLWJ5") {
			t.Errorf("%s: the log has the secret:\n%s", name, out.String())
		}
		for _, want := range []string{"number", "7", "clean"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %s is missing:\n%s", name, want, out.String())
			}
		}
	}
}

package secret_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"piworkflows/secret"
)

// write makes the file of a secret and returns its reference.
func write(t *testing.T, text string, mode os.FileMode) secret.Ref {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return mustParse(t, "file:"+path)
}

func mustParse(t *testing.T, text string) secret.Ref {
	t.Helper()
	r, err := secret.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestASecretIsReadWhenItIsUsed(t *testing.T) {
	t.Setenv("REF_TEST_TOKEN", "first-value-of-it")
	r := mustParse(t, "env:REF_TEST_TOKEN")
	for _, want := range []string{"first-value-of-it", "second-value-of-it"} {
		t.Setenv("REF_TEST_TOKEN", want)
		if got, err := r.Resolve(t.Context()); got != want || err != nil {
			t.Errorf("Resolve = %q, %v; want %q", got, err, want)
		}
		if text := secret.Redact("<" + want + ">"); text != "<"+secret.Mask+">" {
			t.Errorf("the redactor leaves %s", text)
		}
	}
}

func TestTheLastNewlineOfAFileDoesNotCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"newline-less": "newline-less", "newline-one\n": "newline-one", "newline-dos\r\n": "newline-dos", "newline-two\n\n": "newline-two\n",
	} {
		if got, err := write(t, text, 0o600).Resolve(t.Context()); got != want || err != nil {
			t.Errorf("Resolve of %q = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestAReferenceIsText(t *testing.T) {
	t.Parallel()
	var spec struct {
		Token, None secret.Ref
	}
	if err := json.Unmarshal([]byte(`{"Token":"file:/run/token","None":""}`), &spec); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	if !spec.None.IsZero() {
		t.Errorf("the empty text names %s", spec.None)
	}
	if got, err := json.Marshal(mustParse(t, "env:A_B1")); string(got) != `"env:A_B1"` || err != nil {
		t.Errorf("Marshal = %s, %v", got, err)
	}
}

// Somebody who writes the secret where its reference belongs must not find it in
// the error, and from there in a log.
func TestWhatIsNoReferenceIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"ghp_0123456789", "env:not a name", "env:", "file:relative", "file:", "vault:ghp_0123456789", ""} {
		_, err := secret.Parse(text)
		if _, ok := errors.AsType[*secret.RefError](err); !ok {
			t.Errorf("Parse(%q) = %v, want a RefError", text, err)
		}
		if _, rest, _ := strings.Cut(text, ":"); rest != "" && strings.Contains(err.Error(), rest) || strings.Contains(err.Error(), "ghp_") {
			t.Errorf("the error repeats the text: %v", err)
		}
	}
}

func TestASecretThatCannotBeHadSaysWhyWithoutItsValue(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("private/", secret.MaxBytes/8)
	modes := write(t, "shared-with-all", 0o644)
	folder := mustParse(t, "file:"+t.TempDir())
	for _, test := range []struct {
		ref  secret.Ref
		want string
	}{
		{mustParse(t, "env:REF_TEST_MISSING"), "is not set"},
		{mustParse(t, "file:"+filepath.Join(t.TempDir(), "missing")), "missing"},
		{folder, "not a regular file"},
		{write(t, "private\n", 0o600), "fewer than 8 bytes"},
		{write(t, long+"x", 0o600), "more than 65536 bytes"},
		{write(t, "-1234567890.5e7", 0o600), "is a number"},
		{secret.Ref{}, "names nothing"},
	} {
		wantUnavailable(t, test.ref, test.want)
	}
	if runtime.GOOS != "windows" {
		wantUnavailable(t, modes, "chmod 600")
	}
	if got, err := write(t, long, 0o600).Resolve(t.Context()); got != long || err != nil {
		t.Errorf("a secret of the largest size is refused: %v", err)
	}
}

func wantUnavailable(t *testing.T, r secret.Ref, want string) {
	t.Helper()
	value, err := r.Resolve(t.Context())
	var missing *secret.UnavailableError
	if !errors.As(err, &missing) || missing.Ref != r || value != "" {
		t.Fatalf("Resolve of %s = %q, %v; want an UnavailableError", r, value, err)
	}
	text := err.Error()
	if !strings.Contains(text, want) {
		t.Errorf("error %s, want one that says %s", text, want)
	}
	for _, leak := range []string{"private", "12345", "shared"} {
		if strings.Contains(text, leak) {
			t.Errorf("the error contains the value: %s", text)
		}
	}
}

func TestOnlyTheOwnerMayReadOrChangeTheFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the mode says nothing of others there")
	}
	for mode, want := range map[os.FileMode]bool{
		0o400: true, 0o600: true, 0o440: true, 0o640: true, 0o644: false, 0o660: false, 0o604: false, 0o602: false, 0o610: false,
	} {
		_, err := write(t, "modes-of-a-file", mode).Resolve(t.Context())
		if (err == nil) != want {
			t.Errorf("mode %04o: %v, want that it is taken to be %v", mode, err, want)
		}
	}
}

func TestResolveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := mustParse(t, "env:HOME").Resolve(ctx); !errors.Is(err, gone) {
		t.Errorf("Resolve = %v, want the cause of its context", err)
	}
}

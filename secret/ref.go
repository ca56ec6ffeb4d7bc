// Package secret keeps the values of secrets out of everything that is stored or
// shown. A [Ref] names a secret and stands in specs and inputs in its place; its
// value is read when it is used, and is known to the redactor of this process
// from then on: bundles, statuses, events, error texts and logs pass through it.
//
// The redactor is one for the process, because whoever writes a text knows
// nothing of those who read a secret. It finds a value as it is, in base64, as
// part of a URL and as part of a JSON text, not what a program makes of it
// otherwise: nothing keeps code from printing a secret backwards.
//
// Spec: Safety rules. docs/secrets.md says what is covered.
package secret

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Bounds on the value of a secret, in bytes. A shorter one, or one that is a
// number, cannot be told from ordinary text.
const (
	MinBytes = 8
	MaxBytes = 64 << 10
)

// The schemes of references.
const (
	envScheme  = "env"
	fileScheme = "file"
)

var envNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,255}$`)

// Ref names a secret: env:NAME is a variable of the environment of this process,
// file:PATH a file of which one newline at the end does not count. As JSON it is
// that text. The zero Ref names nothing and is the empty text.
type Ref struct{ scheme, name string }

// Parse reads a reference. What is none is a *RefError, which does not repeat
// the text: it may be the secret itself.
func Parse(text string) (Ref, error) {
	scheme, name, _ := strings.Cut(text, ":")
	switch {
	case scheme == envScheme && envNames.MatchString(name):
	case scheme == fileScheme && filepath.IsAbs(name) && !strings.ContainsRune(name, 0):
	case scheme == envScheme:
		return Ref{}, &RefError{Reason: "env: is followed by the name of a variable"}
	case scheme == fileScheme:
		return Ref{}, &RefError{Reason: "file: is followed by an absolute path"}
	default:
		return Ref{}, &RefError{Reason: "it begins with neither env: nor file:"}
	}
	return Ref{scheme, name}, nil
}

// String returns the text of the reference, which is no secret.
func (r Ref) String() string {
	if r.IsZero() {
		return ""
	}
	return r.scheme + ":" + r.name
}

// IsZero reports whether r names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// MarshalText implements encoding.TextMarshaler.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler: a spec that has a secret in
// the place of its reference is refused.
func (r *Ref) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*r = Ref{}
		return nil
	}
	*r, err = Parse(string(text))
	return err
}

// Resolve reads the secret now; keep it no longer than it is used. From then on
// the redactor knows the value. A secret that cannot be had, or that could not be
// kept out of records, is an *UnavailableError, which never contains the value.
func (r Ref) Resolve(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	value, err := r.read()
	if err == nil {
		err = checkValue(value)
	}
	if err != nil {
		return "", &UnavailableError{Ref: r, Err: err}
	}
	process.add(value)
	return value, nil
}

func (r Ref) read() (string, error) {
	switch r.scheme {
	case envScheme:
		return readEnv(r.name)
	case fileScheme:
		return readFile(r.name)
	default:
		return "", errors.New("it names nothing: give env:NAME or file:PATH")
	}
}

var numbers = regexp.MustCompile(`^[-+0-9.eE]*$`)

func checkValue(value string) error {
	switch {
	case len(value) < MinBytes:
		return fmt.Errorf("its value has fewer than %d bytes, which cannot be told from ordinary text in records: use a longer one", MinBytes)
	case len(value) > MaxBytes:
		return fmt.Errorf("its value has more than %d bytes", MaxBytes)
	case numbers.MatchString(value):
		return errors.New("its value is a number, which cannot be told from others in records: use one with a letter")
	}
	return nil
}

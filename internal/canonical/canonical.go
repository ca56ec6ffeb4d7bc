package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/gowebpki/jcs"
)

// Canonical returns the canonical form of a JSON text (RFC 8785). Two texts
// have the same canonical form exactly if they hold the same value. Text that
// [Check] refuses is refused here with the same [*Error].
//
// The check comes first for more than its error messages: it bounds the depth of
// the library's recursion and keeps numbers away that the library would round. And
// it sees most texts that are canonical already, which the library need not rewrite.
func Canonical(raw []byte) ([]byte, error) {
	s := scanner{cursor: cursor{raw: raw}}
	if err := s.document(); err != nil {
		return nil, err
	}
	if !s.loose {
		return bytes.Clone(raw), nil
	}
	text, err := jcs.Transform(raw)
	if err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	return text, nil
}

// Fingerprint returns the SHA-256 of the canonical form as 64 lower-case hex
// digits. Errors are those of [Canonical].
func Fingerprint(raw []byte) (string, error) {
	text, err := Canonical(raw)
	if err != nil {
		return "", err
	}
	return Sum(text), nil
}

// Sum is [Fingerprint] of a text that is canonical already, for example one that
// [Canonical] returned.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Equal reports whether two JSON texts hold the same value. Errors are those of
// [Canonical], for a first.
func Equal(a, b []byte) (bool, error) {
	left, err := Canonical(a)
	if err != nil {
		return false, err
	}
	right, err := Canonical(b)
	if err != nil {
		return false, err
	}
	return bytes.Equal(left, right), nil
}

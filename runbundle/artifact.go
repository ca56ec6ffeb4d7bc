package runbundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"piworkflows/internal/durable"
)

const (
	// inlineBytes is the longest text, in bytes of UTF-8, that stays in place.
	inlineBytes = 4096
	// maxArtifactBytes bounds what a reader loads for one reference. Our own
	// texts are far smaller, other writers have no bound.
	maxArtifactBytes = 64 << 20
	artifactsDir     = "artifacts"
	textPlain        = "text/plain"
)

// artifactPaths is the only shape that a reference may have, so that none
// leads out of the bundle.
var artifactPaths = regexp.MustCompile(`^artifacts/sha256-[0-9a-f]{64}\.txt$`)

// reference stands for a long text in an encoded value.
type reference struct {
	Path      string `json:"path"`
	MediaType string `json:"mediaType"`
	Bytes     int    `json:"bytes"`
	SHA256    string `json:"sha256"`
}

// artifacts writes the long texts of one bundle.
type artifacts struct {
	fs  *durable.FS
	dir string // of the bundle
}

// encode returns a value in encoded form: each long text is on disk, durable,
// and replaced by a reference, and objects that look like a reference are
// escaped. Spec: run bundle format, Artifacts.
func (a *artifacts) encode(raw json.RawMessage) (json.RawMessage, error) {
	return rewrite(raw, a.externalise, escape)
}

// isPlain reports whether a compact text is its own encoded form, as it has
// neither a text that is long enough for an artifact nor a reserved key, in any
// spelling. It may miss some.
func isPlain(raw []byte) bool {
	return len(raw) <= inlineBytes && !bytes.ContainsRune(raw, '$') && !bytes.Contains(raw, []byte(`\u`))
}

// escape writes an object that looks like one of ours so that readers take it
// for data.
func escape(r *rewriter, key string) error {
	r.out = append(r.out, `{"`+escapedKey+`":{"`+key+`":`...)
	err := r.value()
	r.out = append(r.out, "}}"...)
	r.closeObject()
	return err
}

func (a *artifacts) externalise(quoted []byte) ([]byte, error) {
	if len(quoted)-2 <= inlineBytes {
		return quoted, nil // its UTF-8 is never longer than its literal
	}
	text := unquote(quoted)
	if len(text) <= inlineBytes {
		return quoted, nil
	}
	ref, err := a.put(text)
	if err != nil {
		return nil, fmt.Errorf("store a text of %d bytes beside the trace: %w", len(text), err)
	}
	return encodeJSON(map[string]reference{artifactKey: ref})
}

// put makes a text durable under the name of its content.
func (a *artifacts) put(text string) (reference, error) {
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:])
	ref := reference{Path: artifactsDir + "/sha256-" + hash + ".txt", MediaType: textPlain, Bytes: len(text), SHA256: hash}
	file := filepath.Join(a.dir, filepath.FromSlash(ref.Path))
	if info, err := os.Stat(file); err == nil && info.Size() == int64(len(text)) {
		return ref, nil
	}
	if err := a.fs.MkdirAll(filepath.Dir(file)); err != nil {
		return ref, fmt.Errorf("make the folder of artifacts: %w", err)
	}
	if err := a.fs.Replace(file, []byte(text), true); err != nil {
		return ref, fmt.Errorf("write an artifact: %w", err)
	}
	return ref, nil
}

// decoder reads the long texts of one bundle.
type decoder struct {
	dir string
	// root keeps every path inside the bundle, symbolic links included. It is
	// opened for the first artifact.
	root *os.Root
	// texts are the literals of artifacts that were read already.
	texts map[string][]byte
}

func decoderIn(dir string) *decoder { return &decoder{dir: dir, texts: map[string][]byte{}} }

func (d *decoder) close() {
	if d.root != nil {
		d.root.Close()
	}
}

// decode returns a value in plain form, without white space.
func (d *decoder) decode(raw json.RawMessage) (json.RawMessage, error) {
	// Every spelling of a reserved key contains a dollar sign or an escape.
	if !bytes.ContainsAny(raw, `$\`) {
		return compact(raw)
	}
	return rewrite(raw, keep, d.resolve)
}

func keep(quoted []byte) ([]byte, error) { return quoted, nil }

func (d *decoder) resolve(r *rewriter, key string) error {
	defer r.closeObject()
	if key == escapedKey {
		return unescape(r)
	}
	var ref reference
	if err := json.Unmarshal(r.scan(), &ref); err != nil {
		return fmt.Errorf("a reference to an artifact: %w", err)
	}
	literal, err := d.load(ref)
	r.out = append(r.out, literal...)
	return err
}

// unescape copies the object inside, which is data whatever it looks like; its
// values may be encoded again.
func unescape(r *rewriter) error {
	if r.in[r.pos] == '{' {
		return r.list('}', r.member)
	}
	return r.value()
}

// load returns the literal of the text that a reference names.
func (d *decoder) load(ref reference) ([]byte, error) {
	if literal, ok := d.texts[ref.Path]; ok {
		return literal, nil
	}
	text, err := d.read(ref)
	if err != nil {
		return nil, fmt.Errorf("artifact %.100q: %w", ref.Path, err)
	}
	literal := textOf(string(text))
	d.texts[ref.Path] = literal
	return literal, nil
}

// read returns the content of an artifact, checked against its reference.
func (d *decoder) read(ref reference) ([]byte, error) {
	switch {
	case !artifactPaths.MatchString(ref.Path):
		return nil, errors.New("the reference leads out of the folder of artifacts")
	case ref.Bytes < 0 || ref.Bytes > maxArtifactBytes:
		return nil, fmt.Errorf("the reference is to %d bytes, over the limit of %d", ref.Bytes, maxArtifactBytes)
	}
	if d.root == nil {
		root, err := os.OpenRoot(d.dir)
		if err != nil {
			return nil, fmt.Errorf("open the bundle: %w", err)
		}
		d.root = root
	}
	text, err := readIn(d.root, ref.Path, int64(ref.Bytes))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	if hash := hex.EncodeToString(sum[:]); hash != ref.SHA256 || path.Base(ref.Path) != "sha256-"+hash+".txt" {
		return nil, errors.New("the content is not the one that was referred to")
	}
	return text, nil
}

// readIn reads a regular file of a bundle that has at most limit bytes.
func readIn(root *os.Root, name string, limit int64) ([]byte, error) {
	file, err := openIn(root, name, limit)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return raw, nil
}

// openIn opens a regular file of a bundle that has at most limit bytes.
func openIn(root *os.Root, name string, limit int64) (*os.File, error) {
	info, err := root.Stat(name) // before Open, which would wait for the other end of a pipe
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Not wrapped: fs.ErrNotExist is the answer for a bundle that is not
		// there, and here it is there and lacks a part.
		return nil, fmt.Errorf("%s is missing", name)
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, over the limit of %d", name, info.Size(), limit)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return file, nil
}

package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"piworkflows/internal/durable"
)

// RefChange is one line of a transaction. Make one with Verify, Move, Set or
// Delete.
type RefChange struct {
	verb, ref string
	to        Hash
	// from is the value that the ref must have; nil asks for none.
	from *Hash
}

// Verify requires that a ref is at a value.
func Verify(ref string, at Hash) RefChange {
	return RefChange{verb: "verify", ref: ref, from: &at}
}

// Move moves a ref that must be at a value.
func Move(ref string, from, to Hash) RefChange {
	return RefChange{verb: "update", ref: ref, to: to, from: &from}
}

// Set makes or moves a ref, wherever it is.
func Set(ref string, to Hash) RefChange { return RefChange{verb: "update", ref: ref, to: to} }

// Delete removes a ref, if it exists.
func Delete(ref string) RefChange { return RefChange{verb: "delete", ref: ref} }

func (c RefChange) line() string {
	words := []string{c.verb, c.ref}
	if c.to != "" {
		words = append(words, string(c.to))
	}
	if c.from != nil {
		words = append(words, string(*c.from))
	}
	return strings.Join(words, " ") + "\n"
}

// UpdateRefs makes all changes or none, with reason in the reflogs. A
// *PreconditionError means that a ref was elsewhere and nothing moved. After any
// other error the refs may have moved: read them.
func (r *Repo) UpdateRefs(ctx context.Context, reason string, changes ...RefChange) error {
	script, err := transaction(changes)
	if err != nil {
		return err
	}
	args := []string{"update-ref", "--no-deref", "-m", reason, "--stdin"}
	out, err := r.run(ctx, call{args: args, stdin: script})
	if err == nil {
		return r.syncRefs(changes)
	}
	if _, refused := errors.AsType[*CommandError](err); refused && !strings.Contains(out, "prepare: ok") {
		if broken := r.broken(ctx, changes); broken != nil {
			return broken
		}
	}
	return err
}

func transaction(changes []RefChange) (string, error) {
	var b strings.Builder
	b.WriteString("start\n")
	for _, c := range changes {
		if err := CheckRef(c.ref); err != nil {
			return "", err
		}
		b.WriteString(c.line())
	}
	b.WriteString("prepare\ncommit\n")
	return b.String(), nil
}

// broken finds the precondition that a refused transaction broke, nil if none.
// Git checks all of them before it says "prepare: ok", and nothing moves before
// that; so what is elsewhere now was not moved by us.
func (r *Repo) broken(ctx context.Context, changes []RefChange) error {
	for _, c := range changes {
		if c.from == nil {
			continue
		}
		found, err := r.Refs(ctx, c.ref)
		if err != nil {
			return err
		}
		if at := found[c.ref]; at.Hash != *c.from {
			return &PreconditionError{Ref: c.ref, Want: *c.from, Found: at.Hash}
		}
	}
	return nil
}

// syncRefs makes the names of changed refs last: Git syncs the files of refs,
// not the folders that they were renamed into. On a file system with a journal
// this carries the objects written before along.
func (r *Repo) syncRefs(changes []RefChange) error {
	for _, c := range changes {
		if c.verb == "verify" {
			continue
		}
		if err := r.syncFolders(filepath.Join(r.common, filepath.FromSlash(c.ref))); err != nil {
			return fmt.Errorf("make ref %s last: %w", c.ref, err)
		}
	}
	return nil
}

// syncFolders syncs the folders from that of a file up to the common one. Git
// removes folders that became empty.
func (r *Repo) syncFolders(file string) error {
	for dir := filepath.Dir(file); inside(r.common, dir); dir = filepath.Dir(dir) {
		if err := durable.OS().SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

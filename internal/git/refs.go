package git

import (
	"context"
	"strings"
)

// Ref is what a ref points to.
type Ref struct {
	// Hash is the object in the end.
	Hash Hash
	// Symbolic is the ref that a symbolic one points to; empty for others.
	Symbolic string
}

// Refs reads the named refs at one time. Names are full; a ref that does not
// exist is not in the answer.
func (r *Repo) Refs(ctx context.Context, names ...string) (map[string]Ref, error) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		if err := CheckRef(name); err != nil {
			return nil, err
		}
		wanted[name] = true
	}
	found, err := r.forEachRef(ctx, names...)
	if err != nil {
		return nil, err
	}
	// A name is a pattern too: it matches the refs below it.
	for name := range found {
		if !wanted[name] {
			delete(found, name)
		}
	}
	return found, nil
}

// RefsUnder reads all refs below a prefix such as refs/pi-workflows.
func (r *Repo) RefsUnder(ctx context.Context, prefix string) (map[string]Ref, error) {
	prefix = strings.TrimSuffix(prefix, "/")
	if err := CheckRef(prefix); err != nil {
		return nil, err
	}
	return r.forEachRef(ctx, prefix+"/")
}

func (r *Repo) forEachRef(ctx context.Context, patterns ...string) (map[string]Ref, error) {
	args := append([]string{"for-each-ref", "--format=%(refname) %(objectname) %(symref)"}, patterns...)
	out, err := r.run(ctx, call{args: args})
	if err != nil {
		return nil, err
	}
	refs := map[string]Ref{}
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) != 3 {
			return nil, malformed("for-each-ref", line)
		}
		refs[fields[0]] = Ref{Hash: Hash(fields[1]), Symbolic: fields[2]}
	}
	return refs, nil
}

// ResolveRef returns what a full ref name points to, or a *RefNotFoundError.
func (r *Repo) ResolveRef(ctx context.Context, name string) (Hash, error) {
	refs, err := r.Refs(ctx, name)
	if err != nil {
		return "", err
	}
	ref, ok := refs[name]
	if !ok {
		return "", &RefNotFoundError{Ref: name}
	}
	return ref.Hash, nil
}

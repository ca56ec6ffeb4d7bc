package fswatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// look is one comparison of the tree with the disk.
type look struct {
	*tree
	now time.Time
	// changed is told of each path that changed. If it fails the look ends, and what
	// it has not seen is found by the next one.
	changed func(path string) error
	// watch sets the watch of a folder before what is in it is read, so that what
	// comes later makes an event; unwatch takes that of one that is gone.
	watch, unwatch func(dir string)

	// moved says that a folder is gone. If it was moved, the system has taken the
	// watch from its new place, or reports that by the old name: all watches are to
	// be set again.
	moved bool
	// unread is why some folder could not be read, the first of them.
	unread error
}

// at looks at one path; deep looks at everything below it too.
func (l *look) at(ctx context.Context, name string, written, deep bool) error {
	if name == "." {
		return l.visit(ctx, name, &l.top, written, deep)
	}
	parent := l.find(path.Dir(name))
	if parent == nil || parent.children == nil {
		return l.at(ctx, path.Dir(name), false, false) // it is new, or gone, with all that is in it
	}
	child := parent.children[path.Base(name)]
	err := l.visit(ctx, name, &child, written, deep)
	parent.set(path.Base(name), child)
	return err
}

// visit compares one path with the disk and brings its node up to date.
func (l *look) visit(ctx context.Context, name string, at **node, written, deep bool) error {
	info, err := l.stat(name)
	switch {
	case gone(err):
		return l.forget(name, at)
	case err != nil:
		l.cannot(err)
		return nil
	}
	changed, err := l.renew(name, at, stampOf(info, l.now))
	if err != nil {
		return err
	}
	if changed = changed || written && !info.IsDir(); changed {
		err = l.changed(name)
	}
	if err == nil && info.IsDir() && (deep || written || changed) {
		err = l.scan(ctx, name, *at)
	}
	return err
}

// renew gives a path the node of what is there now, and reports whether that is
// not what was there before.
func (l *look) renew(name string, at **node, now stamp) (changed bool, err error) {
	if *at != nil && now.replaces((*at).stamp) {
		if err := l.forget(name, at); err != nil {
			return false, err
		}
	}
	changed = *at == nil || now.changedFrom((*at).stamp)
	if *at == nil {
		if err := l.make(at); err != nil {
			return false, err
		}
	}
	(*at).stamp = now
	return changed, nil
}

func (l *look) cannot(err error) {
	if l.unread == nil {
		l.unread = err
	}
}

// stat follows no link but the root.
func (l *look) stat(name string) (fs.FileInfo, error) {
	if name != "." {
		return os.Lstat(l.place(name)) //nolint:wrapcheck // it names the path
	}
	info, err := os.Stat(l.root)
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: %w", l.root, syscall.ENOTDIR)
	}
	return info, err //nolint:wrapcheck // it names the path
}

// gone reports whether an error says that there is nothing (any more).
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// scan reads a folder and looks at everything in it.
func (l *look) scan(ctx context.Context, name string, n *node) error {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.watch(l.place(name))
	names, err := l.names(name)
	if gone(err) {
		return nil // its own event, or the next look, tells
	}
	if err != nil {
		l.cannot(err)
		return nil
	}
	l.scans++
	scan := l.scans
	for _, base := range names {
		child := n.children[base]
		err := l.visit(ctx, path.Join(name, base), &child, false, true)
		if n.set(base, child); err != nil {
			return err
		}
		if child != nil {
			child.scan = scan
		}
	}
	return l.sweep(name, n, scan)
}

// names reads the names in a folder that are not ignored, and no more of them than
// show that there are too many.
func (l *look) names(name string) (kept []string, err error) {
	const some = 1024
	dir, err := os.Open(l.place(name))
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the path
	}
	defer dir.Close()
	for err == nil && len(kept) <= l.most {
		var batch []string
		batch, err = dir.Readdirnames(some)
		for _, base := range batch {
			if !l.ignore.itself(path.Join(name, base)) {
				kept = append(kept, base)
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return kept, err
}

// sweep forgets what a scan did not find.
func (l *look) sweep(name string, n *node, scan uint64) error {
	for base, child := range n.children {
		if child.scan == scan {
			continue
		}
		err := l.forget(path.Join(name, base), &child)
		if n.set(base, child); err != nil {
			return err
		}
	}
	return nil
}

// forget removes a node with everything below it, from below.
func (l *look) forget(name string, at **node) error {
	n := *at
	if n == nil {
		return nil
	}
	for base, child := range n.children {
		err := l.forget(path.Join(name, base), &child)
		if n.set(base, child); err != nil {
			return err
		}
	}
	if n.children != nil {
		l.unwatch(l.place(name))
		l.moved = true
	}
	*at = nil
	l.count--
	return l.changed(name)
}

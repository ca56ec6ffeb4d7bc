package fswatch

import (
	"fmt"
	"path"
	"path/filepath"

	"piworkflows/controller"
)

// tree is what was there when it was looked at last.
type tree struct {
	root   string
	ignore ignore
	most   int

	// top is the root; nil while there is none.
	top   *node
	count int
	scans uint64
}

// node is one path.
type node struct {
	stamp stamp
	// scan is the last scan of its folder that found it.
	scan uint64
	// children are by their names; nil for what is no folder.
	children map[string]*node
}

func (t *tree) find(name string) *node {
	if name == "." {
		return t.top
	}
	parent := t.find(path.Dir(name))
	if parent == nil {
		return nil
	}
	return parent.children[path.Base(name)]
}

func (n *node) set(name string, child *node) {
	if child == nil {
		delete(n.children, name)
	} else {
		n.children[name] = child
	}
}

func (t *tree) place(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

func (t *tree) make(at **node) error {
	if t.count >= t.most {
		return fmt.Errorf("watch %s (ignore what is not needed, or watch a folder below it): %w", t.root,
			&controller.LimitError{What: "a watched folder", Limit: t.most, Size: t.count + 1, Unit: "files and folders"})
	}
	t.count++
	*at = &node{}
	return nil
}

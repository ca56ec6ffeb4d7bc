package fswatch_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piworkflows/clock"
)

// Whatever is done to a tree, each path that changed is heard of: also what comes
// after many moves, which mix up the watches of the system.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.start(clock.System())
			b.want(".")
			m := &mess{bench: b, random: rand.New(rand.NewPCG(seed, 0))}
			for range 20 {
				touched := m.makeSome(8)
				t.Logf("%q", m.done)
				m.done = nil
				b.want(touched...)
			}
		})
	}
}

// mess changes a tree at random.
type mess struct {
	*bench
	random *rand.Rand
	done   []string
	files  int
}

// makeSome makes some changes and returns those paths that changed and that are not
// the same again.
func (m *mess) makeSome(n int) []string {
	before := m.stamps()
	touched := map[string]bool{}
	for range n {
		for _, name := range m.change() {
			touched[name] = true
		}
	}
	after := m.stamps()
	var list []string
	for name := range touched {
		if before[name] != after[name] {
			list = append(list, name)
		}
	}
	return list
}

// stamps are the contents of all files, and the inodes of folders are left out: a
// folder in the place of another one counts as the same.
func (m *mess) stamps() map[string]string {
	m.t.Helper()
	found := map[string]string{}
	for _, name := range m.below(".") {
		info, err := os.Lstat(m.path(name))
		m.must(err)
		if info.IsDir() {
			found[name] = "folder"
			continue
		}
		text, err := os.ReadFile(m.path(name))
		m.must(err)
		found[name] = "file " + string(text)
	}
	return found
}

// below lists a path with everything below it.
func (m *mess) below(name string) (list []string) {
	m.t.Helper()
	m.must(filepath.WalkDir(m.path(name), func(place string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(m.root, place)
		list = append(list, filepath.ToSlash(rel))
		return err
	}))
	return list
}

// pick returns one path, of a folder if it must be.
func (m *mess) pick(folder bool) string {
	var list []string
	for _, name := range m.below(".") {
		info, err := os.Lstat(m.path(name))
		m.must(err)
		if info.IsDir() || !folder {
			list = append(list, name)
		}
	}
	return list[m.random.IntN(len(list))]
}

// change makes one change and returns the paths that it touched.
func (m *mess) change() []string {
	m.files++
	fresh := path.Join(m.pick(true), fmt.Sprintf("n%d", m.files))
	switch kind := m.random.IntN(10); {
	case kind < 3:
		m.did("write " + fresh)
		m.write(fresh, fresh)
		return []string{fresh}
	case kind < 5:
		deep := fresh + "/x/y"
		m.did("mkdir " + deep)
		m.mkdir(deep)
		m.write(deep+"/f", "")
		return m.below(fresh)
	case kind < 8:
		return m.move(m.pick(false), fresh)
	case kind < 9:
		return m.drop(m.pick(false))
	default:
		return m.rewrite(m.pick(false))
	}
}

func (m *mess) move(from, to string) []string {
	if from == "." || to == from || strings.HasPrefix(to, from+"/") {
		return nil
	}
	touched := m.below(from)
	m.did("move " + from + " " + to)
	m.rename(from, to)
	return slices.Concat(touched, m.below(to))
}

func (m *mess) drop(name string) []string {
	if name == "." {
		return nil
	}
	touched := m.below(name)
	m.did("remove " + name)
	m.remove(name)
	return touched
}

func (m *mess) rewrite(name string) []string {
	info, err := os.Lstat(m.path(name))
	m.must(err)
	if info.IsDir() {
		return nil
	}
	m.did("rewrite " + name)
	m.write(name, fmt.Sprint("written ", m.files))
	return []string{name}
}

func (m *mess) did(what string) { m.done = append(m.done, what) }

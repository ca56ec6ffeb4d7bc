package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// pkg is one package of the import graph; tests are not part of it.
type pkg struct {
	path    string
	imports []string
	// module is the module that the package is from; empty for the standard
	// library.
	module string
}

// checkTable returns what is wrong with a house as drawn: a room twice, an arrow
// to nowhere or up, controller and engine in one room that is no joiner.
func checkTable(house []room, joiners []string) []string {
	var problems []string
	for i, r := range house {
		rest := house[i+1:]
		if has(rest, r.path) {
			problems = append(problems, r.path+" is drawn twice")
		}
		for _, use := range r.uses {
			if use != "*" && !has(rest, use) {
				problems = append(problems, fmt.Sprintf("%s uses %s, which is not below it", r.path, use))
			}
		}
		if allows(house, r, "controller") && allows(house, r, "engine") && !slices.Contains(joiners, r.path) {
			problems = append(problems, r.path+" may import both controller and engine; only a joiner may")
		}
	}
	return problems
}

// checkArrows returns the imports between packages of the module that the house
// does not allow, each with the reason for the rule.
func checkArrows(house []room, graph []pkg) []string {
	var problems []string
	for _, p := range graph {
		if p.module != module {
			continue
		}
		from, ok := roomOf(house, p.path)
		if !ok {
			problems = append(problems, p.path+" is in no room; draw it in rooms.go")
			continue
		}
		for _, i := range p.imports {
			to, ok := roomOf(house, i)
			if ok && to.path != from.path && !allows(house, from, to.path) {
				problems = append(problems, fmt.Sprintf("%s imports %s: room %s must not use %s, because %s",
					p.path, i, from.path, to.path, from.why))
			}
		}
	}
	return problems
}

// carries returns the modules of others that a program carries when it imports
// all packages of a room.
func carries(house []room, graph []pkg, path string) []string {
	byPath := map[string]pkg{}
	var todo []string
	for _, p := range graph {
		byPath[p.path] = p
		if r, ok := roomOf(house, p.path); ok && r.path == path {
			todo = append(todo, p.path)
		}
	}
	seen := map[string]bool{}
	modules := []string{}
	for len(todo) > 0 {
		p := byPath[todo[0]]
		todo = todo[1:]
		if seen[p.path] {
			continue
		}
		seen[p.path] = true
		if p.module != "" && p.module != module {
			modules = append(modules, p.module)
		}
		todo = append(todo, p.imports...)
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// roomOf finds the room of a package: the longest room path that leads to it.
func roomOf(house []room, path string) (room, bool) {
	inside, ok := strings.CutPrefix(path, module+"/")
	var found room
	for _, r := range house {
		if ok && len(r.path) > len(found.path) && (inside == r.path || strings.HasPrefix(inside, r.path+"/")) {
			found = r
		}
	}
	return found, found.path != ""
}

func allows(house []room, from room, to string) bool {
	if slices.Contains(from.uses, to) {
		return true
	}
	at := slices.IndexFunc(house, func(r room) bool { return r.path == from.path })
	return slices.Contains(from.uses, "*") && has(house[at+1:], to)
}

func has(house []room, path string) bool {
	return slices.ContainsFunc(house, func(r room) bool { return r.path == path })
}

package host

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"piworkflows/controller"
	"piworkflows/workflow"
)

// DefinitionState says what became of a definition that was found.
type DefinitionState string

// The states of a definition.
const (
	// DefinitionLoaded is in use.
	DefinitionLoaded DefinitionState = "loaded"
	// DefinitionHidden is not, because another place has one of its name.
	DefinitionHidden DefinitionState = "hidden"
	// DefinitionBroken cannot be used.
	DefinitionBroken DefinitionState = "broken"
)

// DefinitionEntry is one definition that was found, whatever became of it.
type DefinitionEntry struct {
	Kind           controller.DefinitionKind
	Name           string
	Place          Place
	Source, Digest string
	State          DefinitionState
	// HiddenBy is the place of the one that hides it.
	HiddenBy Place
	// Err says why it is broken.
	Err error
}

// snapshot is what a catalog holds at one moment.
type snapshot struct {
	controllers []*controller.Definition
	graphs      map[string]*workflow.Graph
	entries     []DefinitionEntry
	hooks       map[string]http.Handler
	// unread says which places could not be read.
	unread []error
	// broken says why a workflow that was found cannot be used, by name.
	broken map[string]error
}

// merge decides which definitions are used. What is broken disables nothing but
// itself, and hides what it would hide if it were not: nobody means the other one.
func merge(found []checked) *snapshot {
	s := &snapshot{graphs: map[string]*workflow.Graph{}, hooks: map[string]http.Handler{}, broken: map[string]error{}}
	groups := map[[2]string][]checked{}
	for _, c := range found {
		key := [2]string{string(c.Kind), c.Name}
		groups[key] = append(groups[key], c)
	}
	for _, key := range slices.SortedFunc(maps.Keys(groups), compareKeys) {
		s.decide(groups[key])
	}
	return s
}

func compareKeys(a, b [2]string) int {
	return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
}

// decide uses at most one of the definitions of one name.
func (s *snapshot) decide(group []checked) {
	slices.SortStableFunc(group, byPlace)
	top := group[0].place
	twice := &DuplicateDefinitionError{Kind: group[0].Kind, Name: group[0].Name, Place: top}
	for _, c := range group {
		if c.place == top {
			twice.Sources = append(twice.Sources, c.Source)
		}
	}
	for _, c := range group {
		e := DefinitionEntry{Kind: c.Kind, Name: c.Name, Place: c.place, Source: c.Source, Digest: c.Digest, Err: c.Err}
		switch {
		case c.place != top:
			e.State, e.HiddenBy, e.Err = DefinitionHidden, top, nil
		case len(twice.Sources) > 1 && c.Name != "":
			e.State, e.Err = DefinitionBroken, twice
		case c.Err != nil:
			e.State = DefinitionBroken
		default:
			e.State = DefinitionLoaded
			s.use(c)
		}
		if e.State == DefinitionBroken && c.Kind == controller.KindWorkflow {
			s.broken[c.Name] = e.Err
		}
		s.entries = append(s.entries, e)
	}
}

func (s *snapshot) use(c checked) {
	if c.Kind == controller.KindWorkflow {
		s.graphs[c.Name] = c.graph
		return
	}
	s.controllers = append(s.controllers, c.Controller)
	for _, source := range c.Controller.Sources {
		if source, ok := source.(HTTPSource); ok {
			s.hooks[HookPath(c.Name, source.Name())] = source.Handler()
		}
	}
}

// problems are all reasons for which something is not used, each once.
func (s *snapshot) problems() []error {
	list := slices.Clone(s.unread)
	var last *DuplicateDefinitionError
	for _, e := range s.entries {
		twice, _ := errors.AsType[*DuplicateDefinitionError](e.Err)
		if e.State == DefinitionBroken && (twice == nil || twice != last) {
			list = append(list, e.Err)
		}
		last = twice
	}
	return list
}

// records are the definitions in use, for the store.
func (s *snapshot) records() []controller.DefinitionRecord {
	var list []controller.DefinitionRecord
	for _, e := range s.entries {
		if e.State == DefinitionLoaded {
			list = append(list, controller.DefinitionRecord{
				Kind: e.Kind, Name: e.Name, Place: string(e.Place), Source: e.Source, Digest: e.Digest,
			})
		}
	}
	return list
}

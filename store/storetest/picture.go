package storetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// picture is everything that a store shows of a project. Two pictures of the same
// doings are the same, although names and tokens are random.
type picture struct {
	Resources []pictured
	Runs      []runqueue.Row
	Events    []controller.Event
	Frozen    *controller.Suspension
	Restored  *controller.Restoration
	Loaded    []controller.DefinitionRecord
	Cursor    string
}

// pictured is one resource of a picture.
type pictured struct {
	Resource controller.Raw
	Queue    controller.QueueRow
	Effects  []controller.EffectRecord
	Attempts [][]controller.EffectAttempt
	Children []controller.ChildRun
}

func (k *kit) picture() picture {
	k.Helper()
	p := picture{Events: k.events(controller.EventQuery{Limit: 10_000}), Cursor: k.cursor(name, "s")}
	page, err := k.Store.List(k.Context(), controller.ListQuery{})
	k.must(err)
	for _, item := range page.Items {
		d := pictured{Resource: item.Resource, Queue: item.Queue}
		key := item.Resource.Metadata.Key
		d.Effects, d.Children = k.effects(key), k.children(key)
		for _, e := range d.Effects {
			attempts, err := k.Store.EffectAttempts(k.Context(), ref(key), e.Key)
			k.must(err)
			d.Attempts = append(d.Attempts, attempts)
		}
		p.Resources = append(p.Resources, d)
	}
	p.Runs, err = k.Runs.Runs(k.Context(), runqueue.Query{})
	k.must(err)
	p.Frozen, err = k.Store.Frozen(k.Context())
	k.must(err)
	p.Restored, err = k.Store.Restored(k.Context())
	k.must(err)
	p.Loaded, err = k.Store.Definitions(k.Context())
	k.must(err)
	return p
}

// claimed are the keys that somebody works on.
func (p picture) claimed() (keys []string) {
	for _, d := range p.Resources {
		if d.Queue.State == controller.QueueClaimed {
			keys = append(keys, d.Resource.Metadata.Key)
		}
	}
	return keys
}

var randomName = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// text writes a picture down without what the death of a process changes: who
// holds a run, and how the rows of the given keys are claimed. Random names become
// numbers in the order in which they are met.
func (k *kit) text(p picture, dead []string) string {
	k.Helper()
	p.Resources, p.Runs = slices.Clone(p.Resources), slices.Clone(p.Runs)
	for i := range p.Resources {
		if q := &p.Resources[i].Queue; slices.Contains(dead, p.Resources[i].Resource.Metadata.Key) {
			q.State, q.AvailableAt, q.ConsecutiveErrors, q.LastError = "", nil, 0, ""
		}
	}
	for i := range p.Runs {
		p.Runs[i].Holder = ""
	}
	raw, err := json.MarshalIndent(p, "", "\t") //nolint:musttag // for people, and to compare
	k.must(err)
	names := map[string]string{}
	return randomName.ReplaceAllStringFunc(string(raw), func(random string) string {
		if names[random] == "" {
			names[random] = fmt.Sprintf("name-%d", len(names)+1)
		}
		return names[random]
	})
}

// difference shows where two texts part.
func difference(got, want string) string {
	const around = 6
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	at := 0
	for at < min(len(g), len(w)) && g[at] == w[at] {
		at++
	}
	part := func(lines []string) string {
		return strings.Join(lines[max(0, at-around):min(len(lines), at+around)], "\n")
	}
	return "got\n" + part(g) + "\nwant\n" + part(w)
}

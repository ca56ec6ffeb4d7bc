package storetest

import (
	"context"
	"encoding/json"
	"strings"

	"piworkflows/controller"
)

var eventTests = []test{
	{"events are read in order", eventOrder},
	{"events are selected", eventSelection},
	{"events refuse what they cannot do", eventRefuses},
	{"an event over its limit stops its operation", eventLimit},
}

var changeTests = []test{
	{"changes come from the beginning and go on", changesFollow},
	{"changes wait for the next event", changesWait},
	{"changes are selected", changesSelect},
	{"a cursor of another store is refused", changesForeign},
	{"changes come in pieces", changesPieces},
}

func eventOrder(k *kit) {
	k.put("a", `{}`)
	k.enqueue("a")
	k.Advance(lasts)
	k.enqueue("a")
	all := k.events(controller.EventQuery{})
	equal(k, "count", len(all), 3)
	for i, e := range all {
		equal(k, "reference", e.Ref, ref("a"))
		if i > 0 && e.Seq <= all[i-1].Seq {
			k.Errorf("event %d comes after %d", e.Seq, all[i-1].Seq)
		}
	}
	equal(k, "time between", all[2].RecordedAt.Sub(all[1].RecordedAt), lasts)
	equal(k, "the newest", k.events(controller.EventQuery{Limit: 2}), all[1:])
}

func eventSelection(k *kit) {
	k.put("a", `{}`)
	head := k.head()
	k.put("b", `{}`)
	k.putOf(controller.Ref{Controller: "other", Key: "a"}, `{}`)
	for want, q := range map[string]controller.EventQuery{
		"git-merge/a git-merge/b other/a": {},
		"git-merge/a git-merge/b":         {Controller: name},
		"git-merge/b":                     {Controller: name, Key: "b"},
		"git-merge/b other/a":             {After: head},
		"other/a":                         {After: head, Controller: "other"},
		"":                                {Controller: "third"},
	} {
		var refs []string
		for _, e := range k.events(q) {
			refs = append(refs, e.Ref.String())
		}
		equal(k, "events", strings.Join(refs, " "), want)
	}
	first := k.events(controller.EventQuery{After: head, Limit: 1})
	equal(k, "first after the head", first[0].Key, "b")
}

func eventRefuses(k *kit) {
	_, err := k.Store.Events(k.Context(), controller.EventQuery{Limit: 10_001})
	wantKind[*controller.LimitError](k, err)
	_, err = k.Store.Events(k.Context(), controller.EventQuery{After: "?"})
	k.wantCode(err, "invalid_cursor")
}

func eventLimit(k *kit) {
	k.settle(k.started("a"))
	large := strings.Repeat("x", controller.MaxEventBytes)
	k.quiet("a", func() {
		_, err := k.Store.Enqueue(k.Context(), ref("a"), large)
		equal(k, "limit", wantError[*controller.LimitError](k, err).Limit, controller.MaxEventBytes)
		_, err = k.Store.Put(k.Context(), controller.Put{Ref: ref("a"), Spec: json.RawMessage(`{"n":2}`), Actor: large})
		wantKind[*controller.LimitError](k, err)
	})
	k.wantNoClaim()
	_, err := k.Store.Enqueue(k.Context(), ref("a"), large[len(`{"actor":""}`):])
	k.must(err)
	k.claim("a")
}

func (k *kit) changes(after controller.Cursor, f controller.ChangeFilter) controller.Changes {
	k.Helper()
	c, err := k.Store.Changes(k.Context(), after, f)
	k.must(err)
	return c
}

func changesFollow(k *kit) {
	k.put("a", `{}`)
	k.put("b", `{}`)
	first := k.changes("", controller.ChangeFilter{})
	equal(k, "events", first.Events, k.events(controller.EventQuery{}))
	equal(k, "next", first.Next, k.head())
	k.enqueue("a")
	second := k.changes(first.Next, controller.ChangeFilter{})
	equal(k, "new events", second.Events, k.events(controller.EventQuery{Limit: 1}))
}

func changesWait(k *kit) {
	k.settle(k.started("a"))
	head := k.head()
	var got controller.Changes
	w := k.start(func(ctx context.Context) (err error) {
		got, err = k.Store.Changes(ctx, head, controller.ChangeFilter{})
		return err
	})
	w.pending()
	k.enqueue("a")
	w.end()
	equal(k, "event", got.Events[0].Type, controller.EventRequested)
	equal(k, "next", got.Next, k.head())
}

func changesSelect(k *kit) {
	k.put("a", `{}`)
	head := k.head()
	k.put("b", `{}`)
	k.put("c", `{}`)
	got := k.changes(head, controller.ChangeFilter{Controller: name, Key: "c"})
	equal(k, "events", len(got.Events), 1)
	equal(k, "key", got.Events[0].Key, "c")
	var late controller.Changes
	w := k.start(func(ctx context.Context) (err error) {
		late, err = k.Store.Changes(ctx, got.Next, controller.ChangeFilter{Controller: name, Key: "a"})
		return err
	})
	k.enqueue("b")
	w.pending()
	k.enqueue("a")
	w.end()
	equal(k, "key", late.Events[0].Key, "a")
}

func changesForeign(k *kit) {
	k.put("a", `{}`)
	k.put("b", `{}`)
	ahead := k.head()
	other := k.fresh()
	other.put("a", `{}`)
	for _, c := range []controller.Cursor{ahead, "?", "YWJj"} {
		_, err := other.Store.Changes(k.Context(), c, controller.ChangeFilter{})
		k.wantCode(err, "invalid_cursor")
	}
}

func changesPieces(k *kit) {
	k.put("a", `{}`)
	const count = 450
	for range count {
		k.enqueue("a")
	}
	var all []controller.Event
	next := controller.Cursor("")
	for len(all) <= count {
		c := k.changes(next, controller.ChangeFilter{})
		all, next = append(all, c.Events...), c.Next
	}
	equal(k, "events", all, k.events(controller.EventQuery{Limit: 1000}))
	equal(k, "next", next, k.head())
}

package storetest

import (
	"encoding/json"
	"errors"
	"strings"

	"piworkflows/controller"
)

var resourceTests = []test{
	{"put creates", putCreates},
	{"put of the same spec changes nothing", putSame},
	{"put of another spec raises both counters", putOther},
	{"put compares the expected version", putExpects},
	{"put refuses a resource that is being deleted", putDeleting},
	{"dry run tells and writes nothing", putDryRun},
	{"put refuses bad names and values", putRefuses},
	{"spec limit is exact", specLimit},
	{"status limit covers the first status", firstStatusLimit},
	{"get of nothing is not found", getNothing},
}

func putCreates(k *kit) {
	got := k.put("a", `{"b":1,"a":[true]}`)
	equal(k, "action", got.Action, controller.Created)
	r := got.Resource
	if r.Metadata.UID == "" {
		k.Error("no UID")
	}
	equal(k, "metadata", r.Metadata, controller.Metadata{
		UID: r.Metadata.UID, Controller: name, Key: "a", ResourceVersion: 1, Generation: 1, Finalizers: []string{},
	})
	equal(k, "canonical spec", string(r.Spec), `{"a":[true],"b":1}`)
	equal(k, "status", r.Status, controller.Status[json.RawMessage]{
		Conditions: []controller.Condition{}, ControllerStatus: json.RawMessage(`{"phase":"new"}`),
	})
	equal(k, "stored resource", k.get("a"), r)
	equal(k, "queue", k.queue("a").State, controller.QueueReady)
	payload := k.lastEvent("a", controller.EventApplied)
	equal(k, "payload", payload, map[string]any{"generation": 1.0, "actor": "ada"})
}

func putSame(k *kit) {
	k.settle(k.started("a"))
	k.quiet("a", func() {
		got := k.put("a", ` { "n" : 1.0 } `)
		equal(k, "action", got.Action, controller.Unchanged)
		equal(k, "resource", got.Resource, k.get("a"))
	})
	equal(k, "queue", k.queue("a").State, controller.QueueNone)
}

func putOther(k *kit) {
	c := k.started("a")
	k.finish(c, controller.Finish{Write: write(c, "seen"), Settle: true})
	before := k.get("a")
	got := k.put("a", `{"n":2}`)
	equal(k, "action", got.Action, controller.Configured)
	want := before
	want.Spec = json.RawMessage(`{"n":2}`)
	want.Metadata.Generation++
	want.Metadata.ResourceVersion++
	equal(k, "resource", got.Resource, want)
	equal(k, "stored resource", k.get("a"), want)
	equal(k, "queue", k.queue("a").State, controller.QueueReady)
	equal(k, "payload", k.lastEvent("a", controller.EventUpdated), map[string]any{"generation": 2.0, "actor": "ada"})
}

func putExpects(k *kit) {
	attempt := func(key string, expected int64, spec string) (controller.PutResult, error) {
		return k.Store.Put(k.Context(), controller.Put{Ref: ref(key), Spec: json.RawMessage(spec), Expect: &expected})
	}
	conflict := func(key string, expected, current int64) {
		k.Helper()
		_, err := attempt(key, expected, `{"n":9}`)
		got := wantError[*controller.ConflictError](k, err)
		equal(k, "conflict", *got, controller.ConflictError{Ref: ref(key), Expected: expected, Current: current})
	}
	conflict("a", 5, 0)
	if _, err := k.Store.Get(k.Context(), ref("a")); !errors.Is(err, controller.ErrNotFound) {
		k.Errorf("a refused put left %v", err)
	}
	_, err := attempt("a", 0, `{"n":1}`)
	k.must(err)
	k.quiet("a", func() {
		conflict("a", 0, 1)
		conflict("a", 2, 1)
	})
	got, err := attempt("a", 1, `{"n":2}`)
	k.must(err)
	equal(k, "version", got.Resource.Metadata.ResourceVersion, 2)
}

func putDeleting(k *kit) {
	k.started("a")
	k.requestDeletion("a")
	k.quiet("a", func() {
		for _, dry := range []bool{true, false} {
			_, err := k.Store.Put(k.Context(), controller.Put{Ref: ref("a"), Spec: json.RawMessage(`{}`), DryRun: dry})
			equal(k, "error", *wantError[*controller.DeletingError](k, err), controller.DeletingError{Ref: ref("a")})
		}
	})
}

func putDryRun(k *kit) {
	dry := func(key, spec string) controller.PutResult {
		k.Helper()
		got, err := k.Store.Put(k.Context(), controller.Put{Ref: ref(key), Spec: json.RawMessage(spec), DryRun: true})
		k.must(err)
		return got
	}
	created := dry("a", `{"n":1}`)
	equal(k, "action", created.Action, controller.Created)
	equal(k, "version", created.Resource.Metadata.ResourceVersion, 1)
	if _, err := k.Store.Get(k.Context(), ref("a")); !errors.Is(err, controller.ErrNotFound) {
		k.Errorf("a dry run left %v", err)
	}
	k.settle(k.started("a"))
	k.quiet("a", func() {
		equal(k, "action", dry("a", `{"n":1}`).Action, controller.Unchanged)
		changed := dry("a", `{"n":2}`)
		equal(k, "action", changed.Action, controller.Configured)
		equal(k, "generation", changed.Resource.Metadata.Generation, 2)
		_, err := k.Store.Put(k.Context(), controller.Put{Ref: ref("a"), Spec: json.RawMessage(`{`), DryRun: true})
		if err == nil {
			k.Error("a dry run accepts what is no JSON")
		}
	})
	equal(k, "queue", k.queue("a").State, controller.QueueNone)
}

func putRefuses(k *kit) {
	good := json.RawMessage(`{}`)
	for _, p := range []controller.Put{
		{Ref: controller.Ref{Controller: "", Key: "a"}, Spec: good},
		{Ref: controller.Ref{Controller: "Upper", Key: "a"}, Spec: good},
		{Ref: controller.Ref{Controller: strings.Repeat("a", controller.MaxName+1), Key: "a"}, Spec: good},
		{Ref: ref(""), Spec: good},
		{Ref: ref("a\nb"), Spec: good},
		{Ref: ref("\xff"), Spec: good},
		{Ref: ref(strings.Repeat("ü", controller.MaxKey+1)), Spec: good},
	} {
		_, err := k.Store.Put(k.Context(), p)
		wantKind[*controller.NameError](k, err)
	}
	for _, spec := range []string{``, `{`, `{"a":1,"a":2}`, `{"n":9007199254740993}`, `"\ud800"`, `{} {}`} {
		if _, err := k.Store.Put(k.Context(), controller.Put{Ref: ref("a"), Spec: json.RawMessage(spec)}); err == nil {
			k.Errorf("the spec %s was accepted", spec)
		}
	}
	page, err := k.Store.List(k.Context(), controller.ListQuery{})
	k.must(err)
	equal(k, "resources", len(page.Items), 0)
	k.put(strings.Repeat("ü", controller.MaxKey), `{}`)
}

func text(size int) json.RawMessage {
	return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
}

func specLimit(k *kit) {
	_, err := k.Store.Put(k.Context(), controller.Put{Ref: ref("a"), Spec: text(controller.MaxSpecBytes + 1)})
	got := wantError[*controller.LimitError](k, err)
	equal(k, "limit", got.Limit, controller.MaxSpecBytes)
	equal(k, "size", got.Size, controller.MaxSpecBytes+1)
	k.put("a", string(text(controller.MaxSpecBytes)))
	equal(k, "stored bytes", len(k.get("a").Spec), controller.MaxSpecBytes)
}

func firstStatusLimit(k *kit) {
	p := controller.Put{Ref: ref("a"), Spec: json.RawMessage(`{}`), InitialStatus: text(controller.MaxStatusBytes)}
	_, err := k.Store.Put(k.Context(), p)
	equal(k, "limit", wantError[*controller.LimitError](k, err).Limit, controller.MaxStatusBytes)
	p.InitialStatus = text(controller.MaxStatusBytes - 200)
	_, err = k.Store.Put(k.Context(), p)
	k.must(err)
}

func getNothing(k *kit) {
	_, err := k.Store.Get(k.Context(), ref("a"))
	equal(k, "error", *wantError[*controller.NotFoundError](k, err), controller.NotFoundError{Ref: ref("a")})
	for _, check := range []func() error{
		func() error { _, err := k.Store.Queue(k.Context(), ref("a")); return err },
		func() error { _, err := k.Store.Effects(k.Context(), ref("a")); return err },
		func() error { _, err := k.Store.Children(k.Context(), ref("a")); return err },
		func() error { _, err := k.Store.Enqueue(k.Context(), ref("a"), ""); return err },
		func() error { _, err := k.Store.Suspend(k.Context(), ref("a"), "", ""); return err },
		func() error { _, err := k.Store.Unsuspend(k.Context(), ref("a"), "", ""); return err },
		func() error {
			_, err := k.Store.RequestDeletion(k.Context(), controller.Deletion{Ref: ref("a")})
			return err
		},
	} {
		if err := check(); !errors.Is(err, controller.ErrNotFound) {
			k.Errorf("got error %v, want not found", err)
		}
	}
}

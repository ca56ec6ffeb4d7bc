package storetest

import (
	"strings"
	"time"

	"piworkflows/controller"
)

var sourceTests = []test{
	{"a delivery wakes its keys", deliveryWakes},
	{"a delivery comes once", deliveryOnce},
	{"a delivery tells what happened", deliveryTells},
	{"a cursor belongs to its source", deliveryCursor},
	{"what is told of sources is kept", sourcesKept},
	{"sources of a process that is gone are stopped", sourcesStopped},
	{"deliveries refuse what is over a limit", deliveryRefuses},
}

func (k *kit) deliver(d controller.Delivery) controller.DeliveryResult {
	k.Helper()
	if d.Source == "" {
		d.Source = "webhook"
	}
	got, err := k.Store.Deliver(k.Context(), name, d)
	k.must(err)
	return got
}

func (k *kit) cursor(controller, source string) string {
	k.Helper()
	c, err := k.Store.SourceCursor(k.Context(), controller, source)
	k.must(err)
	return c
}

func deliveryWakes(k *kit) {
	k.settle(k.started("a"))
	k.settle(k.started("b"))
	got := k.deliver(controller.Delivery{Keys: []string{"b", "never", "a", "b", "", "no\nkey"}})
	equal(k, "result", got, controller.DeliveryResult{Enqueued: 2, Unknown: 3})
	equal(k, "payload", k.lastEvent("a", controller.EventDelivered), map[string]any{"source": "webhook"})
	k.claim("a")
	c := k.claim("b")
	k.deliver(controller.Delivery{Keys: []string{"b"}})
	equal(k, "reason", k.settle(c).Reason, controller.ReasonEventDuringPass)
}

func deliveryOnce(k *kit) {
	k.settle(k.started("a"))
	d := controller.Delivery{ID: "d1", Cursor: "c1", Keys: []string{"a"}}
	equal(k, "first", k.deliver(d), controller.DeliveryResult{Enqueued: 1})
	k.settle(k.claim("a"))
	d.Cursor = "c2"
	k.quiet("a", func() { equal(k, "second", k.deliver(d), controller.DeliveryResult{Duplicate: true}) })
	k.wantNoClaim()
	equal(k, "cursor", k.cursor(name, "webhook"), "c1")
	d.Source = "other"
	equal(k, "of another source", k.deliver(d), controller.DeliveryResult{Enqueued: 1})
	d.ID = ""
	for range 2 {
		equal(k, "without an ID", k.deliver(d), controller.DeliveryResult{Enqueued: 1})
	}
}

func deliveryTells(k *kit) {
	k.settle(k.started("a"))
	k.deliver(controller.Delivery{ID: "d1", Note: strings.Repeat("ö", controller.MaxDeliveryNote+1), Keys: []string{"a"}})
	equal(k, "payload", k.lastEvent("a", controller.EventDelivered), map[string]any{
		"source": "webhook", "deliveryId": "d1", "note": strings.Repeat("ö", controller.MaxDeliveryNote-1) + "…",
	})
}

func deliveryCursor(k *kit) {
	equal(k, "at first", k.cursor(name, "webhook"), "")
	k.deliver(controller.Delivery{Cursor: "c1"})
	k.deliver(controller.Delivery{})
	equal(k, "kept", k.cursor(name, "webhook"), "c1")
	k.deliver(controller.Delivery{Cursor: "c2"})
	equal(k, "moved", k.cursor(name, "webhook"), "c2")
	equal(k, "of another source", k.cursor(name, "other"), "")
	equal(k, "of another controller", k.cursor("other", "webhook"), "")
}

func deliveryRefuses(k *kit) {
	k.settle(k.started("a"))
	keys := make([]string, controller.MaxDeliveryKeys+1)
	for i := range keys {
		keys[i] = "a"
	}
	k.quiet("a", func() {
		for _, d := range []controller.Delivery{
			{Source: "webhook", Keys: keys},
			{Source: "webhook", ID: strings.Repeat("x", 1<<20)},
			{Source: "webhook", Cursor: strings.Repeat("x", 1<<20)},
		} {
			_, err := k.Store.Deliver(k.Context(), name, d)
			wantKind[*controller.LimitError](k, err)
		}
		_, err := k.Store.Deliver(k.Context(), name, controller.Delivery{Source: "no spaces"})
		wantKind[*controller.NameError](k, err)
		_, err = k.Store.Deliver(k.Context(), "Upper", controller.Delivery{Source: "webhook"})
		wantKind[*controller.NameError](k, err)
	})
	k.wantNoClaim()
}

// someSource is what may be told of a source.
func someSource(source string) controller.SourceStatus {
	at := time.Date(2027, 1, 5, 8, 15, 0, 0, time.UTC)
	return controller.SourceStatus{
		SourceInfo: controller.SourceInfo{Controller: name, Source: source},
		State:      controller.SourceRestarting, Since: at, NextAt: &at,
		SourceCounters: controller.SourceCounters{
			Deliveries: 1, Duplicates: 2, Enqueued: 3, Unknown: 4, Refused: 5, Errors: 6, Restarts: 7,
		},
		LastSeenAt: &at, LastError: "it broke", LastErrorAt: &at, LastRefusal: "wrong signature", LastRefusalAt: &at,
	}
}

func (k *kit) recordSources(list ...controller.SourceStatus) {
	k.Helper()
	k.must(k.Store.RecordSources(k.Context(), list))
}

// sources are what is known of all sources, without the time at which it was told.
func (k *kit) sources() []controller.SourceStatus {
	k.Helper()
	list, err := k.Store.Sources(k.Context())
	k.must(err)
	for i := range list {
		if list[i].RecordedAt.IsZero() {
			k.Errorf("source %d was told at no time", i)
		}
		list[i].RecordedAt = time.Time{}
	}
	return list
}

func sourcesKept(k *kit) {
	equal(k, "at first", len(k.sources()), 0)
	a, b := someSource("a"), someSource("b")
	k.recordSources(b, a)
	b.State, b.Reason, b.NextAt = controller.SourceDegraded, "no watches left", nil
	b.Deliveries++
	k.recordSources(b)
	k.recordSources()
	equal(k, "sources", k.sources(), []controller.SourceStatus{a, b})
	equal(k, "of another project", len(k.peer("other").sources()), 0)
	b.Source = "no spaces"
	wantKind[*controller.NameError](k, k.Store.RecordSources(k.Context(), []controller.SourceStatus{a, b}))
	b.Source, b.Controller = "b", "Upper"
	wantKind[*controller.NameError](k, k.Store.RecordSources(k.Context(), []controller.SourceStatus{a, b}))
}

func sourcesStopped(k *kit) {
	a := someSource("a")
	s, err := k.harness.Open(k.Context(), k.place, Scope(""))
	k.must(err)
	k.must(s.RecordSources(k.Context(), []controller.SourceStatus{a}))
	equal(k, "while it lives", k.sources(), []controller.SourceStatus{a})
	k.must(s.Close())
	got := k.sources()
	if len(got) != 1 || got[0].State != controller.SourceStopped || got[0].NextAt != nil || got[0].SourceCounters != a.SourceCounters {
		k.Errorf("after its process: %+v", got)
	}
}

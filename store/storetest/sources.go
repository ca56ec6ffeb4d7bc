package storetest

import (
	"strings"

	"piworkflows/controller"
)

var sourceTests = []test{
	{"a delivery wakes its keys", deliveryWakes},
	{"a delivery comes once", deliveryOnce},
	{"a delivery tells what happened", deliveryTells},
	{"a cursor belongs to its source", deliveryCursor},
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

package storetest

import (
	"fmt"
	"strings"

	"piworkflows/controller"
)

var listTests = []test{
	{"list pages in order", listPages},
	{"list tells where keys stand", listQueue},
	{"list refuses what it cannot do", listRefuses},
	{"pages of large resources are short", listLarge},
	{"backlog counts", backlogCounts},
}

func listPages(k *kit) {
	for _, r := range []controller.Ref{{Controller: "b", Key: "a"}, {Controller: "a", Key: "b"}, {Controller: "a", Key: "B"},
		{Controller: "a-a", Key: "x/y"}, {Controller: "a", Key: "ü"}} {
		k.putOf(r, `{}`)
	}
	equal(k, "all", k.list("", 2), []string{"a/B", "a/b", "|", "a/ü", "a-a/x/y", "|", "b/a"})
	equal(k, "one controller", k.list("a", 2), []string{"a/B", "a/b", "|", "a/ü"})
	equal(k, "one page", k.list("b", 1), []string{"b/a"})
	equal(k, "nothing", len(k.list("c", 0)), 0)
}

// list reads all pages; a bar stands between two.
func (k *kit) list(name string, limit int) []string {
	k.Helper()
	var refs []string
	next := ""
	for {
		page, err := k.Store.List(k.Context(), controller.ListQuery{Controller: name, Limit: limit, Continue: next})
		k.must(err)
		for _, item := range page.Items {
			refs = append(refs, item.Resource.Metadata.Ref().String())
		}
		if next = page.Continue; next == "" {
			return refs
		}
		refs = append(refs, "|")
	}
}

func listQueue(k *kit) {
	k.settle(k.started("none"))
	k.started("claimed")
	k.finish(k.started("delayed"), failed("no", lasts))
	k.put("ready", `{}`)
	page, err := k.Store.List(k.Context(), controller.ListQuery{})
	k.must(err)
	var states []string
	for _, item := range page.Items {
		equal(k, "row", item.Queue, k.queue(item.Resource.Metadata.Key))
		states = append(states, string(item.Queue.State))
	}
	equal(k, "states", strings.Join(states, " "), "claimed delayed none ready")
}

func listRefuses(k *kit) {
	_, err := k.Store.List(k.Context(), controller.ListQuery{Limit: 1001})
	wantKind[*controller.LimitError](k, err)
	if _, err := k.Store.List(k.Context(), controller.ListQuery{Limit: -1}); err == nil {
		k.Error("a negative limit was accepted")
	}
	for _, next := range []string{"?", "YWJj", "Ly8"} {
		_, err = k.Store.List(k.Context(), controller.ListQuery{Continue: next})
		k.wantCode(err, "invalid_cursor")
	}
}

func listLarge(k *kit) {
	const count = 6
	for i := range count {
		k.put(fmt.Sprintf("%02d", i), string(text(controller.MaxSpecBytes)))
	}
	all := k.list("", 100)
	bars := strings.Count(strings.Join(all, ""), "|")
	equal(k, "resources", len(all)-bars, count)
	if bars == 0 {
		k.Error("6 MiB came as one page")
	}
}

func backlogCounts(k *kit) {
	k.started("claimed")
	expired := k.started("expired")
	k.finish(k.started("delayed"), failed("no", lasts))
	k.finish(k.started("later"), failed("no", 2*lasts))
	k.settle(k.started("none"))
	k.put("ready", `{}`)
	k.putOf(controller.Ref{Controller: "other", Key: "a"}, `{}`)
	b, err := k.Store.Backlog(k.Context(), []string{name})
	k.must(err)
	next := k.queue("delayed").AvailableAt
	b.Waiting = 0 // time may have passed
	equal(k, "backlog", b, controller.Backlog{Claimed: 2, Ready: 1, Delayed: 2, NextDue: next})
	k.Advance(lasts / 2)
	k.must(k.Store.Renew(k.Context(), expired, lasts))
	k.Advance(lasts / 2)
	b, err = k.Store.Backlog(k.Context(), []string{"other", name})
	k.must(err)
	if b.Waiting < lasts {
		k.Errorf("the oldest row waits for %s, want at least %s", b.Waiting, lasts)
	}
	b.Waiting = 0
	equal(k, "later backlog", b, controller.Backlog{Claimed: 1, Ready: 4, Delayed: 1, NextDue: k.queue("later").AvailableAt})
	b, err = k.Store.Backlog(k.Context(), nil)
	k.must(err)
	equal(k, "backlog of nobody", b, controller.Backlog{})
}

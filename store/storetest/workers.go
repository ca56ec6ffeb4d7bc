package storetest

import (
	"time"

	"piworkflows/lease"
	"piworkflows/runqueue"
)

var workersTests = []test{
	{"one process has the workers of a project", workersOne},
	{"who waits for the workers gets them when they are free", workersFreed},
	{"workers that were lost to nobody are still there", workersLate},
}

func (k *kit) claimWorkers(token lease.Token) runqueue.Workers {
	k.Helper()
	w, err := k.Runs.ClaimWorkers(k.Context(), token, lasts)
	k.must(err)
	return w
}

func workersOne(k *kit) {
	w, err := k.Runs.Workers(k.Context())
	k.must(err)
	equal(k, "nobody", w, runqueue.Workers{})
	first := k.claimWorkers("first")
	equal(k, "ours", first.Ours, true)
	if first.Holder == "" || first.Since.IsZero() {
		k.Errorf("claimed %+v, want who and since when", first)
	}
	k.Advance(time.Second)
	other := k.peer("")
	seen := other.claimWorkers("second")
	equal(k, "seen", seen, runqueue.Workers{Holder: first.Holder, Since: first.Since})
	w, err = other.Runs.Workers(k.Context())
	k.must(err)
	equal(k, "workers", w, seen)
	equal(k, "renewed", k.claimWorkers("first"), first)
	equal(k, "another project", k.peer("another project").claimWorkers("third").Ours, true)
	k.must(other.Runs.ReleaseWorkers(k.Context(), "second"))
	equal(k, "workers", k.claimWorkers("first"), first)
}

func workersFreed(k *kit) {
	other := k.peer("")
	for what, free := range map[string]func(){
		"released": func() { k.must(other.Runs.ReleaseWorkers(k.Context(), "first")) },
		"expired":  func() { k.Advance(lasts) },
	} {
		other.claimWorkers("first")
		w := k.start(k.Runs.WaitWorkers)
		w.pending()
		free()
		w.end()
		equal(k, what, k.claimWorkers("second").Ours, true)
		equal(k, what, other.claimWorkers("first").Ours, false)
		k.must(k.Runs.ReleaseWorkers(k.Context(), "second"))
	}
}

func workersLate(k *kit) {
	first := k.claimWorkers("first")
	k.Advance(2 * lasts)
	again := k.claimWorkers("first")
	equal(k, "workers", again, first)
}

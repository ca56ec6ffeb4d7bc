package storetest

import (
	"piworkflows/controller"
)

var definitionTests = []test{
	{"a definition that changed wakes its resources", definitionChanged},
	{"definitions are of their project", definitionsOfProject},
}

// definition is that of the controller of the tests.
func definition(digest string) controller.DefinitionRecord {
	return controller.DefinitionRecord{
		Kind: controller.KindController, Name: name, Place: "project", Source: "a.go", Digest: digest,
	}
}

func (k *kit) record(want int, list ...controller.DefinitionRecord) {
	k.Helper()
	woken, err := k.Store.RecordDefinitions(k.Context(), list)
	k.must(err)
	equal(k, "woken", woken, want)
}

func (k *kit) recorded() []controller.DefinitionRecord {
	k.Helper()
	list, err := k.Store.Definitions(k.Context())
	k.must(err)
	return list
}

func definitionChanged(k *kit) {
	k.settle(k.started("settled"))
	k.finish(k.started("delayed"), controller.Finish{After: lasts, Reason: controller.ReasonDelay})
	workflow := controller.DefinitionRecord{Kind: controller.KindWorkflow, Name: "w", Place: "built-in", Source: "go", Digest: "1"}
	k.record(0, definition("1"), workflow)
	first := k.recorded()
	if len(first) != 2 || first[0].LoadedAt.IsZero() || first[0].Kind != controller.KindController {
		k.Fatalf("recorded %+v", first)
	}
	k.wantNoClaim()
	k.Advance(lasts / 2)
	k.record(0, definition("1"), workflow) // nothing new
	equal(k, "recorded again", k.recorded(), first)

	moved := definition("1")
	moved.Place = "global"
	k.record(0, moved, workflow) // the same in another place
	equal(k, "loaded at", k.recorded()[0].LoadedAt, first[0].LoadedAt)

	k.record(2, definition("2"))
	c := k.claim("delayed") // its row was there before
	equal(k, "lane", k.queue("settled").Lane, controller.LaneBackground)
	k.settle(c)
	k.settle(k.claim("settled"))
	k.wantNoClaim()
	if again := k.recorded(); len(again) != 1 || !again[0].LoadedAt.After(first[0].LoadedAt) {
		k.Errorf("recorded %+v", again)
	}
	var told []controller.EventType
	for _, e := range k.events(controller.EventQuery{Limit: 1000}) {
		if e.Ref == (controller.Ref{}) {
			told = append(told, e.Type)
		}
	}
	equal(k, "events of the project", told, []controller.EventType{
		controller.EventDefinitionLoaded, controller.EventDefinitionLoaded, controller.EventDefinitionLoaded,
		controller.EventDefinitionLoaded, controller.EventDefinitionRemoved,
	})
}

func definitionsOfProject(k *kit) {
	k.settle(k.started("a"))
	k.record(0, definition("1"))
	_, err := k.peer("other").Store.RecordDefinitions(k.Context(), []controller.DefinitionRecord{definition("2")})
	k.must(err)
	k.wantNoClaim()
	equal(k, "digest", k.recorded()[0].Digest, "1")
}

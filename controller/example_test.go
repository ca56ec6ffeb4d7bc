package controller_test

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
)

type lampSpec struct {
	On bool `json:"on"`
}

type lampStatus struct {
	Seen bool `json:"seen"`
}

// lamp keeps a lamp as its spec says.
type lamp struct{}

func (lamp) Reconcile(
	_ context.Context, _ *controller.Pass, r controller.Resource[lampSpec, lampStatus],
) (controller.Result[lampStatus], error) {
	return controller.Settled(controller.Patch[lampStatus]{
		ControllerStatus: &lampStatus{Seen: r.Spec.On},
		Conditions:       []controller.Condition{controller.ConditionTrue(controller.Ready, "AsRequested", "")},
	}), nil
}

func ExampleDefine() {
	definition := controller.Define("lamp", lamp{})
	fmt.Println(definition.ValidateSpec(json.RawMessage(`{"on": true}`)))
	fmt.Println(definition.ValidateSpec(json.RawMessage(`{"on": true, "colour": "red"}`)))
	// Output:
	// <nil>
	// invalid spec for controller lamp: /colour: unknown field; remove it or correct its name (names are case-sensitive)
}

package fswatch_test

import (
	"context"
	"fmt"
	"strings"

	"piworkflows/controller"
	"piworkflows/source/fswatch"
)

// fswatch:declare

// noteKeys maps NAME.md to the key NAME.
func noteKeys(path string) []string {
	if name, isNote := strings.CutSuffix(path, ".md"); isNote {
		return []string{name}
	}
	return nil
}

func notes(folder string) controller.Option {
	return controller.WithSources(fswatch.New("notes", fswatch.Options{
		Root:   folder,
		Ignore: []string{"*.tmp", "drafts"},
		Keys:   noteKeys,
	}))
}

// fswatch:end

type none struct{}

// settled has nothing to do.
type settled struct{}

func (settled) Reconcile(context.Context, *controller.Pass, controller.Resource[none, none]) (controller.Result[none], error) {
	return controller.Settled(controller.Patch[none]{}), nil
}

// A definition with the source of the document is accepted.
func ExampleNew() {
	_, err := controller.NewRegistry(controller.Define("note", settled{}, notes("/srv/notes")))
	fmt.Println(err)
	_, err = controller.NewRegistry(controller.Define("note", settled{}, notes("notes")))
	fmt.Println(err)
	// Output:
	// <nil>
	// controller "note": source "notes": the Root "notes" is no absolute path
}

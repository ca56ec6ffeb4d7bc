package resources_test

import (
	"context"
	"fmt"

	"piworkflows/controller"
	"piworkflows/source/resources"
)

// resources:declare

// image is built from a repository, which is a resource of another controller.
type image struct {
	Repository string `json:"repository"`
}

// whenCloned wakes the images of a repository whenever that is ready anew.
func whenCloned() controller.Option {
	fromIt := resources.Referring(func(spec image, changed controller.Ref) bool {
		return spec.Repository == changed.Key
	})
	return controller.WithSources(resources.New("repositories", resources.Options{
		Controller: "repository",
		Keys:       resources.Ready(fromIt),
	}))
}

// resources:end

// images is a controller that does nothing.
type images struct{}

func (images) Reconcile(
	context.Context, *controller.Pass, controller.Resource[image, struct{}],
) (controller.Result[struct{}], error) {
	return controller.Settled(controller.Patch[struct{}]{}), nil
}

// A definition with the source of the document is accepted; one that follows
// itself is not.
func ExampleNew() {
	_, err := controller.NewRegistry(controller.Define("image", images{}, whenCloned()))
	fmt.Println(err)
	_, err = controller.NewRegistry(controller.Define("repository", images{}, whenCloned()))
	fmt.Println(err)
	// Output:
	// <nil>
	// controller "repository": source "repositories": repository would follow itself, and every pass would wake the next: a change of its spec wakes a resource anyway, and RequeueAfter asks for another pass
}

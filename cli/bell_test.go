package cli

import (
	"context"
	"errors"
	"net"
	"os"

	"piworkflows/controller"
	"piworkflows/host"
)

// bell is a source that rings once, and then tells the test that it did.
type bell struct{}

func (bell) Name() string { return "bell" }

func (bell) Run(ctx context.Context, in controller.Intake) error {
	_, err := in.Deliver(ctx, controller.Delivery{ID: "1", Keys: []string{"one", "nobody"}, Note: "somebody rang"})
	if err != nil {
		return err
	}
	in.Refused("a second ring")
	in.Failed(errors.New("the bell slipped"))
	in.Degraded("the bell is hoarse")
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", os.Getenv(callbackEnv))
	if err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// ringingDefinitions are those of the tests, with a bell.
func ringingDefinitions() host.Definitions {
	return host.Definitions{Controllers: []*controller.Definition{
		controller.Define("echo", echo{}, controller.WithSources(bell{})),
	}}
}

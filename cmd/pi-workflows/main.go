// Command pi-workflows is the command line with the built-in definitions.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"piworkflows/builtin/gitmerge"
	"piworkflows/cli"
	"piworkflows/controller"
	"piworkflows/demo"
	"piworkflows/host"
	"piworkflows/workflow"
)

// version is set by the build: -ldflags '-X main.version=v1.2.3'.
var version = "dev"

func main() {
	os.Exit(cli.Main(cli.Options{
		Definitions:   builtins(),
		ExtraCommands: func(app *cli.App) []*cobra.Command { return []*cobra.Command{demo.Command(app)} },
		Version:       version,
	}))
}

// builtins are the definitions inside the binary.
func builtins() host.Definitions {
	return host.Definitions{
		Controllers: []*controller.Definition{gitmerge.Controller(gitmerge.Options{})},
		Workflows:   []*workflow.Definition{gitmerge.VerifyBranch(gitmerge.Options{})},
	}
}

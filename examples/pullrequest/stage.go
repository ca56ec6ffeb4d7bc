package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/examples/pullrequest/forge"
	"piworkflows/examples/pullrequest/provider"
	"piworkflows/host"
	"piworkflows/secret"
	"piworkflows/store/sqlite"
	"piworkflows/workflow"
)

// repository is where the story takes place.
const repository = "octo/house"

// stage is what the story needs: a forge, and a host that works for it.
type stage struct {
	out        io.Writer
	forge      *forge.Server
	definition *controller.Definition
	store      *sqlite.Store
	host       *host.Host
}

// secrets are the credentials of the story: in files, as those of a real host.
type secrets struct{ token, hook secret.Ref }

// makeSecrets makes up both, and returns their values for the forge.
func makeSecrets(folder string) (refs secrets, token, hook string, err error) {
	token, hook = rand.Text(), rand.Text()
	refs.token, err = keepSecret(folder, "token", token)
	if err == nil {
		refs.hook, err = keepSecret(folder, "webhook", hook)
	}
	return refs, token, hook, err
}

func keepSecret(folder, name, value string) (secret.Ref, error) {
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
		return secret.Ref{}, fmt.Errorf("keep a secret: %w", err)
	}
	return secret.Parse("file:" + path)
}

// build makes everything in a folder, with the forge first.
func build(ctx context.Context, out io.Writer, folder string, log *slog.Logger) (s *stage, err error) {
	refs, token, hook, err := makeSecrets(folder)
	if err != nil {
		return nil, err
	}
	s = &stage{out: out, forge: forge.New(token, hook)}
	github := provider.GitHub{API: s.forge.URL(), Token: refs.token}
	s.definition = definition(github, provider.Webhook(refs.hook), github.Poll(time.Second, repository))
	if err := s.open(ctx, folder, log); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.forge.Deliver("http://" + s.host.Addr() + host.HookPath(name, "github"))
	return s, nil
}

// open opens the store and makes the host.
func (s *stage) open(ctx context.Context, folder string, log *slog.Logger) error {
	catalog, err := host.Definitions{
		Controllers: []*controller.Definition{s.definition},
		Workflows:   []*workflow.Definition{reviewWorkflow, repairWorkflow},
	}.Compile()
	if err != nil {
		return err
	}
	paths, err := host.Locate(host.Places{
		Project: folder, Store: filepath.Join(folder, "store", "store.sqlite"), Runs: filepath.Join(folder, "runs"),
	})
	if err != nil {
		return err
	}
	if s.store, err = host.OpenStore(ctx, paths, clock.System(), log); err != nil {
		return err
	}
	s.host, err = host.New(ctx, host.Options{
		Paths: paths, Catalog: catalog, Agents: canned{}, Listen: host.Listen{Addr: "127.0.0.1:0"}, Logger: log,
	}, s.store)
	return err
}

func (s *stage) close() (err error) {
	s.forge.Close()
	if s.host != nil {
		err = s.host.Close()
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

// tell plays the story: the host works while the scenes are played.
func tell(ctx context.Context, out io.Writer, folder string, log *slog.Logger) (err error) {
	s, err := build(ctx, out, folder, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.host.Run(working) }()
	err = s.play(ctx)
	stop()
	return errors.Join(err, <-ended)
}

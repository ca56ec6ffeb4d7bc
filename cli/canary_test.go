package cli_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"piworkflows/cli"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/secret"
	"piworkflows/workflow"
)

// canary is a secret that a careless controller and a careless workflow put
// wherever they can. It is found by its ends in every form.
const canary = `c4nary&"beak"/<wing>+tail=/feather s0ng`

// canaryForms are what must be nowhere.
func canaryForms(t *testing.T) map[string]string {
	t.Helper()
	quoted, err := json.Marshal(canary)
	if err != nil {
		t.Fatal(err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("me:" + canary))
	return map[string]string{
		"plain, begin": "c4nary&", "plain, end": "feather s0ng", "JSON": string(quoted[1 : len(quoted)-1]),
		"query": url.QueryEscape(canary), "path": url.PathEscape(canary),
		"base64":       base64.RawStdEncoding.EncodeToString([]byte(canary))[:20],
		"base64 URL":   base64.RawURLEncoding.EncodeToString([]byte(canary))[:20],
		"basic, begin": basic[4:20], "basic, end": basic[len(basic)-20 : len(basic)-4],
	}
}

// careless has definitions that give a secret away.
type careless struct {
	t   *testing.T
	ref secret.Ref
	dir string

	mu   sync.Mutex
	hits map[string]bool // where the mask was found while the run went on
}

// song is everything that a secret can look like, on two lines.
func (c *careless) song(ctx context.Context) (string, error) {
	value, err := c.ref.Resolve(ctx)
	return value + "\nhttps://me:" + url.QueryEscape(value) + "@host/" + url.PathEscape(value) + " Basic " +
		base64.StdEncoding.EncodeToString([]byte("me:"+value)) + " " + base64.URLEncoding.EncodeToString([]byte(value)), err
}

func (c *careless) workflow() *workflow.Definition {
	sing := func(ctx context.Context, _ *workflow.Context) (any, error) {
		text, err := c.song(ctx)
		return map[string]string{"song": text, "long": strings.Repeat("la ", 2000) + text}, err
	}
	return &workflow.Definition{
		Name: "sing", Revision: "1", StartAt: "sing",
		Title: func(ctx context.Context, _ json.RawMessage) (string, error) { return c.song(ctx) },
		Nodes: []workflow.Node{
			workflow.Compute{ID: "sing", Run: sing},
			workflow.Action{ID: "publish", Run: func(ctx context.Context, n *workflow.Context) (any, error) {
				text, err := c.song(ctx)
				if err != nil {
					return nil, err
				}
				data, err := json.Marshal(map[string]string{"song": text})
				if err != nil {
					return nil, err
				}
				_, err = n.Publish(ctx, workflow.Update{Type: "song", Key: "k", Data: data})
				return nil, err
			}},
			workflow.Shell{ID: "echo", Exec: func(ctx context.Context, _ *workflow.Context) (workflow.Command, error) {
				text, err := c.song(ctx)
				return workflow.Command{Command: "cat; cat >&2 <<E\n$SONG\nE\nprintf '%.9s' \"$SONG\"; printf '%s' \"${SONG#?????????}\"",
					Shell: "sh", Stdin: text, Env: map[string]*string{"SONG": &text}}, err
			}},
			workflow.Compute{ID: "search", Run: func(context.Context, *workflow.Context) (any, error) {
				c.search(c.dir) // the spool and the log of the store are there while the run goes on
				return nil, nil
			}},
			workflow.Shell{ID: "fail", Exec: func(ctx context.Context, _ *workflow.Context) (workflow.Command, error) {
				text, err := c.song(ctx)
				return workflow.Command{Command: "sh", Args: []string{"-c", `echo "$1" >&2; exit 3`, "sh", text}}, err
			}},
		},
		Edges: []workflow.Edge{
			{From: "sing", To: "publish"},
			{From: "publish", To: "echo"},
			{From: "echo", To: "search"},
			{From: "search", To: "fail"},
		},
	}
}

type birdSpec struct {
	Token secret.Ref `json:"token"`
}

type birdStatus struct {
	Song string `json:"song"`
}

// Reconcile implements controller.Reconciler.
func (c *careless) Reconcile(
	ctx context.Context, p *controller.Pass, r controller.Resource[birdSpec, birdStatus],
) (controller.Result[birdStatus], error) {
	text, err := c.song(ctx)
	if err != nil {
		return controller.Result[birdStatus]{}, err
	}
	p.Log.Info("singing "+text, "song", text, "error", errors.New(text)) //nolint:sloglint // carelessly
	child, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "k", Workflow: "sing", Input: 1})
	if err != nil {
		return controller.Result[birdStatus]{}, err
	}
	_, leak := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "leak", Workflow: "sing", Input: text})
	if !errors.As(leak, new(*secret.LeakError)) {
		c.t.Errorf("a child run with a secret as its input: %v, want a LeakError", leak)
	}
	record, err := p.Effects.Ensure(ctx, controller.Effect{
		Key: "e", Kind: "sing", Request: text,
		Observe: func(context.Context) (controller.Observation, error) {
			return controller.Observation{State: controller.ObservedApplied, ExternalRef: text}, nil
		},
		Apply: func(context.Context, string) (controller.Application, error) {
			return controller.Application{}, errors.New(text)
		},
	})
	if err != nil || child.State != controller.RunFailed || record.State != controller.EffectApplied {
		return controller.Result[birdStatus]{}, errors.Join(errors.New("not yet: "+text), err)
	}
	return controller.Settled(controller.Patch[birdStatus]{
		ControllerStatus: &birdStatus{Song: text},
		Conditions:       []controller.Condition{controller.ConditionFalse(controller.Ready, "Sang", text)},
	}), nil
}

// search looks for the canary in everything below a folder.
func (c *careless) search(dir string) {
	c.t.Helper()
	forms := canaryForms(c.t)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "token" {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // projections are replaced while we look
		}
		c.look(path, text, forms)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Error(err)
	}
}

func (c *careless) look(where string, text []byte, forms map[string]string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, form := range forms {
		if at := bytes.Index(text, []byte(form)); at >= 0 {
			c.t.Errorf("%s has the secret (%s): …%.200q", where, name, text[max(0, at-60):])
		}
	}
	if bytes.Contains(text, []byte(secret.Mask)) {
		c.hits[filepath.Ext(where)] = true
	}
}

// The canary: nothing that a program stores or shows has a secret that it
// resolved, whatever its controllers and workflows do with it.
func TestASecretIsNowhere(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	c := &careless{t: t, dir: t.TempDir(), hits: map[string]bool{}}
	token := filepath.Join(c.dir, "token")
	if err := os.WriteFile(token, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.ref, err = secret.Parse("file:" + token); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(c.dir, "store", "bird.sqlite")
	do := func(want int, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		app := cli.New(cli.Options{
			Stdout: &stdout, Stderr: &stderr, Actor: "ada@engine", Definitions: host.Definitions{
				Controllers: []*controller.Definition{controller.Define("bird", c)}, Workflows: []*workflow.Definition{c.workflow()},
			},
		})
		args = append(args, "--project", c.dir, "--store", store, "--runs", filepath.Join(c.dir, "runs"))
		if code := app.Execute(t.Context(), args); code != want {
			t.Errorf("%v ended with %d, want %d: %s", args[:2], code, want, stderr.String())
		}
		c.look(args[0]+".stdout", stdout.Bytes(), canaryForms(t))
		c.look(args[0]+".stderr", stderr.Bytes(), canaryForms(t))
	}
	do(0, "apply", "bird", "b", "--spec", `{"token":"`+c.ref.String()+`"}`)
	do(1, "run", "sing", "--input", "1", "-v", "-o", "json")
	do(2, "apply", "bird", "raw", "--spec", `{"token":`+quote(t, canary)+`}`, "-o", "json")
	do(2, "apply", "bird", "late", "--spec", `{"token":"`+c.ref.String()+`","x":`+quote(t, canary)+`}`, "-o", "json")
	do(0, "host", "--once", "-v", "--log-format", "json")
	c.search(c.dir)
	for _, args := range [][]string{
		{"controller", "bird", "b"}, {"controllers", "bird"}, {"events", "--limit", "1000"}, {"effects", "bird", "b"},
		{"explain", "bird", "b"}, {"runs"},
	} {
		do(0, args...)
		do(0, append(args, "-o", "json")...)
	}
	for _, kind := range []string{".sqlite", ".sqlite-wal", ".ndjson", ".json", ".txt", ".stdout", ".stderr"} {
		if !c.hits[kind] {
			t.Errorf("the secret never came near %s, so that this test proves nothing of it: %v", kind, c.hits)
		}
	}
}

func quote(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/workflow"
)

// spooled returns what lies in the spool of the run now, as node, stream and
// text.
func (r *rig) spooled() []string {
	r.t.Helper()
	reader, err := spool.NewReader(r.options.SpoolDir, r.start.RunID)
	if err != nil {
		r.t.Fatal(err)
	}
	defer reader.Close()
	var list []string
	if err := reader.Next(func(p spool.Piece) error {
		if p.Dropped {
			p.Stream = "dropped"
		}
		list = append(list, p.NodeID+" "+p.Stream+" "+p.Text)
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return list
}

func spoolingRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.options.SpoolDir = filepath.Join(t.TempDir(), "spool")
	return r
}

func (r *rig) nothingIsSpooled() {
	r.t.Helper()
	if entries, err := os.ReadDir(r.options.SpoolDir); err != nil && !os.IsNotExist(err) || len(entries) > 0 {
		r.t.Errorf("spool %v %v", entries, err)
	}
}

// A line that is being parsed is in the spool already.
func TestOutputIsSpooledWhileItsCommandRuns(t *testing.T) {
	t.Parallel()
	r := spoolingRig(t)
	var lines []string
	hear := hears(&lines)
	texts := map[string]string{}
	parse := func(ctx context.Context, c *workflow.Context, line workflow.Line) ([]workflow.Update, error) {
		if _, err := hear(ctx, c, line); err != nil || len(lines) < 3 {
			return nil, err
		}
		for _, piece := range r.spooled() {
			parts := strings.SplitN(piece, " ", 3)
			texts[parts[0]+" "+parts[1]] += parts[2]
		}
		return nil, nil
	}
	result, _ := r.run(flow(streams(sh(`echo one; echo err >&2; echo two`), parse, workflow.Stdout, workflow.Stderr)))
	r.want(result, runbundle.Completed, "", "")
	if diff := cmp.Diff(map[string]string{"a stdout": "one\ntwo\n", "a stderr": "err\n"}, texts); diff != "" {
		t.Error(diff)
	}
	r.nothingIsSpooled()
}

func TestOutputOfAnAgentIsSpooled(t *testing.T) {
	t.Parallel()
	r := spoolingRig(t)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		fmt.Fprint(q.Output, "thinking")
		if diff := cmp.Diff([]string{"a stdout hello\n", "ask agent thinking"}, r.spooled()); diff != "" {
			t.Error(diff)
		}
		return nil, q.Accept(ctx, raw("1"))
	})
	result, _ := r.run(flow(shell(sh("echo hello")), asks(nil)))
	r.want(result, runbundle.Completed, "", "")
	r.nothingIsSpooled()
}

// Who runs it can hear what it prints, without a spool.
func TestOutputIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var told []string
	r.options.Printed = func(run string, p spool.Piece) {
		told = append(told, strings.Join([]string{run, p.NodeID, p.Stream, p.Text}, " "))
	}
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		fmt.Fprint(q.Output, "thinking")
		return nil, q.Accept(ctx, raw("1"))
	})
	r.run(flow(shell(sh("echo hello")), asks(nil)))
	if diff := cmp.Diff([]string{runID + " a stdout hello\n", runID + " ask agent thinking"}, told); diff != "" {
		t.Error(diff)
	}
}

// However a run leaves this process, its spool goes with it.
func TestSpoolGoesWithTheRun(t *testing.T) {
	t.Parallel()
	ends := map[string]func(run *engine.Run){
		"cancel":    func(run *engine.Run) { run.Cancel() },
		"interrupt": func(run *engine.Run) { run.Interrupt("stop") },
		"park":      func(run *engine.Run) { run.Park() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := spoolingRig(t)
			node := streams(sh("echo hello; sleep 1000"), func(context.Context, *workflow.Context, workflow.Line) ([]workflow.Update, error) {
				run := <-r.begun
				r.begun <- run
				if len(r.spooled()) != 1 {
					t.Errorf("spooled %v", r.spooled())
				}
				end(run)
				return nil, nil
			})
			r.begin(flow(node)).Wait()
			r.nothingIsSpooled()
		})
	}
}

func TestSpoolOfADeadOwnerGoesWhenTheRunIsResumed(t *testing.T) {
	t.Parallel()
	r := spoolingRig(t)
	d := flow(compute("first", gives(1, nil)), compute("second", func(context.Context, *workflow.Context) (any, error) {
		return nil, nil
	}))
	r.at(runbundle.EventNodeFinished, 1, func(run *engine.Run) { run.Park() })
	r.begin(d).Wait()
	<-r.begun
	left := filepath.Join(r.options.SpoolDir, runID)
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	d.Nodes[1] = compute("second", func(context.Context, *workflow.Context) (any, error) {
		_, err := os.Stat(left)
		if err == nil {
			t.Error("it is there while the run goes on")
		}
		return nil, nil
	})
	r.finish(r.resume(d))
	r.nothingIsSpooled()
}

func TestSpoolIsBounded(t *testing.T) {
	t.Parallel()
	r := spoolingRig(t)
	r.options.SpoolBytes = 1000
	result, _ := r.run(flow(shell(sh("yes | head -c 100000; echo end >&2")), compute("look", func(context.Context, *workflow.Context) (any, error) {
		if diff := cmp.Diff([]string{"a dropped "}, r.spooled()[max(0, len(r.spooled())-1):]); diff != "" {
			t.Error(diff)
		}
		return nil, nil
	})))
	r.want(result, runbundle.Completed, "", "")
}

// A disk on which nothing can be spooled keeps no run from working.
func TestSpoolThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := spoolingRig(t)
	r.options.FS = durable.WithHook(func(_ durable.Op, path string) error {
		if strings.HasPrefix(path, r.options.SpoolDir) {
			return errFull
		}
		return nil
	})
	result, _ := r.run(flow(shell(sh("echo hello; echo more"))))
	r.want(result, runbundle.Completed, "", "")
	if !strings.Contains(string(result.FinalOutput), `"stdout":"hello\nmore\n"`) {
		t.Errorf("output %s", result.FinalOutput)
	}
}

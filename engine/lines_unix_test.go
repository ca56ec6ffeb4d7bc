//go:build unix

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

type parser = func(ctx context.Context, c *workflow.Context, line workflow.Line) ([]workflow.Update, error)

// streams is a shell action whose lines are parsed.
func streams(c workflow.Command, parse parser, from ...workflow.Stream) workflow.Shell {
	n := shell(c)
	n.Updates = &workflow.LineUpdates{Parse: parse, Streams: from}
	return n
}

// hears keeps the lines that it is given, and publishes nothing.
func hears(lines *[]string) parser {
	return func(_ context.Context, _ *workflow.Context, line workflow.Line) ([]workflow.Update, error) {
		*lines = append(*lines, string(line.Stream[3:])+":"+line.Text)
		return nil, nil
	}
}

func TestLinesOfACommand(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", workflow.MaxLineBytes)
	both := []workflow.Stream{workflow.Stdout, workflow.Stderr}
	tests := []struct {
		name, script string
		from         []workflow.Stream
		want         []string
	}{
		{"nothing", `exit 0`, nil, nil},
		{"lines", `printf 'a\nb c\n'`, nil, []string{"out:a", "out:b c"}},
		{"blank lines", `printf '\n\na\n\n'`, nil, []string{"out:", "out:", "out:a", "out:"}},
		{"carriage return", `printf 'a\r\nb\r\r\nc\rd\n\r\ne\r'`, nil, []string{"out:a", "out:b\r", "out:c\rd", "out:", "out:e"}},
		{"last line has no end", `printf 'a\nb'`, nil, []string{"out:a", "out:b"}},
		{"stdout alone", `echo a; echo b >&2; echo c`, nil, []string{"out:a", "out:c"}},
		{"stderr alone", `echo a; echo b >&2; printf c >&2`, []workflow.Stream{workflow.Stderr}, []string{"err:b", "err:c"}},
		{"open lines of both", `printf b >&2; printf a`, both, []string{"out:a", "err:b"}},
		{"byte order mark", `printf '\357\273\277a\n\357\273\277b\n'`, nil, []string{"out:a", "out:\uFEFFb"}},
		{"characters of several bytes", `printf 'h\303'; sleep 0; printf '\251\n'`, nil, []string{"out:hé"}},
		{"longest line", `awk 'BEGIN { for (i = 0; i < 65536; i++) x = x "x"; printf "%s\n%s", x, x }'`, nil, []string{"out:" + long, "out:" + long}},
		{"command that fails", `echo a; printf b; exit 3`, nil, []string{"out:a", "out:b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			command := sh(test.script)
			command.AllowFailure = true
			r := newRig(t)
			result, _ := r.run(flow(streams(command, hears(&got), test.from...)))
			r.want(result, runbundle.Completed, "", "")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A command that waits for what its reader makes of each line tells the order
// across both streams.
func TestLinesAreTakenInTheOrderOfBothStreams(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "go on")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	word, err := os.OpenFile(fifo, os.O_RDWR, 0) // for both, so that no open waits
	if err != nil {
		t.Fatal(err)
	}
	defer word.Close()
	script := `for i in 1 2 3 4; do
		if [ $((i % 2)) = 1 ]; then echo $i; else echo $i >&2; fi
		read line < "$1"
	done`
	var got []string
	hear := hears(&got)
	r := newRig(t)
	result, _ := r.run(flow(streams(sh(script, fifo), func(ctx context.Context, c *workflow.Context, line workflow.Line) ([]workflow.Update, error) {
		_, err := hear(ctx, c, line)
		_, failed := word.WriteString("\n")
		return nil, errors.Join(err, failed)
	}, workflow.Stdout, workflow.Stderr)))
	r.want(result, runbundle.Completed, "", "")
	if diff := cmp.Diff([]string{"out:1", "err:2", "out:3", "err:4"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLinesBecomeUpdates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	node := streams(sh(`echo 1; echo 2; echo 3`), func(ctx context.Context, c *workflow.Context, line workflow.Line) ([]workflow.Update, error) {
		switch line.Text {
		case "1":
			return []workflow.Update{note("a", 1), note("b", 1)}, nil
		case "2":
			_, err := c.Publish(ctx, note("c", 2))
			return nil, err
		default:
			return []workflow.Update{note("a", 3)}, nil
		}
	})
	node.Parse = func(ctx context.Context, c *workflow.Context, _ workflow.CommandResult) (any, error) {
		_, err := c.Publish(ctx, note("a", 4))
		wantErr[*workflow.NotPublishingError](t, err)
		return "parsed", nil
	}
	result, b := r.run(flow(node))
	r.want(result, runbundle.Completed, "", "")
	if diff := cmp.Diff([]string{`4 note b {"n":1}`, `5 note c {"n":2}`, `6 note a {"n":3}`}, shown(b)); diff != "" {
		t.Error(diff)
	}
	if string(result.FinalOutput) != `"parsed"` {
		t.Errorf("output %s", result.FinalOutput)
	}
}

// Whatever is wrong with a line, nothing of the command is left, its receipt is
// there, and the node fails with that error.
func TestLineThatEndsItsCommand(t *testing.T) {
	t.Parallel()
	publishes := func(u ...workflow.Update) parser {
		return func(context.Context, *workflow.Context, workflow.Line) ([]workflow.Update, error) { return u, nil }
	}
	many := slices.Repeat([]workflow.Update{note("a", 1)}, 101)
	long := `awk 'BEGIN { for (i = 0; i < 65537; i++) x = x "x"; printf "%s", x }'`
	tests := []struct {
		name, output  string
		parse         parser
		stream        workflow.Stream
		line          int
		code, message string
	}{
		{"too long", `echo a; ` + long, publishes(), "stdout", 2, "limit_exceeded", "over the limit of 65536"},
		{"too long where nobody parses", long + ` >&2`, publishes(), "stderr", 1, "limit_exceeded", "line 1 of stderr"},
		{"not UTF-8", `echo a; printf 'b\377\n'`, publishes(), "stdout", 2, "output_line", "not UTF-8"},
		{"not UTF-8 where nobody parses", `printf '\303\n' >&2`, publishes(), "stderr", 1, "output_line", "not UTF-8"},
		{"parser fails", `echo a`, func(context.Context, *workflow.Context, workflow.Line) ([]workflow.Update, error) {
			return []workflow.Update{note("a", 1)}, errors.New("what is this?")
		}, "stdout", 1, "output_line", "line 1 of stdout: what is this?"},
		{"parser panics", `echo a`, func(context.Context, *workflow.Context, workflow.Line) ([]workflow.Update, error) {
			panic("ouch")
		}, "stdout", 1, "callback_panicked", "ouch"},
		{"update refused", `echo a`, publishes(note("no key", 1)), "stdout", 1, "invalid_update", "key"},
		{"too many updates", `echo a`, publishes(many...), "stdout", 1, "update_rate", "more than 20 updates a second"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			command, pids := family(t)
			command.Args[1] = strings.Replace(command.Args[1], "; wait", "; "+test.output+"; wait", 1)
			started := make(chan []int, 1)
			go func() { started <- pids() }()
			r := newRig(t)
			r.start.Observe = func(e runbundle.Event, v workflow.View) {
				r.observe(e, v)
				if e.Type == runbundle.EventNodeFailed {
					gone(t, <-started)
				}
			}
			result, b := r.run(flow(streams(command, test.parse)))
			r.want(result, runbundle.Failed, test.code, test.message)
			if want := fmt.Sprintf("line %d of %s", test.line, test.stream); !strings.Contains(result.Error, want) {
				t.Errorf("error %q, want %q in it", result.Error, want)
			}
			if got := receipt(b.State.Steps[0]); got != "- SIGTERM" && got != "- SIGKILL" {
				t.Errorf("receipt %q", got)
			}
		})
	}
}

func TestLastLineThatCannotBeParsed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	result, b := r.run(flow(streams(sh(`printf 'a\377'`), hears(new([]string)))))
	r.want(result, runbundle.Failed, "output_line", "line 1 of stdout")
	if got := receipt(b.State.Steps[0]); got != "0 -" {
		t.Errorf("receipt %q", got)
	}
}

// A command cannot run ahead of its reader further than a pipe is long.
func TestCommandWaitsForItsReader(t *testing.T) {
	t.Parallel()
	done := filepath.Join(t.TempDir(), "done")
	r := newRig(t)
	seen := 0
	command := sh(`yes 0123456789 | head -n 50000; touch "$1"`, done)
	command.MaxOutput = 1
	result, _ := r.run(flow(streams(command,
		func(context.Context, *workflow.Context, workflow.Line) ([]workflow.Update, error) {
			if seen++; seen <= 1000 {
				if _, err := os.Stat(done); err == nil {
					return nil, fmt.Errorf("the command was done at line %d", seen)
				}
			}
			return nil, nil
		})))
	r.want(result, runbundle.Completed, "", "")
	if seen != 50_000 {
		t.Errorf("%d lines", seen)
	}
}

// The deadline ends a command in the middle of its lines; what was not parsed
// then is not parsed later.
func TestDeadlineWhileALineIsParsed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parsed := 0
	node := streams(sh(`echo 1; printf 2; sleep 1000`), func(ctx context.Context, _ *workflow.Context, _ workflow.Line) ([]workflow.Update, error) {
		parsed++
		r.clock.Advance(time.Minute)
		<-ctx.Done()
		return []workflow.Update{note("a", 1)}, nil
	})
	node.Timeout = time.Minute
	result, b := r.run(flow(node))
	r.want(result, runbundle.TimedOut, engine.CodeTimeout, "timed out after 60000 ms")
	if parsed != 1 || len(shown(b)) != 0 {
		t.Errorf("%d lines were parsed, updates %v", parsed, shown(b))
	}
}

func TestLineErrorKeepsItsCause(t *testing.T) {
	t.Parallel()
	err := error(&engine.LineError{Stream: workflow.Stderr, Line: 3, Err: &limit.Error{What: "x", Limit: 1, Size: 2, Unit: "bytes"}})
	if wantErr[*limit.Error](t, err).Limit != 1 {
		t.Error(err)
	}
}

package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"piworkflows/agent"
	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

func ask(in io.Reader, out io.Writer) *agent.Ask {
	return agent.NewAsk(agent.AskOptions{In: in, Out: out})
}

// The whole of what a person sees: a question, a rejection, the next question.
func TestAskTranscript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var out bytes.Buffer
	in := strings.NewReader("none " + strings.Repeat("x", 300) + "\n\n 3 \n{\"route\": \"no\",\n  \"reason\": \"all gone\"}\n")
	result := w.run(count(), agent.NewAsk(agent.AskOptions{In: in, Out: &out, Echo: true}))
	want(t, result, runbundle.Completed, "", "")
	if string(result.FinalOutput) != "3" {
		t.Errorf("output %s", result.FinalOutput)
	}
	golden, err := os.ReadFile("testdata/ask.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), out.String()); diff != "" {
		t.Errorf("testdata/ask.txt differs (-want +got):\n%s", diff)
	}
}

// answers collects what a person hands in, and accepts nothing.
type answers struct {
	mu   sync.Mutex
	list []string
}

func (a *answers) accept(_ context.Context, submission json.RawMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var text string
	if err := json.Unmarshal(submission, &text); err != nil {
		return err
	}
	a.list = append(a.list, text)
	return &engine.SubmissionError{NodeID: "answer", Err: errNotPositive}
}

func (a *answers) request() engine.AgentRequest {
	return engine.AgentRequest{Contract: engine.AgentContract{NodeID: "answer"}, Prompt: "How many?", Accept: a.accept}
}

func TestAskReadsAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want []string
	}{
		"lines":                      {"a\n\n  \nb \r\n", []string{"a", "b "}},
		"no end of line":             {"a\nb", []string{"a", "b"}},
		"object":                     {`{"a": 1}` + "\nb\n", []string{`{"a": 1}`, "b"}},
		"object over lines":          {"{\n \"a\": [1,\n 2]\n}\nb\n", []string{"{\n \"a\": [1,\n 2]\n}", "b"}},
		"brackets in strings":        {"[\"}]\\\"]\",\n1]\nb\n", []string{"[\"}]\\\"]\",\n1]", "b"}},
		"empty line gives up JSON":   {"{\"a\":\n\nb\n", []string{"{\"a\":\n", "b"}},
		"JSON up to the end":         {"{\"a\":\n1", []string{"{\"a\":\n1"}},
		"one bracket too many":       {"[1]]\nb\n", []string{"[1]]", "b"}},
		"bracket in the middle":      {"see [1\nb\n", []string{"see [1", "b"}},
		"text over lines":            {"\"\"\"\n one\n\n{two\n \"\"\" \nb\n", []string{" one\n\n{two", "b"}},
		"text up to the end":         {"\"\"\"\none\n", []string{"one"}},
		"nothing between the quotes": {"\"\"\"\n\"\"\"\nb\n", []string{"", "b"}},
		"quotes within JSON":         {"[\n\"\"\"\n]\nb\n", []string{"[\n\"\"\"\n]", "b"}},
	}
	for name, test := range tests {
		for how, in := range map[string]io.Reader{
			"at once": strings.NewReader(test.in), "byte by byte": iotest.OneByteReader(strings.NewReader(test.in)),
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				var got answers
				_, err := ask(in, io.Discard).Execute(t.Context(), got.request())
				if e := wantErr[*agent.GaveUpError](t, err); e.NodeID != "answer" {
					t.Errorf("%+v", e)
				}
				if diff := cmp.Diff(test.want, got.list); diff != "" {
					t.Errorf("answers (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// An answer without end is not kept, and the engine says that it was too long.
func TestAskBoundsAnswers(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 3*workflow.MaxValueBytes)
	lines := strings.Repeat(strings.Repeat("x", 1000)+"\n", 3*workflow.MaxValueBytes/1000)
	var got answers
	in := strings.NewReader(line + "\n\"\"\"\n" + lines + "\"\"\"\nb\n")
	_, err := ask(in, io.Discard).Execute(t.Context(), got.request())
	wantErr[*agent.GaveUpError](t, err)
	if len(got.list) != 3 || got.list[2] != "b" {
		t.Fatalf("%d answers", len(got.list))
	}
	for _, answer := range got.list[:2] {
		if len(answer) <= workflow.MaxValueBytes || len(answer) > workflow.MaxValueBytes+10_000 {
			t.Errorf("kept %d bytes", len(answer))
		}
	}
	w := newWorld(t)
	var out bytes.Buffer
	want(t, w.run(single(), ask(strings.NewReader(line+"\n5\n"), &out)), runbundle.Completed, "", "")
	if !strings.Contains(out.String(), "over the limit of 1048576") {
		t.Errorf("told %s", out.String())
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want(t, w.run(single(), ask(strings.NewReader("0\n"), io.Discard)), runbundle.Failed, "agent_gave_up", "nobody answered for node answer")
}

func TestAskSaysWhatItCannotDo(t *testing.T) {
	t.Parallel()
	var got answers
	broken := errors.New("broken")
	_, err := ask(iotest.ErrReader(broken), io.Discard).Execute(t.Context(), got.request())
	if !errors.Is(err, broken) {
		t.Errorf("broken input: %v", err)
	}
	r, w := io.Pipe()
	r.CloseWithError(broken)
	_, err = ask(strings.NewReader("1\n"), w).Execute(t.Context(), got.request())
	if !errors.Is(err, broken) {
		t.Errorf("broken output: %v", err)
	}
}

func TestAskWritesPlainText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var got answers
	r := got.request()
	r.Prompt, r.RunTitle, r.Contract.ExpectedOutput = "p\x1b", "t\x1b", "e\x1b"
	a := agent.NewAsk(agent.AskOptions{In: strings.NewReader("1\n"), Out: &out, Plain: func(text string) string {
		return strings.ReplaceAll(text, "\x1b", "!")
	}})
	_, err := a.Execute(t.Context(), r)
	wantErr[*agent.GaveUpError](t, err)
	for _, part := range []string{"p!", "t!", "e!"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in %q", part, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("wrote %q", out.String())
	}
}

// reached tells when the prompt of a node was written.
type reached struct{ at chan struct{} }

func (r reached) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte("> ")) {
		r.at <- struct{}{}
	}
	return len(text), nil
}

// A run that is cancelled does not wait for the person. With a file nothing is
// left behind, which the end of the tests checks; with another reader the next
// question gets what the last one waited for.
func TestAskIsInterrupted(t *testing.T) {
	t.Parallel()
	pipe := func() (io.Reader, io.WriteCloser) { return io.Pipe() }
	file := func() (io.Reader, io.WriteCloser) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r, w
	}
	for name, open := range map[string]func() (io.Reader, io.WriteCloser){"pipe": pipe, "file": file} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, to := open()
			prompts := reached{make(chan struct{}, 1)}
			a := ask(in, prompts)
			first := newWorld(t)
			run := first.start(single(), a)
			<-prompts.at
			run.Cancel()
			want(t, run.Wait(), runbundle.Cancelled, engine.CodeCancelled, "")
			second := newWorld(t)
			run = second.start(single(), a)
			<-prompts.at
			if _, err := io.WriteString(to, "4\n"); err != nil {
				t.Fatal(err)
			}
			result := run.Wait()
			want(t, result, runbundle.Completed, "", "")
			if string(result.FinalOutput) != "4" {
				t.Errorf("output %s", result.FinalOutput)
			}
			to.Close()
		})
	}
}

// Half an answer that was typed before an interruption is the beginning of the
// next one.
func TestHalfAnAnswer(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	defer to.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	var got answers
	a := ask(in, io.Discard)
	done := make(chan error)
	go func() {
		_, err := a.Execute(ctx, got.request())
		done <- err
	}()
	if _, err := io.WriteString(to, "4"); err != nil {
		t.Fatal(err)
	}
	cancel(errDown)
	if err := <-done; !errors.Is(err, errDown) {
		t.Errorf("interrupted with %v", err)
	}
	go func() {
		_, _ = io.WriteString(to, "2\n")
		to.Close()
	}()
	_, err := a.Execute(t.Context(), got.request())
	wantErr[*agent.GaveUpError](t, err)
	if diff := cmp.Diff([]string{"42"}, got.list); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// Two runs that ask at once ask one after the other.
func TestAskOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	prompts := reached{make(chan struct{}, 1)}
	a := ask(in, prompts)
	runs := []*engine.Run{newWorld(t).start(single(), a), newWorld(t).start(single(), a), newWorld(t).start(single(), a)}
	for range runs {
		<-prompts.at
		if _, err := io.WriteString(to, "1\n"); err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range runs {
		want(t, run.Wait(), runbundle.Completed, "", "")
	}
	to.Close()
}

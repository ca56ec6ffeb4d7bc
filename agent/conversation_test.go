package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"piworkflows/agent"
	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// talk is a conversation about one step, seen from the side of the agent.
type talk struct {
	*agent.Conversation

	t        *testing.T
	contract engine.AgentContract
	messages chan agent.Message
	refuse   agent.Kind // the kind of message that is not delivered
	aborted  chan error
	done     chan error
	cancel   context.CancelCauseFunc
	said     *runbundle.Conversation

	// held counts the holds that the step has now.
	held int
}

var errDown = errors.New("the line is down")

// Deliver is agent.Transport.
func (k *talk) Deliver(_ context.Context, m agent.Message) error {
	if m.Kind == k.refuse {
		return errDown
	}
	k.messages <- m
	return nil
}

// Abort is agent.Aborter.
func (k *talk) Abort(_ engine.AgentContract, cause error) { k.aborted <- cause }

// newTalk returns a conversation in which nothing was said.
func newTalk(t *testing.T, reminders int) *talk {
	t.Helper()
	k := &talk{
		t: t, messages: make(chan agent.Message, 1), aborted: make(chan error, 2), done: make(chan error, 1),
		contract: engine.AgentContract{RunID: "run", WorkflowName: "count", NodeID: "answer", AttemptID: "2", ExpectedOutput: "a number"},
	}
	k.Conversation = agent.NewConversation(agent.Options{Transport: k, Reminders: reminders})
	return k
}

// begin begins a step whose submissions are judged by accept.
func (k *talk) begin(accept func(ctx context.Context, submission json.RawMessage) error) {
	k.t.Helper()
	var ctx context.Context
	ctx, k.cancel = context.WithCancelCause(k.t.Context())
	k.t.Cleanup(func() { k.cancel(nil) })
	r := engine.AgentRequest{
		Contract: k.contract, Prompt: "How many?", RunTitle: "Counting", StatusDetail: "on fingers", Accept: accept,
		Publish: func(_ context.Context, u workflow.Update, key string) (workflow.UpdateReceipt, error) {
			return workflow.UpdateReceipt{UpdateID: u.Type + " " + u.Key + " " + key}, nil
		},
		Hold: func() func() {
			k.held++
			return func() { k.held-- }
		},
	}
	go func() {
		said, err := k.Execute(ctx, r)
		k.said = said
		k.done <- err
	}()
}

// hears waits for the next message, which must be of that kind.
func (k *talk) hears(kind agent.Kind) agent.Message {
	k.t.Helper()
	select {
	case m := <-k.messages:
		if m.Kind != kind || m.Contract != k.contract || m.RunTitle != "Counting" || m.StatusDetail != "on fingers" {
			k.t.Fatalf("heard %+v, want a %s", m, kind)
		}
		return m
	case err := <-k.done:
		k.t.Fatalf("the step ended with %v, want a %s message", err, kind)
		return agent.Message{}
	}
}

func (k *talk) submits(result string) error {
	return k.Submit(k.t.Context(), k.contract.NodeID, k.contract.AttemptID, json.RawMessage(result))
}

// seven is the answer that is right.
func seven(_ context.Context, submission json.RawMessage) error {
	if string(submission) == "7" {
		return nil
	}
	return &engine.SubmissionError{NodeID: "answer", Err: errNotPositive}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	k.begin(seven)
	if m := k.hears(agent.KindStep); m.Text != "How many?" {
		t.Errorf("step %q", m.Text)
	}
	wantErr[*engine.SubmissionError](t, k.submits("6"))
	if err := k.submits("7"); err != nil {
		t.Errorf("rejected: %v", err)
	}
	if err := <-k.done; err != nil || k.said != nil {
		t.Errorf("ended with %v, %v", k.said, err)
	}
	if e := wantErr[*agent.RefusedError](t, k.submits("7")); e.Reason != agent.NothingPending {
		t.Errorf("a second submission: %+v", e)
	}
}

func TestSubmissionsForOtherSteps(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	k.begin(func(context.Context, json.RawMessage) error {
		t.Error("a foreign submission was looked at")
		return nil
	})
	k.hears(agent.KindStep)
	tests := []struct {
		step, attempt string
		reason        agent.Refusal
		message       string
	}{
		{"more", "2", agent.WrongStep, `that is step "answer", attempt "2"`},
		{"", "", agent.WrongStep, `step "" is not the one`},
		{"answer", "1", agent.StaleAttempt, `attempt "1" of step "answer" is over: the step waits for a result in attempt "2"`},
	}
	for _, test := range tests {
		err := k.Submit(t.Context(), test.step, test.attempt, json.RawMessage("7"))
		e := wantErr[*agent.RefusedError](t, err)
		if e.Reason != test.reason || e.Pending != k.contract || !strings.Contains(agent.Reply(err), test.message) {
			t.Errorf("step %q, attempt %q: %+v, %q", test.step, test.attempt, e, agent.Reply(err))
		}
	}
	k.cancel(errDown)
	<-k.done
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	u := workflow.Update{Type: "count", Key: "left", Data: json.RawMessage("{}")}
	publish := func(attempt string) (workflow.UpdateReceipt, error) {
		return k.Publish(t.Context(), "answer", attempt, u, "k1")
	}
	if _, err := publish("2"); wantErr[*agent.RefusedError](t, err).Reason != agent.NothingPending {
		t.Error(err)
	}
	k.begin(seven)
	k.hears(agent.KindStep)
	if _, err := publish("1"); wantErr[*agent.RefusedError](t, err).Reason != agent.StaleAttempt {
		t.Error(err)
	}
	if receipt, err := publish("2"); err != nil || receipt.UpdateID != "count left k1" {
		t.Errorf("%+v, %v", receipt, err)
	}
	if err := errors.Join(k.submits("7"), <-k.done); err != nil {
		t.Error(err)
	}
}

// A rejected submission does not give the agent more reminders.
func TestReminders(t *testing.T) {
	t.Parallel()
	for reminders, want := range map[int]int{0: agent.DefaultReminders, 1: 1, 3: 3, -1: 0} {
		k := newTalk(t, reminders)
		k.begin(seven)
		k.hears(agent.KindStep)
		for range want {
			wantErr[*engine.SubmissionError](t, k.submits("6"))
			k.Settled()
			text := k.hears(agent.KindReminder).Text
			for _, part := range []string{"answer", `{"action":"submit","step":"answer","attempt":"2","output":`, "a number"} {
				if !strings.Contains(text, part) {
					t.Errorf("the reminder does not say %q: %s", part, text)
				}
			}
		}
		k.Settled()
		if e := wantErr[*agent.SilentError](t, <-k.done); e.NodeID != "answer" || e.Reminders != want {
			t.Errorf("%d reminders: %+v", reminders, e)
		}
	}
}

func TestReminderIsHeeded(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	k.Settled() // of an earlier turn
	k.begin(seven)
	k.hears(agent.KindStep)
	k.Settled()
	k.Settled() // the same silence
	k.hears(agent.KindReminder)
	if err := k.submits("7"); err != nil {
		t.Fatal(err)
	}
	if err := <-k.done; err != nil {
		t.Error(err)
	}
}

// An agent that ends its turn while its answer is being checked is not reminded
// before that is done.
func TestSilenceDuringACheck(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 1)
	checking, verdict := make(chan struct{}), make(chan error)
	k.begin(func(context.Context, json.RawMessage) error {
		checking <- struct{}{}
		return <-verdict
	})
	k.hears(agent.KindStep)
	told := make(chan error)
	submit := func() { told <- k.submits("7") }
	go submit()
	<-checking
	k.Settled()
	verdict <- &engine.SubmissionError{NodeID: "answer", Err: errNotPositive}
	wantErr[*engine.SubmissionError](t, <-told)
	k.hears(agent.KindReminder)
	go submit()
	<-checking
	k.Settled()
	verdict <- nil
	if err := <-told; err != nil {
		t.Error(err)
	}
	if err := <-k.done; err != nil {
		t.Error(err)
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 1)
	k.Hold() // between steps
	k.begin(seven)
	k.hears(agent.KindStep)
	k.Settled()
	k.hears(agent.KindReminder)
	for range 2 {
		k.Hold()
		k.Hold()
		k.Settled() // the interruption ended its turn
		wantErr[*engine.SubmissionError](t, k.submits("6"))
		k.Release()
		if m := k.hears(agent.KindResume); m.Text != "How many?" {
			t.Errorf("resumed with %q", m.Text)
		}
		k.Release()
	}
	k.Settled()
	if e := wantErr[*agent.SilentError](t, <-k.done); e.Reminders != 1 || k.held != 0 {
		t.Errorf("%+v, held %d times", e, k.held)
	}
}

func TestSubmissionWhileHeld(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	k.begin(seven)
	k.hears(agent.KindStep)
	k.Hold()
	if err := k.submits("7"); err != nil {
		t.Fatal(err)
	}
	if err := <-k.done; err != nil || k.held != 0 {
		t.Errorf("ended with %v, held %d times", err, k.held)
	}
	k.Release() // of a step that is over
}

func TestDeliveryFails(t *testing.T) {
	t.Parallel()
	tests := map[agent.Kind]func(k *talk){
		agent.KindStep:     func(*talk) {},
		agent.KindReminder: func(k *talk) { k.hears(agent.KindStep); k.Settled() },
		agent.KindResume:   func(k *talk) { k.hears(agent.KindStep); k.Hold(); k.Release() },
	}
	for kind, act := range tests {
		k := newTalk(t, 0)
		k.refuse = kind
		k.begin(seven)
		act(k)
		e := wantErr[*agent.DeliveryError](t, <-k.done)
		if e.Kind != kind || e.NodeID != "answer" || !errors.Is(e, errDown) {
			t.Errorf("%s: %+v", kind, e)
		}
		if e := wantErr[*agent.RefusedError](t, k.submits("7")); e.Reason != agent.NothingPending {
			t.Errorf("%s: the step is still pending: %+v", kind, e)
		}
	}
}

func TestAgentThatIsGone(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	k.Fail(errors.New("between steps"))
	k.begin(seven)
	k.hears(agent.KindStep)
	k.Fail(errDown)
	k.Fail(errors.New("later"))
	if err := <-k.done; !errors.Is(err, errDown) {
		t.Errorf("ended with %v", err)
	}
}

func TestOneStepAtATime(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	k.begin(seven)
	k.hears(agent.KindStep)
	second := engine.AgentContract{RunID: "other", NodeID: "more"}
	_, err := k.Execute(t.Context(), engine.AgentRequest{Contract: second})
	if e := wantErr[*agent.BusyError](t, err); e.Pending != k.contract || e.Refused != second {
		t.Errorf("%+v", e)
	}
	if err := k.submits("7"); err != nil {
		t.Error(err)
	}
	<-k.done
	k.begin(seven)
	k.hears(agent.KindStep)
	k.cancel(nil)
	<-k.done
}

// When the attempt ends, a submission that is being checked comes too late, and
// the step waits until the check is over.
func TestEndDuringACheck(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	checking, verdict := make(chan struct{}), make(chan error)
	k.begin(func(ctx context.Context, _ json.RawMessage) error {
		checking <- struct{}{}
		<-ctx.Done()
		return <-verdict
	})
	k.hears(agent.KindStep)
	told := make(chan error)
	go func() { told <- k.submits("7") }()
	<-checking
	k.cancel(errDown)
	if cause := <-k.aborted; !errors.Is(cause, errDown) {
		t.Errorf("aborted with %v", cause)
	}
	select {
	case err := <-k.done:
		t.Fatalf("the step ended with %v during the check", err)
	case verdict <- nil:
	}
	if e := wantErr[*agent.RefusedError](t, <-told); e.Reason != agent.StepOver || e.Attempt != "2" {
		t.Errorf("told %+v", e)
	}
	if err := <-k.done; !errors.Is(err, errDown) || len(k.aborted) > 0 {
		t.Errorf("ended with %v, aborted again %d times", err, len(k.aborted))
	}
}

// recorded is a transport that keeps the conversation.
type recorded struct {
	*talk

	markErr, sinceErr error
}

func (r recorded) Mark(context.Context) (string, error) { return "m1", r.markErr }

func (r recorded) Since(_ context.Context, mark string) (*runbundle.Conversation, error) {
	return &runbundle.Conversation{FirstEntryID: mark, LastEntryID: "m9"}, r.sinceErr
}

func TestRangeOfTheConversation(t *testing.T) {
	t.Parallel()
	for _, sinceErr := range []error{nil, errDown} {
		k := newTalk(t, 0)
		k.Conversation = agent.NewConversation(agent.Options{Transport: recorded{talk: k, sinceErr: sinceErr}})
		k.begin(seven)
		k.hears(agent.KindStep)
		if err := errors.Join(k.submits("7"), <-k.done); err != nil {
			t.Error(err)
		}
		if want := (runbundle.Conversation{FirstEntryID: "m1", LastEntryID: "m9"}); (sinceErr == nil) != (k.said != nil) || k.said != nil && *k.said != want {
			t.Errorf("error %v, range %v", sinceErr, k.said)
		}
	}
	k := newTalk(t, 0)
	k.Conversation = agent.NewConversation(agent.Options{Transport: recorded{talk: k, markErr: errDown}})
	k.begin(seven)
	if e := wantErr[*agent.DeliveryError](t, <-k.done); e.Kind != agent.KindStep {
		t.Errorf("%+v", e)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	tests := map[string]error{
		"End your turn":        nil,
		"submit it again":      &engine.SubmissionError{Err: errNotPositive},
		"not accepted: a":      errNotPositive,
		"do not submit again":  &agent.RefusedError{Reason: agent.NothingPending},
		"nothing more is acce": &agent.RefusedError{Reason: agent.StepOver},
	}
	for want, err := range tests {
		if got := agent.Reply(err); !strings.Contains(got, want) {
			t.Errorf("reply to %v: %q, want %q", err, got, want)
		}
	}
}

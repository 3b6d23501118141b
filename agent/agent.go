// Package agent is the contract of a running agent: the three verbs by which
// messages reach it, what it answers, how it is stopped, and how one sees what
// became of a message. Package agenttest is this contract as tests.
//
// An agent is what a Driver makes of a session's log. Its arguments and answers
// are data, so a handle may stand for an agent in another process; and as no
// method is unexported, anyone may write a driver or a fake.
package agent

import (
	"context"
	"iter"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// Recipient takes messages for an agent. Callers say what they mean; where the
// message waits and whether it wakes the agent is the driver's affair.
//
// All three verbs work whatever the agent is doing. A nil error means that the
// message is in the log; a message with an id already accepted, with the same
// verb and content, is answered with its first receipt. An empty id is minted,
// an empty role is chat.RoleUser. The context bounds only the wait: when it
// ends after the message was handed over the error is ErrUncertain, and asking
// again with the same id is safe. The errors are those of this package.
type Recipient interface {
	// Followup is a turn of its own, after those asked for before.
	Followup(ctx context.Context, m chat.Message) (Receipt, error)
	// Steer is for the nearest step of the running turn; if none runs, it
	// opens one, before any followup.
	Steer(ctx context.Context, m chat.Message) (Receipt, error)
	// Inject is context for the model. It enters with whatever enters next and
	// asks for nothing.
	Inject(ctx context.Context, m chat.Message) (Receipt, error)
}

// Receipt says that a message is durably the agent's. It guesses neither the
// turn the message will be in nor what comes of it.
type Receipt struct {
	ID       string       `json:"id"`
	Seq      session.Seq  `json:"seq"` // of its Accepted
	Verb     session.Verb `json:"verb"`
	Replayed bool         `json:"replayed,omitempty"` // it had been accepted before
}

// Agent is a handle on an agent, in this process or another.
type Agent interface {
	Recipient

	// ID is the agent's, and its session's.
	ID() session.ID
	// Status says whether a turn is open.
	Status(ctx context.Context) (Status, error)

	// Cancel stops the running turn and clears what waits, or keeps it parked.
	// It returns when the cancel is stored; WaitIdle waits for the end. An idle
	// agent may be cancelled, and a cancelled one again.
	Cancel(ctx context.Context, s Stop) (Stopped, error)
	// Resume lets parked messages run.
	Resume(ctx context.Context) error

	// Withdraw takes a pending message back. Its fate is the answer, also if
	// the message is no longer pending. ErrUnknown: it was never accepted.
	Withdraw(ctx context.Context, id string) (Fate, error)
	// Amend replaces the parts of a pending message, which keeps its place. Its
	// fate is the answer, as for Withdraw: FatePending says that it was done.
	Amend(ctx context.Context, id string, parts []chat.Part) (Fate, error)

	// Reply answers a question. The first reply counts; the question's fate is
	// the answer. ErrUnknown: it was never asked.
	Reply(ctx context.Context, r session.Reply) (QuestionFate, error)

	// WaitIdle returns when no turn is open and none is about to be. From
	// inside the agent's own turn it fails with ErrSelfWait.
	WaitIdle(ctx context.Context) error
}

// Running is the agent in the process that owns its session.
type Running interface {
	Agent

	// Scope ends with the agent. What is registered in it is the agent's alone.
	Scope() *plugin.Scope
	// Record appends a plugin's fact. It places no message and wakes nothing.
	Record(ctx context.Context, n session.Noted) (session.Seq, error)
	// Watch yields the deltas of answers as they are made, first what the
	// attempt under way has made so far. A slow reader gets them joined; none
	// is yielded once its attempt's answer, or the next attempt, is stored. It
	// ends with the context or the agent.
	Watch(ctx context.Context) iter.Seq[Delta]
	// Close suspends: work in flight is ended, calls get their results, the
	// turn stays open and pending messages stay pending for the next owner.
	// All who close wait for the same end, at most the grace time. Bodies that
	// ignored their context are named in an *AbandonedError.
	Close(ctx context.Context) error
}

// Status is what an agent is doing.
type Status struct {
	State State       `json:"state"`
	Turn  int         `json:"turn,omitempty"` // the open turn; 0 if none is
	Head  session.Seq `json:"head"`           // the last event it rests on
}

// State is idle or running.
type State string

const (
	Idle    State = "idle"    // no turn is open
	Working State = "running" // one is
)

// Stop asks for a turn to be stopped.
type Stop struct {
	Cause     session.Cause `json:"cause,omitempty"` // empty: host
	Reason    string        `json:"reason,omitempty"`
	KeepInbox bool          `json:"keep_inbox,omitempty"` // park what waits instead of clearing it
}

// Stopped is what a cancel did.
type Stopped struct {
	Seq     session.Seq `json:"seq"`
	Turn    int         `json:"turn,omitempty"` // the turn it stopped; 0 if none ran
	Cleared []string    `json:"cleared,omitempty"`
	Kept    []string    `json:"kept,omitempty"`
}

// Delta is a piece of an answer as it is made. It is told, not stored: it is
// void once the attempt's answer or the next attempt is in the log.
type Delta struct {
	Turn    int            `json:"turn"`
	Step    int            `json:"step"`
	Attempt int            `json:"attempt"`
	Block   int            `json:"block"` // of the answer, from 0
	Kind    chat.BlockKind `json:"kind"`
	Call    string         `json:"call,omitempty"` // the tool's name, of a call
	Offset  int            `json:"offset"`         // bytes of the block told before
	Text    string         `json:"text"`           // of a call: of its arguments
}

package react

import (
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// input is one thing the world tells the machine: a caller's wish, or the
// answer to a piece of owed work. An answer carries the sequence of the fact
// that caused the work; one that carries another is stale and changes nothing.
type input interface{ input() }

// Callers' wishes.
type (
	// deliver hands over a valid message with an id, and its digest.
	deliver struct {
		verb    session.Verb
		message chat.Message
		digest  chat.Digest
	}
	cancel struct {
		cause  session.Cause
		reason string
		keep   bool // keep the inbox
	}
	resume   struct{}
	withdraw struct{ id string }
	amend    struct {
		id    string
		parts []chat.Part
	}
	// reply answers an open question.
	reply struct{ fact session.Reply }
	// note appends a plugin's fact.
	note      struct{ fact session.Noted }
	configure struct{ fact session.Configured }
	// replace is a replacement made on demand, at any time.
	replace struct{ fact session.Replaced }
	// spawn says that the running turn gets a child.
	spawn struct {
		child    session.ID
		detached bool
	}
	// begin makes the empty session a child's.
	begin struct{ fact session.Parent }
	// reopen is the first input after a log was folded.
	reopen struct{ mode session.OpenMode }
)

// Answers to owed work.
type (
	// consulted answers a consultation: what hooks make of the peeked batch.
	consulted struct {
		cause         session.Seq
		rulings       []ruling       // one for each message of the batch
		before, after []chat.Message // added by hooks around the batch
		header        *session.Header
		stop          *stop            // a hook wants no step
		failure       *session.Failure // a hook broke; the rest counts for nothing
	}
	// maintained answers a consultation with a replacement; it is owed anew.
	maintained struct {
		cause session.Seq
		fact  session.Replaced
	}
	// answered is a model's whole answer, or what was streamed of it before
	// the turn was stopped.
	answered struct {
		cause  session.Seq
		answer chat.Answer
		traits []session.Trait // one for each call
		cost   int64           // millionths of a US dollar
	}
	// failed says that the model gave no answer and what policy makes of it.
	failed struct {
		cause    session.Seq
		failure  session.Failure
		again    bool              // ask again
		at       time.Time         // not before; zero: at once
		replaced *session.Replaced // first put this in the place of history
	}
	// dropped says that a stopped request had streamed nothing.
	dropped struct{ cause session.Seq }
	// elapsed says that the time of a wait or an alarm has come.
	elapsed struct{ cause session.Seq }
	// started says that a call which isn't repeatable is about to run.
	started struct{ fact session.CallStarted }
	// resulted is the final result of a call.
	resulted struct{ fact session.Resulted }
	// pose asks a question for a call.
	pose struct{ fact session.Question }
	// ended answers an ending: what the stopping hooks say against it.
	ended struct {
		cause      session.Seq
		objections []chat.Message
	}
)

// ruling is what hooks decided on one message of a batch.
type ruling struct {
	id     string
	what   verdict
	parts  []chat.Part // of enter: what the model is shown instead; nil: unchanged
	hook   string      // of refuse and take
	reason string
}

type verdict int

const (
	enter verdict = iota
	refuse
	take
)

// stop is a hook's word that the step must not run.
type stop struct {
	hook   string
	reason string
}

// outcome is what a caller is told. The facts it rests on are not stored yet.
type outcome struct {
	err     error
	receipt agent.Receipt  // of deliver
	stopped agent.Stopped  // of cancel
	fate    agent.Fate     // of withdraw and amend, unless absent
	reply   *session.Reply // of pose: the one it has got before
	// absent says that the id of a withdraw, amend or reply isn't pending
	// here: what became of it is in the log.
	absent bool
	// stale says that the input answers work that is no longer owed.
	stale bool
}

// work is what the world must do now. Zero causes are nothing to do. All of
// it is owed until an input answers it, whether somebody is at it or not.
type work struct {
	consult consultation
	ask     asking
	calls   []calling // in the model's order; all may run at the same time
	wait    waiting   // before the step asks again
	end     ending
	halt    halting
	alarm   waiting // when the turn's time is up
}

// consultation: maintain the history, then ask the hooks about the batch.
// Answered by maintained or consulted.
type consultation struct {
	cause      session.Seq
	turn, step int // the step that would begin
	batch      []*session.Pending
	results    bool // results are owed to the model: the step runs in any case
	maintained bool // a replacement has been made for this step
}

// asking: put the request to the model. Answered by answered or failed.
type asking struct {
	cause               session.Seq
	turn, step, attempt int
	settings            session.Configured // as of the step's beginning
}

// calling: run a tool. Answered by started (unless repeatable), pose, and
// resulted. Its identity is the answer's sequence and the index.
type calling struct {
	answer    session.Seq
	index     int
	call      chat.Call
	trait     session.Trait
	started   bool
	questions []*session.Asked // what was asked for it, and the replies
}

// waiting: answer elapsed at the given time.
type waiting struct {
	cause session.Seq
	until time.Time
}

// ending: ask the stopping hooks. Answered by ended.
type ending struct {
	cause session.Seq
	turn  int
}

// halting: end what is in flight and say what came of it. The request is
// answered by answered (interrupted) or dropped; each call by resulted.
type halting struct {
	cause session.Seq // the fact that stopped the turn
	ask   session.Seq // the cause of the request; 0 if none can be in flight
	calls []calling
}

func (deliver) input()    {}
func (cancel) input()     {}
func (resume) input()     {}
func (withdraw) input()   {}
func (amend) input()      {}
func (reply) input()      {}
func (note) input()       {}
func (configure) input()  {}
func (replace) input()    {}
func (spawn) input()      {}
func (begin) input()      {}
func (reopen) input()     {}
func (consulted) input()  {}
func (maintained) input() {}
func (answered) input()   {}
func (failed) input()     {}
func (dropped) input()    {}
func (elapsed) input()    {}
func (started) input()    {}
func (resulted) input()   {}
func (pose) input()       {}
func (ended) input()      {}

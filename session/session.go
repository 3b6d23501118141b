// Package session is the log of an agent and what can be read from it.
//
// The log is the only truth. An event is a fact with a sequence and a time;
// the inbox, the transcript, fates and status are folds of the facts in order
// and can be rebuilt at any time. A Store keeps the logs of many sessions; it
// sees records, not facts, so that a store needn't know what the words mean.
//
// The facts an agent can put in its log are in facts.go, the way into and out
// of records in codec.go, the folds in inbox.go and transcript.go, and what a
// store promises in store.go and, as tests, in session/storetest.
package session

import "time"

// ID names a session, and the agent that works on it.
type ID string

// Seq is the place of an event in its session's log: 1 is the first, 0 none.
// It is the order of everything that happened.
type Seq uint64

// Event is a fact at its place in a log.
type Event struct {
	Seq  Seq
	Time time.Time // the host's clock when it was appended; order is Seq alone
	Fact Fact
}

// Verb is what a caller asked for when it handed over a message.
type Verb string

const (
	Followup Verb = "followup" // a turn of its own, next; asks for execution
	Steer    Verb = "steer"    // the nearest step of the running turn; asks for execution
	Inject   Verb = "inject"   // context for the model; asks for nothing
)

// Wakes says whether a message of this verb asks for execution.
func (v Verb) Wakes() bool { return v == Followup || v == Steer }

// Cause is on whose account a turn was stopped.
type Cause string

const (
	CauseUser    Cause = "user"
	CauseParent  Cause = "parent"
	CauseHost    Cause = "host"
	CauseTimeout Cause = "timeout"
	CauseBudget  Cause = "budget"
	CauseHook    Cause = "hook"
)

// Valid says whether c is one of the causes above.
func (c Cause) Valid() bool {
	switch c {
	case CauseUser, CauseParent, CauseHost, CauseTimeout, CauseBudget, CauseHook:
		return true
	default:
		return false
	}
}

// ParkReason is why a waking message is held back.
type ParkReason string

const (
	ParkedStopped ParkReason = "stopped" // a cancel that kept the inbox, or a hook's stop
	ParkedFailed  ParkReason = "failed"  // a turn failed while it waited
	ParkedBudget  ParkReason = "budget"  // nothing is left to spend
	ParkedHeld    ParkReason = "held"    // it waited when the session was opened on hold
)

// EndReason is how a turn ended.
type EndReason string

const (
	EndCompleted EndReason = "completed"
	EndMaxTokens EndReason = "max-tokens" // an answer of the turn was cut off
	EndRefused   EndReason = "refused"    // the provider declined
	EndBlocked   EndReason = "blocked"    // a hook refused what would have entered
	EndCancelled EndReason = "cancelled"  // TurnEnded.Cause says by whom
	EndFailed    EndReason = "failed"     // TurnEnded.Failure says how
	EndBudget    EndReason = "budget"     // nothing was left to spend
)

package react

import (
	"time"

	"github.com/tack-agent/tack/session"
)

// state is all the machine knows beside the conversation. It is copied whole
// to be able to go back, so what its fields point to is never written: slices
// are replaced, not changed. It is a snapshot as it is.
type state struct {
	Head     session.Seq         `json:"head"` // the last event applied
	Parent   *session.Parent     `json:"parent,omitempty"`
	Settings *session.Configured `json:"settings,omitempty"` // nil: none were made
	Header   session.Header      `json:"header,omitzero"`
	Spent    session.Spent       `json:"spent,omitzero"`    // by the session
	Children session.Spent       `json:"children,omitzero"` // by its children
	Turns    int                 `json:"turns,omitempty"`   // the last turn's number
	Turn     turn                `json:"turn,omitzero"`     // zero: none is open
}

// turn is the open turn.
type turn struct {
	Phase    phase         `json:"phase"`
	Started  session.Seq   `json:"started"`
	At       time.Time     `json:"at"`
	Spent    session.Spent `json:"spent,omitzero"`
	Children []session.ID  `json:"children,omitempty"` // attached
	Alarm    session.Seq   `json:"alarm"`              // the fact that its time limit comes from
	Stop     halt          `json:"stop,omitzero"`
	Lost     session.Seq   `json:"lost,omitempty"` // work begun before this Reopened is gone

	// Cause is the fact that caused the work now owed.
	Cause session.Seq `json:"cause"`
	// Due is the fact that made the coming step due, at a boundary.
	Due        session.Seq `json:"due,omitempty"`
	Objected   bool        `json:"objected,omitempty"`   // by a stopping hook, at Due
	Results    bool        `json:"results,omitempty"`    // owed to the model
	Maintained bool        `json:"maintained,omitempty"` // history was replaced at this boundary

	// Of the last step.
	Step     int                 `json:"step,omitempty"`     // 0: none yet
	Attempt  int                 `json:"attempt,omitempty"`  // requests for it, reopenings included
	Settings *session.Configured `json:"settings,omitempty"` // as it began
	Until    time.Time           `json:"until,omitzero"`     // when it asks again
	Answer   session.Seq         `json:"answer,omitempty"`
	Calls    []call              `json:"calls,omitempty"`

	// What the turn will have ended with.
	MaxTokens bool `json:"max_tokens,omitempty"` // sticky
	Refused   bool `json:"refused,omitempty"`    // by the provider, in the last answer
	Blocked   bool `json:"blocked,omitempty"`    // by a hook, at this boundary
	Concluded bool `json:"concluded,omitempty"`  // by a result of the last answer
}

// phase is where the open turn is.
type phase int

const (
	atRest     phase = iota // no turn is open
	atBoundary              // every call has its result, the next request isn't built
	atModel                 // it is asked
	atPause                 // before it is asked again
	atCalls                 // some have no result yet
)

// call is a call of the last answer.
type call struct {
	session.Trait
	Started bool `json:"started,omitempty"`
	Lost    bool `json:"lost,omitempty"` // it had started, then the process was gone
	Done    bool `json:"done,omitempty"`
}

// halt is why the open turn must end, and since when. What was in flight then
// has to come back first.
type halt struct {
	Seq     session.Seq       `json:"seq,omitempty"` // 0: it goes on
	Reason  session.EndReason `json:"reason,omitempty"`
	Cause   session.Cause     `json:"cause,omitempty"`
	Failure *session.Failure  `json:"failure,omitempty"`
	Detail  string            `json:"detail,omitempty"`
}

// settings are the agent's, as of now.
func (s *state) settings() session.Configured { return orNone(s.Settings) }

func orNone(c *session.Configured) session.Configured {
	if c == nil {
		return session.Configured{}
	}
	return *c
}

func (t *turn) open() bool     { return t.Phase != atRest }
func (t *turn) stopping() bool { return t.Stop.Seq != 0 }

// opening says that the turn has had no step yet.
func (t *turn) opening() bool { return t.Step == 0 }

// inFlight says whether work begun before the stop may still be under way.
func (t *turn) inFlight() bool { return t.Lost < t.Stop.Seq }

// due puts the turn at a boundary that the fact at seq brought about.
func (t *turn) due(seq session.Seq) {
	t.Phase, t.Due, t.Cause, t.Maintained, t.Objected = atBoundary, seq, seq, false, false
}

// withCall replaces the index-th call.
func (t *turn) withCall(index int, change func(*call)) {
	calls := make([]call, len(t.Calls))
	copy(calls, t.Calls)
	change(&calls[index])
	t.Calls = calls
}

// allDone says whether every call has its result.
func (t *turn) allDone() bool {
	for _, c := range t.Calls {
		if !c.Done {
			return false
		}
	}
	return true
}

package agent

import (
	"context"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// Driver makes agents of logs.
type Driver interface {
	// Drive starts or continues an agent on the log it is given, whose lease
	// is the agent's from then on. The context bounds the opening only.
	Drive(ctx context.Context, s Start) (Running, error)
}

// Start is what a driver needs to begin.
type Start struct {
	Store session.Store
	Lease session.Lease
	Mode  session.OpenMode // empty: continue
	// Parent makes an empty session a child's.
	Parent *session.Parent
	// Scope is the one that the agent's own scope becomes a child of.
	Scope *plugin.Scope
	World World
	// Grace is how long a stopped body may take to return; zero: 10 s.
	Grace time.Duration
}

// World is where time and ids come from.
type World struct {
	Now   func() time.Time
	NewID func() string // unique for ever
}

// Entering asks which messages of a batch enter a step, and what is added. The
// innermost answer lets all in.
var Entering = plugin.NewHook[EnteringInput, EnteringAnswer]("agent.entering")

// EnteringInput is the batch that hooks look at before a step begins. All of it
// is still pending.
type EnteringInput struct {
	// Key is the same when the hook is asked again for the same batch.
	Key     string         `json:"key"`
	Session session.ID     `json:"session"`
	Turn    int            `json:"turn"`
	Step    int            `json:"step"`
	Batch   []Peeked       `json:"batch,omitempty"`
	Results bool           `json:"results,omitempty"` // the step runs in any case
	Placed  []chat.Message `json:"placed,omitempty"`  // added by hooks before, the last of each source
}

// Peeked is a message of a batch.
type Peeked struct {
	Verb    session.Verb `json:"verb"`
	Seq     session.Seq  `json:"seq"`
	Message chat.Message `json:"message"`
}

// EnteringAnswer says what becomes of the batch: one ruling for each message.
type EnteringAnswer struct {
	Rulings []Ruling       `json:"rulings,omitempty"`
	Before  []chat.Message `json:"before,omitempty"` // added in front of the batch
	After   []chat.Message `json:"after,omitempty"`  // and behind it
	// Stop ends the turn without the step.
	Stop *StopRuling `json:"stop,omitempty"`
}

// Ruling is what becomes of one message.
type Ruling struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	// Parts is what the model is shown instead; nil: the message as it is.
	Parts  []chat.Part `json:"parts,omitzero"`
	Hook   string      `json:"hook,omitempty"`
	Reason string      `json:"reason,omitempty"`
}

// Verdict is enter, refuse or take.
type Verdict string

const (
	Enter  Verdict = "enter"
	Refuse Verdict = "refuse" // turned away
	Take   Verdict = "take"   // the hook dealt with it
)

// StopRuling says who wants no step, and why.
type StopRuling struct {
	Hook   string `json:"hook"`
	Reason string `json:"reason"`
}

// Maintenance asks whether history is to be replaced before a request. The
// innermost answer replaces nothing.
var Maintenance = plugin.NewHook[MaintenanceInput, MaintenanceAnswer]("agent.maintenance")

// MaintenanceInput describes the history before a request.
type MaintenanceInput struct {
	Key     string             `json:"key"`
	Session session.ID         `json:"session"`
	Turn    int                `json:"turn,omitempty"`
	Step    int                `json:"step,omitempty"`
	Failure *session.Failure   `json:"failure,omitempty"` // the model refused the request as too long
	Usage   chat.Usage         `json:"usage,omitzero"`    // of the last answer
	Items   []MaintenanceEntry `json:"items,omitempty"`   // the transcript, in order
}

// MaintenanceEntry is one item of the transcript and the facts it stands for.
type MaintenanceEntry struct {
	From    session.Seq   `json:"from"`
	To      session.Seq   `json:"to"`
	Message *chat.Message `json:"message,omitempty"`
	Answer  *chat.Answer  `json:"answer,omitempty"`
	Result  *chat.Result  `json:"result,omitempty"`
}

// MaintenanceAnswer is a replacement, or none.
type MaintenanceAnswer struct {
	Replaced *session.Replaced `json:"replaced,omitempty"`
}

// Stopping asks whether a turn may end that is about to end by itself. Each
// objection becomes a steer.
var Stopping = plugin.NewHook[StoppingInput, StoppingAnswer]("agent.stopping")

// StoppingInput is the turn that is about to end.
type StoppingInput struct {
	Key     string      `json:"key"`
	Session session.ID  `json:"session"`
	Turn    int         `json:"turn"`
	Steps   int         `json:"steps"`
	Answer  chat.Answer `json:"answer,omitzero"` // the last one
}

// StoppingAnswer lists what speaks against the end.
type StoppingAnswer struct {
	Objections []Objection `json:"objections,omitempty"`
}

// Objection is one hook's reason to go on.
type Objection struct {
	Hook string `json:"hook"`
	Text string `json:"text"`
}

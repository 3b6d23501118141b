package session

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tack-agent/tack/chat"
)

// Fact is what an event says. Facts of the types in this file are core: a
// reader that doesn't know one can't go on. All others are a plugin's and may
// be skipped. A fact may also have
//
//	Claim() string  // a key that only one event of its session can have
//	Refs() []string // the keys it can be found by
type Fact interface {
	Type() string
}

// MessageKey is the claim and reference of the message id.
func MessageKey(id string) string { return "message/" + id }

// QuestionKey is the claim and reference of the question id.
func QuestionKey(id string) string { return "question/" + id }

// CallKey is the claim of the result of the index-th call of an answer.
func CallKey(answer Seq, index int) string {
	return "call/" + strconv.FormatUint(uint64(answer), 10) + "/" + strconv.Itoa(index)
}

// NotedKey is the claim or reference of a plugin's fact with the key k. It
// can't be taken for one of the core's.
func NotedKey(k string) string { return notedKeys + k }

const notedKeys = "noted/"

// What becomes of messages.

// Accepted says that a message is the agent's to deal with.
type Accepted struct {
	Verb    Verb         `json:"verb"`
	Message chat.Message `json:"message"`
	Digest  chat.Digest  `json:"digest"` // of Message, for telling replays from conflicts
	// Objects marks what a stopping hook said against the end of the turn. All
	// that was said against one end enters together.
	Objects bool `json:"objects,omitempty"`
}

// Entered says that a step began, and with it which messages the model sees
// from here on, in this order. It is the one fact that places messages.
type Entered struct {
	Turn     int     `json:"turn"`
	Step     int     `json:"step"` // from 1 in each turn
	Due      Seq     `json:"due"`  // the fact that made the step due
	Messages []Entry `json:"messages,omitempty"`
}

// Entry is one message entering: one that waited, with its parts if a hook
// changed them, or one that a hook added.
type Entry struct {
	ID    string        `json:"id"`
	From  Seq           `json:"from,omitempty"` // where its content is: Accepted or the last Amended
	Parts []chat.Part   `json:"parts,omitempty"`
	Added *chat.Message `json:"added,omitempty"`
}

// Refused says that a hook turned a message away, which ends it.
type Refused struct {
	ID     string `json:"id"`
	Hook   string `json:"hook"`
	Reason string `json:"reason"`
}

// Taken says that a hook dealt with a message itself, which ends it.
type Taken struct {
	ID     string `json:"id"`
	Hook   string `json:"hook"`
	Reason string `json:"reason,omitempty"`
}

// Withdrawn says that a pending message was taken back, which ends it.
type Withdrawn struct {
	ID string `json:"id"`
}

// Amended replaces the parts of a pending message.
type Amended struct {
	ID    string      `json:"id"`
	Parts []chat.Part `json:"parts"`
}

// Cancelled stops the running turn, if there is one, and clears or keeps the
// messages that wait.
type Cancelled struct {
	Cause     Cause  `json:"cause"`
	Reason    string `json:"reason,omitempty"`
	KeepInbox bool   `json:"keep_inbox,omitempty"`
	Turn      int    `json:"turn,omitempty"` // the turn it stopped; 0 if none ran
	// Cleared or Kept lists the messages that waited, in their order.
	Cleared []string `json:"cleared,omitempty"`
	Kept    []string `json:"kept,omitempty"`
	// Closed lists the questions that were open.
	Closed []string `json:"closed,omitempty"`
	// Children lists the attached children that get the cancel too.
	Children []ID `json:"children,omitempty"`
}

// Parked holds back waking messages that were runnable.
type Parked struct {
	Reason ParkReason `json:"reason"`
	Hook   string     `json:"hook,omitempty"`
	IDs    []string   `json:"ids,omitzero"` // nil: all that were runnable
}

// Release says what let parked messages go.
type Release string

const (
	ReleaseResume    Release = "resume"    // someone called Resume
	ReleasePrincipal Release = "principal" // the principal sent a waking message
	ReleaseCompleted Release = "completed" // a turn completed; only ParkedFailed go
)

// Released makes parked messages runnable again.
type Released struct {
	By Release `json:"by"`
}

// Turns and steps.

// TurnStarted opens a turn.
type TurnStarted struct {
	Turn int `json:"turn"` // rises by one
}

// Halted says that the open turn is being ended although work is in flight or
// owed: its time is up, or it was reopened too often. What waits is left alone
// until the turn has ended.
type Halted struct {
	Turn    int       `json:"turn"`
	Reason  EndReason `json:"reason"`            // EndBudget or EndFailed
	Failure *Failure  `json:"failure,omitempty"` // of EndFailed
	Detail  string    `json:"detail,omitempty"`  // for people
	// Closed lists the questions that were open.
	Closed []string `json:"closed,omitempty"`
}

// TurnEnded closes the open turn. If it failed, all runnable messages that
// were accepted before are parked.
type TurnEnded struct {
	Turn    int       `json:"turn"`
	Reason  EndReason `json:"reason"`
	Cause   Cause     `json:"cause,omitempty"`   // of EndCancelled
	Failure *Failure  `json:"failure,omitempty"` // of EndFailed
	Detail  string    `json:"detail,omitempty"`  // for people
	// Struck lists the messages on which a hook broke; once more and they
	// are refused.
	Struck []string `json:"struck,omitempty"`
}

// Failure says what went wrong, so that a program can tell.
type Failure struct {
	Kind string `json:"kind"`           // rate-limit, context-too-long, hook, …
	Hook string `json:"hook,omitempty"` // the hook that broke
	Text string `json:"text,omitempty"` // for people
}

// Header says what stands before the conversation in every request from the
// next on, by content. Two that are equal ask for the same.
type Header struct {
	System chat.Blob `json:"system,omitzero"` // the system text
	Tools  chat.Blob `json:"tools,omitzero"`  // the tools' schemas in their order
	Format chat.Blob `json:"format,omitzero"` // the answer's schema
}

// Until says that the step waits before it asks again.
type Until struct {
	Turn    int       `json:"turn"`
	Step    int       `json:"step"`
	At      time.Time `json:"at"`
	Failure *Failure  `json:"failure,omitempty"` // of the attempt before
}

// Attempt says that the step asks again. Entering is attempt 1.
type Attempt struct {
	Turn    int      `json:"turn"`
	Step    int      `json:"step"`
	Number  int      `json:"number"`
	Failure *Failure `json:"failure,omitempty"` // of the attempt before
}

// OpenMode is what opening a session does with work that was left.
type OpenMode string

const (
	OpenContinue OpenMode = "continue" // go on with it
	OpenHold     OpenMode = "hold"     // end the open turn and park what waits
)

// Reopened says that another process, or the same one anew, goes on with a
// session that had a turn open or, on hold, messages waiting.
type Reopened struct {
	Mode    OpenMode `json:"mode"`
	Turn    int      `json:"turn,omitempty"`    // the open turn
	Step    int      `json:"step,omitempty"`    // its step
	Attempt int      `json:"attempt,omitempty"` // which this is, counted as retries are
}

// Answered is a model's answer, whole or as far as it came.
type Answered struct {
	Turn   int         `json:"turn"`
	Step   int         `json:"step"`
	Ask    Seq         `json:"ask"` // the fact that caused the request
	Answer chat.Answer `json:"answer"`
	Traits []Trait     `json:"traits,omitempty"` // one for each call
	Cost   int64       `json:"cost,omitempty"`   // millionths of a US dollar
}

// Trait is what a tool says of one call, given its arguments.
type Trait struct {
	Beside     bool `json:"beside,omitempty"`     // may run beside others
	Repeatable bool `json:"repeatable,omitempty"` // may run again after a crash
}

// CallStarted says that a call which isn't repeatable begins, and with what.
type CallStarted struct {
	Answer    Seq    `json:"answer"`
	Index     int    `json:"index"` // from 0
	Arguments string `json:"arguments"`
}

// Resulted is the one final result of a call.
type Resulted struct {
	Answer    Seq         `json:"answer"`
	Index     int         `json:"index"` // from 0
	Result    chat.Result `json:"result"`
	Concludes bool        `json:"concludes,omitempty"` // nothing is left to say after it
	// Spent is what the call's own agents used, for the budget of the tree.
	Spent Spent `json:"spent,omitzero"`
	// Closed lists the call's questions that were open.
	Closed []string `json:"closed,omitempty"`
}

// Spent is use that counts against a budget.
type Spent struct {
	Steps  int   `json:"steps,omitempty"`
	Tokens int64 `json:"tokens,omitempty"` // in and out
	Cost   int64 `json:"cost,omitempty"`   // millionths of a US dollar
}

// Add is the sum of both.
func (s Spent) Add(t Spent) Spent {
	return Spent{Steps: s.Steps + t.Steps, Tokens: s.Tokens + t.Tokens, Cost: s.Cost + t.Cost}
}

// Questions.

// QuestionKind says what is asked.
type QuestionKind string

const (
	QuestionApproval    QuestionKind = "approval"    // may this call run
	QuestionText        QuestionKind = "question"    // something a person knows
	QuestionPlan        QuestionKind = "plan"        // is this plan right
	QuestionElicitation QuestionKind = "elicitation" // values for a form
)

// Question asks the principal something, for one call of the open turn.
type Question struct {
	ID        string          `json:"id"`
	Kind      QuestionKind    `json:"kind"`
	Text      string          `json:"text,omitempty"`
	Options   []string        `json:"options,omitempty"`
	Arguments string          `json:"arguments,omitempty"` // as they will run
	Schema    json.RawMessage `json:"schema,omitempty"`    // of an elicitation's values
	Turn      int             `json:"turn"`
	Answer    Seq             `json:"answer"`
	Index     int             `json:"index"` // of the call
}

// Reply answers a question. The first one counts.
type Reply struct {
	ID    string          `json:"id"`
	By    chat.Source     `json:"by"`
	Allow bool            `json:"allow,omitempty"` // of approvals and plans
	Text  string          `json:"text,omitempty"`  // an option, a reason, an answer
	Data  json.RawMessage `json:"data,omitempty"`  // an elicitation's values
}

// History, settings and kin.

// Replaced puts messages in the place of a range of the transcript.
type Replaced struct {
	From     Seq            `json:"from"` // the first fact it stands for
	To       Seq            `json:"to"`   // the last
	Hook     string         `json:"hook,omitempty"`
	Messages []chat.Message `json:"messages"`
	Spent    Spent          `json:"spent,omitzero"`
}

// Configured changes the agent's settings from the next step on. What a field
// holds replaces what was there; all of it is always given.
type Configured struct {
	Model      string          `json:"model,omitempty"`
	Parameters json.RawMessage `json:"parameters,omitempty"` // temperature, effort, …
	Tools      []string        `json:"tools,omitzero"`       // nil: all; empty: none
	Mode       string          `json:"mode,omitempty"`       // a name that plugins know
	Budget     Budget          `json:"budget,omitzero"`
}

// Budget limits spending: in one turn, in the session, and in the session and
// its children together. Zero means no limit.
type Budget struct {
	Turn    Limit `json:"turn,omitzero"`
	Session Limit `json:"session,omitzero"`
	Tree    Limit `json:"tree,omitzero"`
}

// Limit is the most that may be spent. Zero means no limit.
type Limit struct {
	Spent
	// Wall is the longest a turn may be open; it is for Budget.Turn only.
	Wall time.Duration `json:"wall,omitempty"` // nanoseconds
}

// Spawned says that the open turn has a child session.
type Spawned struct {
	Child    ID   `json:"child"`
	Turn     int  `json:"turn"`
	Detached bool `json:"detached,omitempty"` // outlives a cancel of the turn
}

// Parent is the first fact of a child session. Its principal is the parent.
type Parent struct {
	Session  ID   `json:"session"`
	Turn     int  `json:"turn"` // the parent's
	Detached bool `json:"detached,omitempty"`
}

// Forked ends the prefix that a session shares with another. What was pending
// there was never accepted here, and a turn that was open is closed.
type Forked struct {
	Parent ID  `json:"parent"`
	At     Seq `json:"at"` // the last shared event
}

// Noted is a plugin's fact: kept, found by its keys, skipped by who doesn't
// know it.
type Noted struct {
	Kind    string // plugin/fact: todo/changed
	Version int
	Data    json.RawMessage
	Key     string   // claimed as NotedKey(Key); empty claims nothing
	Finds   []string // found by NotedKey of each
}

func (Accepted) Type() string    { return "accepted" }
func (Entered) Type() string     { return "entered" }
func (Refused) Type() string     { return "refused" }
func (Taken) Type() string       { return "taken" }
func (Withdrawn) Type() string   { return "withdrawn" }
func (Amended) Type() string     { return "amended" }
func (Cancelled) Type() string   { return "cancelled" }
func (Parked) Type() string      { return "parked" }
func (Released) Type() string    { return "released" }
func (TurnStarted) Type() string { return "turn.started" }
func (Halted) Type() string      { return "halted" }
func (TurnEnded) Type() string   { return "turn.ended" }
func (Header) Type() string      { return "header" }
func (Until) Type() string       { return "until" }
func (Attempt) Type() string     { return "attempt" }
func (Reopened) Type() string    { return "reopened" }
func (Answered) Type() string    { return "answered" }
func (CallStarted) Type() string { return "call.started" }
func (Resulted) Type() string    { return "result" }
func (Question) Type() string    { return "question" }
func (Reply) Type() string       { return "reply" }
func (Replaced) Type() string    { return "replaced" }
func (Configured) Type() string  { return "configured" }
func (Spawned) Type() string     { return "spawned" }
func (Parent) Type() string      { return "parent" }
func (Forked) Type() string      { return "forked" }
func (n Noted) Type() string     { return n.Kind }

func (f Accepted) Claim() string { return MessageKey(f.Message.ID) }
func (f Question) Claim() string { return QuestionKey(f.ID) }
func (f Resulted) Claim() string { return CallKey(f.Answer, f.Index) }

func (n Noted) Claim() string {
	if n.Key == "" {
		return ""
	}
	return NotedKey(n.Key)
}

func (f Accepted) Refs() []string  { return []string{MessageKey(f.Message.ID)} }
func (f Refused) Refs() []string   { return []string{MessageKey(f.ID)} }
func (f Taken) Refs() []string     { return []string{MessageKey(f.ID)} }
func (f Withdrawn) Refs() []string { return []string{MessageKey(f.ID)} }
func (f Amended) Refs() []string   { return []string{MessageKey(f.ID)} }
func (f Question) Refs() []string  { return []string{QuestionKey(f.ID)} }
func (f Reply) Refs() []string     { return []string{QuestionKey(f.ID)} }
func (n Noted) Refs() []string     { return keys(NotedKey, n.Finds) }

func (f Entered) Refs() []string {
	refs := make([]string, 0, len(f.Messages))
	for _, m := range f.Messages {
		refs = append(refs, MessageKey(m.ID))
	}
	return refs
}

func (f Cancelled) Refs() []string {
	refs := keys(MessageKey, f.Cleared, f.Kept)
	return append(refs, keys(QuestionKey, f.Closed)...)
}

func (f Parked) Refs() []string    { return keys(MessageKey, f.IDs) }
func (f TurnEnded) Refs() []string { return keys(MessageKey, f.Struck) }
func (f Halted) Refs() []string    { return keys(QuestionKey, f.Closed) }
func (f Resulted) Refs() []string  { return keys(QuestionKey, f.Closed) }

func keys(key func(string) string, lists ...[]string) []string {
	var out []string
	for _, ids := range lists {
		for _, id := range ids {
			out = append(out, key(id))
		}
	}
	return out
}

// pluginType tells a plugin's fact from a core fact by its type alone.
func pluginType(t string) bool { return strings.Contains(t, "/") }

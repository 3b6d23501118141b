package chat

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Finish says why a model stopped.
type Finish string

const (
	FinishStop      Finish = "stop"       // it had said what it wanted
	FinishCalls     Finish = "calls"      // it waits for results
	FinishMaxTokens Finish = "max-tokens" // cut off at the output limit
	FinishRefused   Finish = "refused"    // the provider declined
)

// BlockKind says what a block of an answer holds.
type BlockKind string

const (
	BlockText      BlockKind = "text"
	BlockReasoning BlockKind = "reasoning"
	BlockCall      BlockKind = "call"
)

// Block is one piece of an answer, in the order the model made it.
type Block struct {
	Kind BlockKind `json:"kind"`
	Text string    `json:"text,omitempty"` // of text and reasoning
	Call *Call     `json:"call,omitempty"`
	// Provider is data the provider wants back unchanged with this block, a
	// reasoning signature for one. Compact JSON, at most 1,000 levels deep,
	// read by its adapter only.
	Provider json.RawMessage `json:"provider,omitempty"`
}

// Call is a model's wish to have a tool run.
type Call struct {
	ID   string `json:"id"`   // the provider's, unique in its answer
	Name string `json:"name"` // the tool's
	// Arguments is the text the model wrote: JSON as a rule, but nobody has
	// checked it. Empty means {}.
	Arguments string `json:"arguments,omitempty"`
}

// Answer is what a model made of one request.
type Answer struct {
	Model  string  `json:"model,omitempty"` // who answered, as the provider names it
	Blocks []Block `json:"blocks,omitempty"`
	Finish Finish  `json:"finish,omitempty"` // empty when interrupted
	// Interrupted marks an answer cut off by a stop; it has no calls.
	Interrupted bool  `json:"interrupted,omitempty"`
	Usage       Usage `json:"usage,omitzero"`
	// Provider is data about the answer as a whole, as in Block.
	Provider json.RawMessage `json:"provider,omitempty"`
}

// Calls lists the calls in the model's order.
func (a Answer) Calls() []Call {
	var calls []Call
	for _, b := range a.Blocks {
		if b.Kind == BlockCall && b.Call != nil {
			calls = append(calls, *b.Call)
		}
	}
	return calls
}

// Text joins the text blocks: what the model said aloud.
func (a Answer) Text() string {
	var out []byte
	for _, b := range a.Blocks {
		if b.Kind == BlockText {
			out = append(out, b.Text...)
		}
	}
	return string(out)
}

// WithoutCalls is the answer as if the model had asked for nothing: the calls
// are gone, and the provider data that belonged to them.
func (a Answer) WithoutCalls() Answer {
	var kept []Block
	for _, b := range a.Blocks {
		if b.Kind != BlockCall {
			kept = append(kept, b)
		}
	}
	a.Blocks = kept
	return a
}

// Clone shares nothing with a.
func (a Answer) Clone() Answer {
	a.Blocks = slices.Clone(a.Blocks)
	for i, b := range a.Blocks {
		if b.Call != nil {
			call := *b.Call
			a.Blocks[i].Call = &call
		}
		a.Blocks[i].Provider = bytes.Clone(b.Provider)
	}
	a.Provider = bytes.Clone(a.Provider)
	return a
}

// Code says how a tool call went wrong; empty means that it didn't.
type Code string

const (
	CodeOK         Code = ""
	CodeError      Code = "error"             // the tool ran and reports a failure
	CodeUnknown    Code = "unknown-tool"      // no tool of that name
	CodeArguments  Code = "invalid-arguments" // malformed JSON or against the schema
	CodeDenied     Code = "denied"            // a person or a rule said no
	CodeTimeout    Code = "timeout"           // ran out of time, may have had effects
	CodePanicked   Code = "panicked"          // the tool is broken
	CodeAborted    Code = "aborted"           // stopped while running, may have had effects
	CodeNotStarted Code = "not-started"       // stopped before it began: no effects
	CodeOutcome    Code = "unknown-outcome"   // started, then lost: effects must be checked
)

// Result is what became of a call, as the model is told.
type Result struct {
	Call  string `json:"call"` // Call.ID
	Name  string `json:"name"` // the tool's
	Parts []Part `json:"parts,omitempty"`
	Code  Code   `json:"code,omitempty"`
	// Whole is the full output where Parts hold a cut.
	Whole *Blob `json:"whole,omitempty"`
}

// Clone shares nothing with r.
func (r Result) Clone() Result {
	r.Parts = CloneParts(r.Parts)
	if r.Whole != nil {
		whole := *r.Whole
		r.Whole = &whole
	}
	return r
}

// Usage counts tokens as the provider reports them; what it doesn't is zero.
type Usage struct {
	Input      int64 `json:"input,omitempty"`       // everything sent, cached or not
	CacheRead  int64 `json:"cache_read,omitempty"`  // the share of Input read from the provider's cache
	CacheWrite int64 `json:"cache_write,omitempty"` // the share of Input written to it
	Output     int64 `json:"output,omitempty"`      // everything made, reasoning included
	Reasoning  int64 `json:"reasoning,omitempty"`   // the share of Output spent on reasoning
}

// Add is the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Output:     u.Output + v.Output,
		Reasoning:  u.Reasoning + v.Reasoning,
	}
}

// Total is the number of tokens in and out.
func (u Usage) Total() int64 { return u.Input + u.Output }

package model

import (
	"encoding/json"

	"github.com/tack-agent/tack/chat"
)

// DeltaKind says what a delta adds to the answer.
type DeltaKind string

const (
	DeltaText      DeltaKind = "text"      // Text, to a text block
	DeltaReasoning DeltaKind = "reasoning" // Text, to a reasoning block
	DeltaCall      DeltaKind = "call"      // begins a call block: ID, Name and the first of its arguments, if any, in Text
	DeltaArguments DeltaKind = "arguments" // Text, to the arguments of a call
	DeltaProvider  DeltaKind = "provider"  // Provider, instead of what the block had
	DeltaUsage     DeltaKind = "usage"     // Usage so far, instead of what was told before
	DeltaAnswer    DeltaKind = "answer"    // the answer as a whole: Name and Provider, as far as set
)

// Delta is one piece of an answer being made.
//
// Blocks are numbered from 0 in the order they begin. The first delta of a
// block has the next number and says its kind: text, reasoning or call; an
// empty text begins one too. Later deltas of it may alternate with those of
// other blocks. Text holds whole characters. Deltas of other kinds belong to
// no block.
type Delta struct {
	Kind     DeltaKind       `json:"kind"`
	Block    int             `json:"block,omitempty"`
	Text     string          `json:"text,omitempty"`
	ID       string          `json:"id,omitempty"`   // the call's, unique in the answer
	Name     string          `json:"name,omitempty"` // the tool's; of DeltaAnswer the model's, as the provider names it
	Provider json.RawMessage `json:"provider,omitempty"`
	Usage    chat.Usage      `json:"usage,omitzero"`
}

// Text is a piece of text for a block.
func Text(block int, s string) Delta { return Delta{Kind: DeltaText, Block: block, Text: s} }

// Reasoning is a piece of reasoning for a block.
func Reasoning(block int, s string) Delta { return Delta{Kind: DeltaReasoning, Block: block, Text: s} }

// Call begins a call; its arguments may follow.
func Call(block int, id, name string) Delta {
	return Delta{Kind: DeltaCall, Block: block, ID: id, Name: name}
}

// Arguments is a piece of a call's arguments.
func Arguments(block int, s string) Delta { return Delta{Kind: DeltaArguments, Block: block, Text: s} }

// Provider is the provider's data of a block.
func Provider(block int, data json.RawMessage) Delta {
	return Delta{Kind: DeltaProvider, Block: block, Provider: data}
}

// Usage is what was used so far.
func Usage(u chat.Usage) Delta { return Delta{Kind: DeltaUsage, Usage: u} }

// Join adds next to d if one delta can say both, and says whether it did:
// pieces of the same block become one, the newer usage counts. Slow readers
// are served so.
func (d *Delta) Join(next Delta) bool {
	if d.Kind != next.Kind || d.Block != next.Block {
		return false
	}
	switch d.Kind {
	case DeltaText, DeltaReasoning, DeltaArguments:
		d.Text += next.Text
	case DeltaProvider, DeltaUsage:
		*d = next
	default:
		return false
	}
	return true
}

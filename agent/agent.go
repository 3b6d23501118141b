// Package agent is the contract of a running agent: the three verbs by which
// messages reach it, what it answers, and how it is stopped.
package agent

import (
	"errors"

	"github.com/tack-agent/tack/session"
)

// Receipt says that a message is durably the agent's. It guesses neither the
// turn the message will be in nor what comes of it.
type Receipt struct {
	ID       string       `json:"id"`
	Seq      session.Seq  `json:"seq"`
	Verb     session.Verb `json:"verb"`
	Replayed bool         `json:"replayed,omitempty"` // it had been accepted before
}

// Stopped is what a cancel did.
type Stopped struct {
	Seq     session.Seq `json:"seq"`
	Turn    int         `json:"turn,omitempty"` // the turn it stopped; 0 if none ran
	Cleared []string    `json:"cleared,omitempty"`
	Kept    []string    `json:"kept,omitempty"`
}

var (
	ErrClosed    = errors.New("agent is closed")
	ErrInvalid   = errors.New("invalid")
	ErrConflict  = errors.New("the id is taken by another message")
	ErrFull      = errors.New("inbox is full")
	ErrUnknown   = errors.New("no such message or question")
	ErrNotOwner  = session.ErrNotOwner
	ErrUncertain = session.ErrUncertain
	ErrStorage   = errors.New("storage failed")
	ErrSelfWait  = errors.New("would wait for itself")
)

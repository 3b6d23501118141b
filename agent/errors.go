package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tack-agent/tack/session"
)

var (
	// ErrClosed says that the agent was closed. Its session can be opened again.
	ErrClosed = errors.New("agent is closed")
	// ErrInvalid says that an argument is wrong; the error names the field.
	ErrInvalid = errors.New("invalid")
	// ErrConflict says that the id was accepted with another verb or content.
	ErrConflict = errors.New("the id is taken by another message")
	// ErrFull says that no more messages may wait, or that one is too big.
	ErrFull = errors.New("inbox is full")
	// ErrUnknown says that no message or question has the id.
	ErrUnknown = errors.New("no such message or question")
	// ErrNotOwner says that another process owns the session; the error is a
	// *session.NotOwnerError with its address.
	ErrNotOwner = session.ErrNotOwner
	// ErrUncertain says that the message may have been accepted or not; the
	// error is an *UncertainError with its id.
	ErrUncertain = session.ErrUncertain
	// ErrFaulted says that the handle is of no use any more and nothing changed:
	// the session is to be opened anew.
	ErrFaulted = session.ErrFaulted
	// ErrStorage says that the log could not be written; nothing changed.
	ErrStorage = errors.New("the log could not be written")
	// ErrSelfWait says that the call waits for what waits for it.
	ErrSelfWait = errors.New("would wait for itself")
)

// UncertainError names the message whose acceptance is unknown. Repeating the
// call with that id is safe.
type UncertainError struct {
	ID  string
	Err error // why it isn't known
}

func (e *UncertainError) Error() string {
	return fmt.Sprintf("message %s: %v; repeat it with this id to be sure: %v", e.ID, ErrUncertain, e.Err)
}

func (e *UncertainError) Unwrap() []error { return []error{ErrUncertain, e.Err} }

// AbandonedError names the tools, hooks and models that ignored their context
// and were left behind. They hold nothing of the agent and can't write.
type AbandonedError struct{ Names []string }

func (e *AbandonedError) Error() string {
	return "left behind because they ignored their context: " + strings.Join(e.Names, ", ")
}

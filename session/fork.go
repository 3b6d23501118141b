package session

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoBoundary is in the chain of every *BoundaryError.
var ErrNoBoundary = errors.New("not a step boundary")

// BoundaryError says that a fork would cut a step in two.
type BoundaryError struct {
	Parent ID
	At     Seq
	Before Seq // the last event before At where a fork may cut; 0: there is none
}

func (e *BoundaryError) Error() string {
	if e.Before == 0 {
		return fmt.Sprintf("fork session %s at event %d: %v, and none is before it", e.Parent, e.At, ErrNoBoundary)
	}
	return fmt.Sprintf("fork session %s at event %d: %v; the last before it is event %d", e.Parent, e.At, ErrNoBoundary, e.Before)
}

func (e *BoundaryError) Unwrap() error { return ErrNoBoundary }

// ForkLog makes the empty session of lease begin like parent, up to the event
// at, and go its own way from there. It cuts where no request is open and every
// call has its result, else the error is a *BoundaryError. Messages that waited
// at the cut were never accepted in the fork.
func ForkLog(ctx context.Context, s Store, lease Lease, parent ID, at Seq, now time.Time) error {
	c := cut{parent: parent, at: at}
	for e, err := range Events(ctx, s, parent, 0) {
		if err != nil {
			return fmt.Errorf("fork session %s: %w", parent, err)
		}
		if e.Seq > at {
			break
		}
		if err := c.apply(e); err != nil {
			return fmt.Errorf("fork session %s: %w", parent, err)
		}
	}
	if c.seen != at || at == 0 {
		return fmt.Errorf("fork session %s at event %d, of %d: %w", parent, at, c.seen, ErrNotFound)
	}
	if c.asking || c.talk.Transcript.open > 0 {
		return &BoundaryError{Parent: parent, At: at, Before: c.before}
	}
	record, err := Encode(Event{Seq: at + 1, Time: now, Fact: Forked{Parent: parent, At: at}})
	if err != nil {
		return err
	}
	return s.Fork(ctx, Fork{Lease: lease, Parent: parent, At: at, Forget: c.forget(), Record: record})
}

// cut follows a log to where it is to be cut.
type cut struct {
	parent ID
	at     Seq
	seen   Seq
	before Seq // the last boundary
	asking bool
	talk   Conversation
}

func (c *cut) apply(e Event) error {
	if err := c.talk.Apply(e); err != nil {
		return err
	}
	switch e.Fact.(type) {
	case Entered:
		c.asking = true
	case Answered, TurnEnded:
		c.asking = false
	}
	if c.seen = e.Seq; !c.asking && c.talk.Transcript.open == 0 {
		c.before = e.Seq
	}
	return nil
}

// forget lists the keys of what waits.
func (c *cut) forget() []string {
	var keys []string
	for _, p := range c.talk.Inbox.Pending() {
		keys = append(keys, MessageKey(p.ID))
	}
	return keys
}

package session

import (
	"context"
	"errors"
	"fmt"
)

// ErrFaulted says that a Log is of no use any more and wrote nothing.
var ErrFaulted = errors.New("the log must be opened anew")

// Log is one session's log in the hand of its owner. It belongs to one
// goroutine at a time.
type Log struct {
	store Store
	lease Lease
	head  Seq
	fault error // why nothing more can be appended
}

// OpenLog makes a living process the owner of a session, and goes on where its
// log ends.
func OpenLog(ctx context.Context, s Store, id ID, process string) (*Log, error) {
	lease, err := s.Acquire(ctx, id, process)
	if err != nil {
		return nil, fmt.Errorf("open the log of session %s: %w", id, err)
	}
	return NewLog(s, lease, lease.Head), nil
}

// NewLog is the log under a lease already held, at its last event.
func NewLog(s Store, lease Lease, head Seq) *Log { return &Log{store: s, lease: lease, head: head} }

// ID is the session's.
func (l *Log) ID() ID { return l.lease.Session }

// Head is the last event.
func (l *Log) Head() Seq { return l.head }

// Lease is the owner's.
func (l *Log) Lease() Lease { return l.lease }

// Store is where the log is kept.
func (l *Log) Store() Store { return l.store }

// Append stores events as one. They have the sequences that follow Head. An
// error says that nothing was written, but for ErrUncertain.
//
// After ErrUncertain, ErrNotOwner or ErrClosed nothing is tried any more, and
// the session is to be opened anew: later calls answer ErrFaulted and why, and
// are never uncertain themselves.
func (l *Log) Append(ctx context.Context, events ...Event) error {
	if l.fault != nil {
		return l.refusal()
	}
	if len(events) == 0 {
		return nil
	}
	records := make([]Record, len(events))
	for i, e := range events {
		r, err := Encode(e)
		if err != nil {
			return err
		}
		records[i] = r
	}
	err := l.store.Append(ctx, Append{Lease: l.lease, Records: records})[0]
	switch {
	case err == nil:
		l.head = records[len(records)-1].Seq
	case errors.Is(err, ErrUncertain), errors.Is(err, ErrNotOwner), errors.Is(err, ErrClosed):
		l.fault = err
	}
	return err
}

// refusal names the fault. ErrUncertain is told in words alone: it would say
// of this append what is true of an earlier one.
func (l *Log) refusal() error {
	if errors.Is(l.fault, ErrUncertain) {
		return fmt.Errorf("append to session %s: %w after: %v", l.ID(), ErrFaulted, l.fault) //nolint:errorlint // see above
	}
	return fmt.Errorf("append to session %s: %w after: %w", l.ID(), ErrFaulted, l.fault)
}

// Release gives the session back.
func (l *Log) Release(ctx context.Context) error { return l.store.Release(ctx, l.lease) }

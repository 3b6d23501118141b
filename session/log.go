package session

import (
	"context"
	"errors"
	"fmt"
)

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
	l := &Log{store: s, lease: lease}
	for {
		records, err := s.Read(ctx, id, l.head, page)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the log of session %s: %w", id, err), s.Release(ctx, lease))
		}
		if len(records) == 0 {
			return l, nil
		}
		l.head = records[len(records)-1].Seq
	}
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

// Append stores events as one. After ErrUncertain, ErrNotOwner or ErrClosed
// nobody knows what the log ends in: all that follow are refused with that
// error, and the session is to be opened anew. Any other error has changed
// nothing.
func (l *Log) Append(ctx context.Context, events ...Event) error {
	if l.fault != nil {
		return l.fault
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

// Release gives the session back.
func (l *Log) Release(ctx context.Context) error { return l.store.Release(ctx, l.lease) }

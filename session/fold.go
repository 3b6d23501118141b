package session

import (
	"context"
	"errors"
	"fmt"
)

// Fold is a state made of a log's events in order.
type Fold interface {
	// Name is the fold's in snapshots.
	Name() string
	// Version rises when Encode, or the meaning of what it writes, changes.
	Version() int
	// Apply takes the state one event further.
	Apply(e Event) error
	// Encode writes the state; Decode takes it over, instead of what was.
	Encode() ([]byte, error)
	Decode(data []byte) error
}

// Filler is a fold whose snapshots hold sequences instead of content.
type Filler interface {
	// Missing lists, after Decode, the events that have what was left out.
	Missing() []Seq
	// Fill takes one of them; they come in order.
	Fill(e Event) error
}

// Restore brings a new fold to the end of a log: from its snapshot and the
// events after it, or from all events if there is no snapshot of its version
// that fits the log. It appends nothing. fresh makes the fold of an empty log,
// anew where a snapshot has spoilt it.
func Restore[F Fold](ctx context.Context, s Store, id ID, fresh func() F) (F, Seq, error) {
	fold, at, err := fromSnapshot(ctx, s, id, fresh)
	if err != nil {
		fold, at = fresh(), 0
	}
	for e, err := range Events(ctx, s, id, at) {
		if err == nil {
			err = fold.Apply(e)
		}
		if err != nil {
			return fold, at, fmt.Errorf("fold session %s: %w", id, err)
		}
		at = e.Seq
	}
	return fold, at, nil
}

var errNoSnapshot = errors.New("no snapshot to start from")

func fromSnapshot[F Fold](ctx context.Context, s Store, id ID, fresh func() F) (F, Seq, error) {
	fold := fresh()
	snap, err := s.Snapshot(ctx, id, fold.Name())
	if err != nil {
		return fold, 0, err
	}
	if snap.Version != fold.Version() || snap.Seq == 0 {
		return fold, 0, errNoSnapshot
	}
	if last, err := s.Read(ctx, id, snap.Seq-1, 1); err != nil || len(last) == 0 {
		return fold, 0, errNoSnapshot // the log ends before it
	}
	if err := fold.Decode(snap.Data); err != nil {
		return fold, 0, err
	}
	return fold, snap.Seq, fill(ctx, s, id, fold, snap.Seq)
}

// near is how far apart two events may be to be read at once.
const near = 16

// fill reads what a snapshot left out, in runs of events near each other.
func fill(ctx context.Context, j Journal, id ID, fold Fold, most Seq) error {
	filler, is := fold.(Filler)
	if !is {
		return nil
	}
	missing := filler.Missing()
	if n := len(missing); n > 0 && missing[n-1] > most {
		return errNoSnapshot
	}
	for len(missing) > 0 {
		n := run(missing)
		if err := fillRun(ctx, j, id, filler, missing[:n]); err != nil {
			return err
		}
		missing = missing[n:]
	}
	return nil
}

// run is how many of the sequences are near each other and fit in a page.
func run(seqs []Seq) int {
	n := 1
	for n < len(seqs) && seqs[n]-seqs[n-1] <= near && seqs[n]-seqs[0] < page {
		n++
	}
	return n
}

// fillRun reads from the first of the sequences to the last and decodes those
// that are among them.
func fillRun(ctx context.Context, j Journal, id ID, filler Filler, seqs []Seq) error {
	for len(seqs) > 0 {
		records, err := j.Read(ctx, id, seqs[0]-1, int(seqs[len(seqs)-1]-seqs[0])+1)
		if err != nil {
			return err
		}
		left := len(seqs)
		for _, r := range records {
			if len(seqs) == 0 || r.Seq != seqs[0] {
				continue
			}
			e, err := Decode(id, r)
			if err == nil {
				err = filler.Fill(e)
			}
			if err != nil {
				return err
			}
			seqs = seqs[1:]
		}
		if len(seqs) == left {
			return errNoSnapshot
		}
	}
	return nil
}

// SaveSnapshot saves a fold that has come to an event.
func SaveSnapshot(ctx context.Context, s Snapshots, l Lease, fold Fold, at Seq) error {
	data, err := fold.Encode()
	if err != nil {
		return fmt.Errorf("encode the %s of session %s: %w", fold.Name(), l.Session, err)
	}
	return s.Save(ctx, l, Snapshot{Fold: fold.Name(), Version: fold.Version(), Seq: at, Data: data})
}

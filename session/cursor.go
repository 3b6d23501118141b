package session

import (
	"context"
	"fmt"
	"iter"
)

// page is how many records one read asks for.
const page = 256

// Events yields the events above after, in order, up to the log's end. An
// error is the last thing it yields; a fact that can't be read is a
// *FormatError.
func Events(ctx context.Context, j Journal, id ID, after Seq) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			n, last, goes := yieldPage(ctx, j, id, after, yield)
			if !goes || n == 0 {
				return
			}
			after = last
		}
	}
}

// Follow yields the events above after, in order, and goes on with those that
// come, until the context ends, whose error is the last thing it yields. A
// reader that is slow or comes late reads on where it was and misses nothing.
func Follow(ctx context.Context, j Journal, id ID, after Seq) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			_, last, goes := yieldPage(ctx, j, id, after, yield)
			if !goes {
				return
			}
			after = last
			if err := j.Wait(ctx, id, after); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// yieldPage yields one read's events and says how many there were, which was
// the last, and whether to go on.
func yieldPage(ctx context.Context, j Journal, id ID, after Seq, yield func(Event, error) bool) (int, Seq, bool) {
	records, err := j.Read(ctx, id, after, page)
	if err != nil {
		yield(Event{}, fmt.Errorf("read session %s after event %d: %w", id, after, err))
		return 0, after, false
	}
	for _, r := range records {
		if r.Seq != after+1 {
			yield(Event{}, fmt.Errorf("read session %s: event %d follows event %d: the log has a hole; restore it from a backup", id, r.Seq, after))
			return 0, after, false
		}
		e, err := Decode(id, r)
		if !yield(e, err) || err != nil {
			return 0, after, false
		}
		after = r.Seq
	}
	return len(records), after, true
}

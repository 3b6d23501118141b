package react

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/session"
)

// insiders are the agents in whose turns a context's code runs.
type insiders struct{}

// within marks ctx as being inside a turn of these agents.
func within(ctx context.Context, ids ...session.ID) context.Context {
	outer, _ := ctx.Value(insiders{}).([]session.ID)
	return context.WithValue(ctx, insiders{}, slices.Concat(outer, ids))
}

// inherit marks ctx as being inside what outer is inside of.
func inherit(ctx, outer context.Context) context.Context {
	if ids := outer.Value(insiders{}); ids != nil {
		return context.WithValue(ctx, insiders{}, ids)
	}
	return ctx
}

// inside says whether ctx belongs to a turn of the agent, or of a child's.
func inside(ctx context.Context, id session.ID) bool {
	ids, _ := ctx.Value(insiders{}).([]session.ID)
	return slices.Contains(ids, id)
}

// Close suspends the agent. All who close wait for the same end, at most the
// grace time.
func (d *driver) Close(ctx context.Context) error {
	if inside(ctx, d.id) {
		return fmt.Errorf("close agent %s: %w", d.id, agent.ErrSelfWait)
	}
	d.mu.Lock()
	if !d.closing {
		d.closing = true
		d.end(errClosing)
		go d.shut()
	}
	d.mu.Unlock()
	select {
	case <-d.gone:
		return d.parting
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shut waits for what is in flight to come back, gives up on what doesn't, and
// hands the session back.
func (d *driver) shut() {
	deadline := time.NewTimer(d.grace)
	defer deadline.Stop()
	if !d.quietens(deadline.C) {
		d.giveUp()
		d.quietens(nil)
	}
	d.mu.Lock()
	for _, c := range []*clock{&d.wait, &d.alarm} {
		if c.timer != nil {
			c.timer.Stop()
		}
	}
	for _, t := range []*time.Timer{d.mercy, d.retry} {
		if t != nil {
			t.Stop()
		}
	}
	var left []string
	for _, f := range d.strays {
		left = append(left, f.name)
	}
	d.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), d.grace)
	defer cancel()
	d.live.close()
	d.snap(ctx)
	err := d.scope.Close(ctx)
	if released := d.log.Release(ctx); err == nil {
		err = released
	}
	if len(left) > 0 {
		err = &agent.AbandonedError{Names: left}
	}
	d.parting = err
	close(d.gone)
}

// snap saves what the machine knows, so that the next opening reads a tail only.
// Without it all is read; so its failure is nobody's.
func (d *driver) snap(ctx context.Context) {
	d.mu.Lock()
	useless := d.fault != nil
	d.mu.Unlock()
	if useless || d.m.Head == 0 {
		return
	}
	if err := session.SaveSnapshot(ctx, d.store, d.log.Lease(), d.m, d.m.Head); err != nil {
		d.scope.Log().Warn("the session has no new snapshot; it opens all the same, more slowly", "session", d.id, "error", err)
	}
}

// quietens waits until nothing is in flight or waits to be stored.
func (d *driver) quietens(deadline <-chan time.Time) bool {
	d.mu.Lock()
	quiet := make(chan struct{})
	d.quiet = quiet
	if !d.owned {
		d.settled()
	}
	d.mu.Unlock()
	select {
	case <-quiet:
		return true
	case <-deadline:
		return false
	}
}

// giveUp answers for the calls that ignored their context, and forgets all
// other flights. What can't be stored by now stays unsaid.
func (d *driver) giveUp() {
	d.mu.Lock()
	for _, f := range slices.Clone(d.flights) {
		if d.heard(f) {
			continue
		}
		d.leave(f)
		if f.kind == calls {
			d.queue = append(d.queue, request{in: f.lost(nil)})
		}
	}
	d.fallen, d.cancels, d.last = nil, nil, true
	take := !d.owned
	d.owned = true
	d.mu.Unlock()
	if take {
		d.lead()
	}
}

package react

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tack-agent/tack/session"
)

// flight is a piece of owed work under way, on a goroutine that isn't the
// owner's. The driver's mu guards abandoned; the rest never changes.
type flight struct {
	mark
	name string          // whose code runs, for people
	ctx  context.Context //nolint:containedctx // a flight is one call
	end  context.CancelFunc
	// run does the work and returns the machine's input, nil if there is
	// nothing to say.
	run func(context.Context) input
	// lost is the input if the code panics or never comes back.
	lost func(panicked any) input

	abandoned bool // nobody listens any more
}

// mark tells one piece of work from all others of the agent.
type mark struct {
	kind  kind
	cause session.Seq // of calls: the answer's sequence
	index int         // of calls
}

type kind int

const (
	consults kind = iota
	asks
	calls
	ends
)

// fly runs a flight, and what follows from it as long as this goroutine has the
// owner's role to hand.
func (d *driver) fly(f *flight) {
	for f != nil {
		f = d.hear(f, f.safely())
	}
}

// safely runs the flight and survives it.
func (f *flight) safely() (in input) {
	defer func() {
		if r := recover(); r != nil {
			in = f.lost(fmt.Sprintf("%v\n%s", r, debug.Stack()))
		}
	}()
	return f.run(f.ctx)
}

// hear takes what a flight says, takes the role if nobody has it, and returns
// the flight to go on with.
func (d *driver) hear(f *flight, in input) *flight {
	f.end()
	d.mu.Lock()
	switch {
	case f.abandoned || d.fault != nil:
		d.landed(f)
		d.settled()
		d.mu.Unlock()
		return nil
	case in == nil:
		d.landed(f)
	default:
		d.queue = append(d.queue, request{in: in, flight: f})
	}
	take := !d.owned
	d.owned = true
	d.mu.Unlock()
	if !take {
		return nil
	}
	return d.own()
}

// landed forgets a flight. The caller holds mu.
func (d *driver) landed(f *flight) {
	if f == nil {
		return
	}
	gone := func(g *flight) bool { return g == f }
	d.flights = slices.DeleteFunc(d.flights, gone)
	if f.abandoned {
		d.strays = slices.DeleteFunc(d.strays, gone)
	}
	d.release()
}

// release ends the contexts of turns that are over, once nothing is under way
// that may still be calling with one. The caller holds mu.
func (d *driver) release() {
	if len(d.flights) > 0 {
		return
	}
	for _, end := range d.over {
		end(errTurnEnded)
	}
	d.over = nil
}

// flying returns the flight at a piece of work, or nil. The caller holds mu.
func (d *driver) flying(m mark) *flight {
	for _, f := range d.flights {
		if f.mark == m {
			return f
		}
	}
	return nil
}

// begin returns the flights for what is owed and not under way, and sets timers.
// Hooks that were asked about a batch which has changed since are left to end
// by themselves: they may be the ones who changed it. Their answer is stale.
func (d *driver) begin() []*flight {
	w := d.owing
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timers(w)
	if d.stops > 0 || d.closing || d.fault != nil || d.turn == nil {
		return nil
	}
	var out []*flight
	start := func(m mark, make func() *flight) {
		if d.flying(m) != nil {
			return
		}
		f := make()
		f.mark = m
		f.ctx, f.end = context.WithCancel(d.turn)
		d.flights = append(d.flights, f)
		out = append(out, f)
	}
	if w.consult.cause != 0 {
		start(mark{consults, w.consult.cause, 0}, func() *flight { return d.consulting(w.consult) })
	}
	if w.ask.cause != 0 {
		start(mark{asks, w.ask.cause, 0}, func() *flight { return d.askingFor(w.ask) })
	}
	if w.end.cause != 0 {
		start(mark{ends, w.end.cause, 0}, func() *flight { return d.endingOf(w.end) })
	}
	for _, c := range w.calls {
		start(mark{calls, c.answer, c.index}, func() *flight { return d.callingFor(c) })
	}
	return out
}

// timers sets the clocks for what is owed at a time. The caller holds mu.
func (d *driver) timers(w work) {
	d.clock(&d.wait, w.wait)
	d.clock(&d.alarm, w.alarm)
	if stop := w.halt.cause; stop != 0 && d.graceFor != stop {
		d.graceFor = stop
		d.mercy = time.AfterFunc(d.grace, func() { d.abandon(stop) })
	}
	if w.halt.cause == 0 && d.mercy != nil {
		d.mercy.Stop()
		d.mercy = nil
	}
}

// clock is a timer that answers a waiting.
type clock struct {
	cause session.Seq
	timer *time.Timer
}

func (d *driver) clock(c *clock, w waiting) {
	if c.cause == w.cause {
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	*c = clock{cause: w.cause}
	if w.cause == 0 || d.closing || d.fault != nil {
		return
	}
	c.timer = time.AfterFunc(w.until.Sub(d.world.Now()), func() {
		d.nudge(request{in: elapsed{cause: w.cause}})
	})
}

// nudge brings an input that answers owed work without a flight.
func (d *driver) nudge(r request) {
	d.mu.Lock()
	if d.fault != nil || d.closing {
		d.mu.Unlock()
		return
	}
	d.queue = append(d.queue, r)
	take := !d.owned
	d.owned = true
	d.mu.Unlock()
	if take {
		d.lead()
	}
}

// abandon gives up on what hasn't come back in the grace time of a stop: it
// holds nothing of the agent any more, and what it says is not heard.
func (d *driver) abandon(stop session.Seq) {
	d.mu.Lock()
	if d.graceFor != stop || d.fault != nil {
		d.mu.Unlock()
		return
	}
	for _, f := range slices.Clone(d.flights) {
		if f.kind != asks && f.kind != calls || f.abandoned || d.heard(f) {
			continue
		}
		d.leave(f)
		d.queue = append(d.queue, request{in: f.lost(nil)})
	}
	take := !d.owned && len(d.queue) > 0
	d.owned = d.owned || take
	d.mu.Unlock()
	if take {
		d.lead()
	}
}

// leave gives a flight up: what it says is not heard any more. The caller holds
// mu.
func (d *driver) leave(f *flight) {
	d.landed(f)
	f.abandoned = true
	d.strays = append(d.strays, f)
}

// heard says whether a flight has come back and its input waits.
func (d *driver) heard(f *flight) bool {
	is := func(r request) bool { return r.flight == f }
	return slices.ContainsFunc(d.queue, is) || slices.ContainsFunc(d.fallen, is)
}

package react

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/session"
)

// Being the owner is a role. Whoever brings an input while nobody has the role
// takes it, works off all that waits, and lays it down; so an idle agent has no
// goroutine, and a tool loop needs no hand-over. No plugin's code runs in it.

// enough bounds the inputs of one append.
const enough = 256

// request is an input on its way to the machine.
type request struct {
	in     input
	told   chan<- answer // who waits for the outcome; nil: nobody
	flight *flight       // the work it answers; nil: a caller's wish

	out      outcome
	from, to int // its events in the unit
}

// answer is what a caller hears, once what it rests on is stored.
type answer struct {
	outcome
	err error
}

// ask hands over a caller's wish and waits for the outcome, as long as ctx
// lets it. Who stops waiting doesn't know the outcome.
func (d *driver) ask(ctx context.Context, in input) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	told := make(chan answer, 1)
	if err := d.submit(request{in: in, told: told}); err != nil {
		return outcome{}, err
	}
	select {
	case a := <-told:
		switch {
		case a.err != nil:
			return outcome{}, a.err
		case a.outcome.err != nil:
			return outcome{}, a.outcome.err
		default:
			return a.outcome, nil
		}
	case <-ctx.Done():
		return outcome{}, fmt.Errorf("%w: %w", agent.ErrUncertain, ctx.Err())
	}
}

// submit hands a wish over. It waits for nothing.
func (d *driver) submit(r request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.closed(); err != nil {
		return err
	}
	if _, is := r.in.(cancel); is {
		d.halt()
	}
	d.queue = append(d.queue, r)
	if !d.owned {
		d.owned = true
		go d.lead()
	}
	return nil
}

// lead has the role on a goroutine of its own.
func (d *driver) lead() {
	if f := d.own(); f != nil {
		d.fly(f)
	}
}

// halt makes a stop take hold at once: what runs for the turn is told to end,
// and nothing begins until the cancel is stored. The caller holds mu.
func (d *driver) halt() {
	d.stops++
	if d.stop != nil {
		d.stop(errStopped)
	}
}

// closed says why no more wishes are taken. The caller holds mu.
func (d *driver) closed() error {
	switch {
	case d.fault != nil:
		return d.fault
	case d.closing:
		return agent.ErrClosed
	default:
		return nil
	}
}

// own works off what waits and lays the role down. It returns one flight that
// is to begin, for a worker to go on with, and begins the others.
func (d *driver) own() (next *flight) {
	for {
		batch, more := d.take()
		if !more {
			return next
		}
		if next != nil {
			go d.fly(next)
		}
		next = nil
		for _, f := range d.process(batch) {
			if next != nil {
				go d.fly(next)
			}
			next = f
		}
	}
}

// take returns what waits, or lays the role down. Cancels that could not be
// stored come before everything else.
func (d *driver) take() (batch []request, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.again {
		d.queue = append(d.fallen, d.queue...)
		d.fallen, d.again = nil, false
	} else if len(d.queue) == 0 {
		d.owned = false
		d.settled()
		return nil, false
	}
	n := min(len(d.queue), enough)
	batch = d.queue[:n:n]
	if len(d.cancels) > 0 {
		batch = slices.Concat(d.cancels, batch)
		d.cancels = nil
	}
	if d.queue = d.queue[n:]; len(d.queue) == 0 {
		d.queue = nil
	}
	return batch, true
}

// process settles a batch, appends what was decided as one, tells the callers,
// and returns the work that is to begin.
func (d *driver) process(batch []request) []*flight {
	for len(batch) > 0 {
		d.m.mark()
		events := d.settle(batch)
		err := d.log.Append(d.always, events...)
		if err == nil {
			d.keep(batch, events)
			return d.begin()
		}
		d.m.undo()
		batch = d.turnedDown(batch, events, err)
	}
	return nil
}

// settle has the machine decide on each input, and on what answers itself.
func (d *driver) settle(batch []request) []session.Event {
	now := d.world.Now()
	calm := d.calm(batch)
	var events []session.Event
	for i := range batch {
		r := &batch[i]
		r.from = len(events)
		made, out := d.m.settle(now, r.in)
		events, r.out = append(events, made...), out
		for in := d.reflex(calm); in != nil; in = d.reflex(calm) {
			made, _ = d.m.settle(now, in)
			events = append(events, made...)
		}
		r.to = len(events)
	}
	return events
}

// calm says that the agent isn't being closed and no cancel is on its way but
// those of the batch.
func (d *driver) calm(batch []request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.stops
	for _, r := range batch {
		if _, is := r.in.(cancel); is {
			n--
		}
	}
	return n == 0 && !d.closing
}

// keep makes known what was stored.
func (d *driver) keep(batch []request, events []session.Event) {
	d.mu.Lock()
	d.patience = 0
	for _, r := range batch {
		if _, is := r.in.(cancel); is {
			d.stops--
		}
		d.landed(r.flight)
	}
	for _, e := range events {
		d.turnTo(e)
	}
	d.status = agent.Status{State: agent.Idle, Head: d.m.Head}
	if d.m.Turn.open() {
		d.status.State, d.status.Turn = agent.Working, d.m.Turns
	}
	d.mu.Unlock()
	for _, r := range batch {
		r.answer(nil)
	}
}

// turnTo opens and ends the context of the turn's work. The caller holds mu.
func (d *driver) turnTo(e session.Event) {
	switch f := e.Fact.(type) {
	case session.TurnStarted:
		d.turn, d.stop = context.WithCancelCause(d.base)
		if d.stops > 0 {
			d.stop(errStopped)
		}
	case session.Reply:
		d.replied(f)
	case session.Halted:
		d.stop(errStopped)
	case session.Reopened:
		if d.turn == nil && f.Turn != 0 {
			d.turn, d.stop = context.WithCancelCause(d.base)
		}
	case session.TurnEnded:
		d.over = append(d.over, d.stop)
		d.turn, d.stop = nil, nil
		d.release()
	}
}

// What ends the context of a turn's work.
var (
	errStopped   = errors.New("the turn was stopped")
	errTurnEnded = errors.New("the turn has ended")
	errClosing   = errors.New("the agent is being closed")
)

// answer tells a caller what became of the wish.
func (r request) answer(err error) {
	if r.told != nil {
		r.told <- answer{outcome: r.out, err: err}
	}
}

// turnedDown deals with a unit that isn't stored, and returns what is to be
// tried again at once.
func (d *driver) turnedDown(batch []request, events []session.Event, err error) []request {
	var exists *session.ExistsError
	switch {
	case errors.As(err, &exists):
		return d.known(batch, events, exists)
	case errors.Is(err, session.ErrNotOwner), errors.Is(err, session.ErrUncertain), errors.Is(err, session.ErrClosed):
		d.fail(batch, err)
	case len(batch) > 1:
		d.singly(batch)
	default:
		d.fell(batch[0], fmt.Errorf("%w: %w", agent.ErrStorage, err))
	}
	return nil
}

// known takes out the input whose claim the log has already: the caller looks
// up there what became of it.
func (d *driver) known(batch []request, events []session.Event, exists *session.ExistsError) []request {
	at := -1
	for i, e := range events {
		if f, claims := e.Fact.(interface{ Claim() string }); claims && f.Claim() == exists.Claim {
			at = i
		}
	}
	for i, r := range batch {
		if at < r.from || at >= r.to {
			continue
		}
		d.mu.Lock()
		d.landed(r.flight)
		d.mu.Unlock()
		r.out = outcome{absent: true}
		r.answer(nil)
		return slices.Concat(batch[:i], batch[i+1:])
	}
	d.fail(batch, fmt.Errorf("the store refused a claim that nothing made: %w", exists))
	return nil
}

// singly processes inputs one by one, so that one which can't be stored takes
// no other down. A cancel that can't be lets nothing pass.
func (d *driver) singly(batch []request) {
	for i, r := range batch {
		for _, f := range d.process([]request{r}) {
			go d.fly(f)
		}
		d.mu.Lock()
		fault, stuck := d.fault, len(d.cancels) > 0
		d.mu.Unlock()
		switch {
		case fault != nil:
			d.fail(batch[i+1:], fault)
			return
		case stuck:
			for _, r := range batch[i+1:] {
				d.fell(r, fmt.Errorf("%w: a cancel could not be stored and comes first", agent.ErrStorage))
			}
			return
		}
	}
}

// fell deals with one input that could not be stored. A cancel stays in force
// and is tried again before all else, an answer to work is tried again, a
// caller may do so.
func (d *driver) fell(r request, err error) {
	r.answer(err)
	if _, is := r.in.(cancel); !is && r.told != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last {
		d.landed(r.flight)
		return
	}
	if _, is := r.in.(cancel); is {
		d.cancels = append(d.cancels, request{in: r.in})
	} else {
		d.fallen = append(d.fallen, r)
	}
	d.later()
}

// How long to wait before trying to store again: twice as long each time.
const (
	firstPatience = 50 * time.Millisecond
	lastPatience  = 5 * time.Second
)

// later has what fell tried again after a while. The caller holds mu.
func (d *driver) later() {
	if d.retry != nil {
		return
	}
	d.patience = min(max(2*d.patience, firstPatience), lastPatience)
	d.retry = time.AfterFunc(d.patience, func() {
		d.mu.Lock()
		d.retry = nil
		d.again = true
		take := !d.owned && d.fault == nil
		d.owned = d.owned || take
		d.mu.Unlock()
		if take {
			d.lead()
		}
	})
}

// fail makes the handle useless: the log is another's, or nobody knows what is
// in it. The host opens the session anew. Only those of the batch don't know
// what became of their wish; nothing was tried of the others'.
func (d *driver) fail(batch []request, err error) {
	d.mu.Lock()
	if d.fault == nil {
		d.fault = faulted(err)
		d.end(d.fault)
	}
	fault, queue := d.fault, d.queue
	d.queue, d.fallen, d.cancels = nil, nil, nil
	for _, r := range slices.Concat(batch, queue) {
		d.landed(r.flight)
	}
	for _, c := range d.idlers {
		close(c)
	}
	d.idlers = nil
	d.mu.Unlock()
	for _, r := range batch {
		r.answer(err)
	}
	for _, r := range queue {
		r.answer(fault)
	}
}

// faulted is what later callers are told. ErrUncertain would say of their
// wishes what is true of an earlier one.
func faulted(err error) error {
	if errors.Is(err, session.ErrUncertain) {
		return fmt.Errorf("%w after: %v", session.ErrFaulted, err) //nolint:errorlint // see above
	}
	return fmt.Errorf("%w after: %w", session.ErrFaulted, err)
}

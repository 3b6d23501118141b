package host

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// held is an agent as the host hands it out: from its opening to its close,
// with an eye on what its calls answer. A driver that says the handle is of no
// use any more, or its scope's end, has the next who opens the session get
// another.
type held struct {
	host *Host
	id   session.ID

	hurry   context.CancelCauseFunc // ends the opening
	ready   chan struct{}           // closed once opened, or not
	err     error                   // why it isn't; once ready
	running agent.Running           // once ready

	// Guarded by the table's mu.
	calls   int           // inside
	doubt   bool          // the last write's outcome is unknown: ask before the next use
	broken  bool          // of no use any more
	resting chan struct{} // not nil: calls wait until it is closed
	parting *parting      // not nil: closing
}

// parting is a close that all who close wait for.
type parting struct {
	done chan struct{}
	err  error // once done
}

var _ agent.Running = (*held)(nil)

// begin opens the agent. It may take as long as the log needs.
func (e *held) begin(ctx context.Context, s *seat, o opening) {
	defer close(e.ready)
	e.running, e.err = e.drive(ctx, s, o)
	switch {
	case e.err == nil && !e.host.agents.on(s): // it came too late
		e.err = errors.Join(errLeft, e.running.Close(ctx))
	case e.err != nil && ctx.Err() != nil:
		e.err = fmt.Errorf("%w: %w", context.Cause(ctx), e.err)
	}
	if e.err != nil {
		e.host.agents.forget(e)
	}
}

func (e *held) drive(ctx context.Context, s *seat, o opening) (running agent.Running, err error) {
	driver, found := Driver.Get(e.host.scope)
	if !found {
		return nil, ErrNoDriver
	}
	lease, err := s.acquire(ctx, e.id)
	if err != nil {
		return nil, err
	}
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the driver panicked: %v", value)
		}
		if err != nil {
			err = errors.Join(err, s.store.Release(context.WithoutCancel(ctx), lease))
		}
	}()
	return driver.Drive(ctx, agent.Start{
		Store: s.store, Lease: lease, Mode: o.mode, Parent: o.parent,
		Scope: e.host.agents.scope, World: e.host.options.World, Grace: e.host.options.Grace,
	})
}

// opened waits for the opening, and says whether there is an agent now.
func (e *held) opened(ctx context.Context) (bool, error) {
	select {
	case <-e.ready:
		return e.err == nil, nil
	case <-ctx.Done():
		return false, fmt.Errorf("wait for session %s to open: %w", e.id, context.Cause(ctx))
	}
}

// open says that calls go through. The caller holds the table's mu.
func (e *held) open() bool {
	select {
	case <-e.ready:
		return e.err == nil && !e.broken && e.parting == nil
	default:
		return false
	}
}

// fit says whether the handle is of use. It asks the agent if that is in doubt.
func (e *held) fit(ctx context.Context) bool {
	mu := &e.host.agents.mu
	mu.Lock()
	open, doubt := e.open(), e.doubt
	e.doubt = false
	mu.Unlock()
	if !open || e.running.Scope().Context().Err() != nil {
		return false
	}
	if doubt {
		_, err := e.running.Status(ctx)
		return e.noted(err) == nil || !useless(err)
	}
	return true
}

// useless says that an error speaks of the handle, not of the call.
func useless(err error) bool {
	return errors.Is(err, agent.ErrFaulted) || errors.Is(err, agent.ErrNotOwner) ||
		errors.Is(err, agent.ErrClosed) || errors.Is(err, session.ErrClosed)
}

// noted remembers what an answer says of the handle.
func (e *held) noted(err error) error {
	if err == nil {
		return nil
	}
	mu := &e.host.agents.mu
	mu.Lock()
	defer mu.Unlock()
	e.broken = e.broken || useless(err)
	e.doubt = e.doubt || errors.Is(err, agent.ErrUncertain)
	return err
}

// enter begins a call, after a rest that is being tried.
func (e *held) enter(ctx context.Context) error {
	mu := &e.host.agents.mu
	for {
		mu.Lock()
		resting := e.resting
		switch {
		case e.parting != nil:
			mu.Unlock()
			return fmt.Errorf("agent %s: %w", e.id, agent.ErrClosed)
		case resting == nil:
			e.calls++
			mu.Unlock()
			return nil
		}
		mu.Unlock()
		select {
		case <-resting:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (e *held) exit() {
	e.host.agents.mu.Lock()
	defer e.host.agents.mu.Unlock()
	e.calls--
}

// through makes a call on a handle.
func through[T any](ctx context.Context, e *held, call func() (T, error)) (out T, err error) {
	if err := e.enter(ctx); err != nil {
		return out, err
	}
	defer e.exit()
	out, err = call()
	return out, e.noted(err)
}

// Close suspends the agent and takes it out of memory.
func (e *held) Close(ctx context.Context) error {
	for {
		p, first := e.part()
		if first {
			go e.shut(context.WithoutCancel(ctx), p)
		} else if err := e.running.Close(ctx); errors.Is(err, agent.ErrSelfWait) {
			return err
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if first || !errors.Is(p.err, agent.ErrSelfWait) {
			return p.err
		}
	}
}

// part begins the close, or finds it begun.
func (e *held) part() (p *parting, first bool) {
	e.host.agents.mu.Lock()
	defer e.host.agents.mu.Unlock()
	if e.parting != nil {
		return e.parting, false
	}
	e.parting = &parting{done: make(chan struct{})}
	return e.parting, true
}

// shut closes the agent. One that can't be closed from here, as it would wait
// for itself, stays.
func (e *held) shut(ctx context.Context, p *parting) {
	ctx, cancel := context.WithTimeout(ctx, 2*e.host.options.Grace) // the driver's own is one
	defer cancel()
	p.err = e.running.Close(ctx)
	if errors.Is(p.err, agent.ErrSelfWait) {
		e.stay()
	} else {
		e.host.agents.forget(e)
	}
	close(p.done)
}

func (e *held) stay() {
	e.host.agents.mu.Lock()
	defer e.host.agents.mu.Unlock()
	e.parting = nil
}

// leave closes a handle of no use, for the next one. How it ended is told to
// the log: who opens anew has no part in it.
func (e *held) leave(ctx context.Context) error {
	err := e.Close(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.Is(err, agent.ErrSelfWait):
		return err
	}
	e.host.scope.Log().WarnContext(ctx, "an agent of no use any more did not end well", "session", e.id, "error", err)
	return nil
}

// ID is the session's.
func (e *held) ID() session.ID { return e.id }

// Scope ends with the agent.
func (e *held) Scope() *plugin.Scope { return e.running.Scope() }

func (e *held) Followup(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return through(ctx, e, func() (agent.Receipt, error) { return e.running.Followup(ctx, m) })
}

func (e *held) Steer(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return through(ctx, e, func() (agent.Receipt, error) { return e.running.Steer(ctx, m) })
}

func (e *held) Inject(ctx context.Context, m chat.Message) (agent.Receipt, error) {
	return through(ctx, e, func() (agent.Receipt, error) { return e.running.Inject(ctx, m) })
}

func (e *held) Status(ctx context.Context) (agent.Status, error) {
	return through(ctx, e, func() (agent.Status, error) { return e.running.Status(ctx) })
}

func (e *held) Cancel(ctx context.Context, s agent.Stop) (agent.Stopped, error) {
	return through(ctx, e, func() (agent.Stopped, error) { return e.running.Cancel(ctx, s) })
}

func (e *held) Resume(ctx context.Context) error {
	_, err := through(ctx, e, func() (struct{}, error) { return struct{}{}, e.running.Resume(ctx) })
	return err
}

func (e *held) Withdraw(ctx context.Context, id string) (agent.Fate, error) {
	return through(ctx, e, func() (agent.Fate, error) { return e.running.Withdraw(ctx, id) })
}

func (e *held) Amend(ctx context.Context, id string, parts []chat.Part) (agent.Fate, error) {
	return through(ctx, e, func() (agent.Fate, error) { return e.running.Amend(ctx, id, parts) })
}

func (e *held) Reply(ctx context.Context, r session.Reply) (agent.QuestionFate, error) {
	return through(ctx, e, func() (agent.QuestionFate, error) { return e.running.Reply(ctx, r) })
}

func (e *held) WaitIdle(ctx context.Context) error { return e.noted(e.running.WaitIdle(ctx)) }

func (e *held) Record(ctx context.Context, n session.Noted) (session.Seq, error) {
	return through(ctx, e, func() (session.Seq, error) { return e.running.Record(ctx, n) })
}

func (e *held) Watch(ctx context.Context) iter.Seq[agent.Delta] { return e.running.Watch(ctx) }

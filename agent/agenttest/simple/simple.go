// Package simple is the least driver that keeps the contract of package agent:
// a chat without tools and hooks. One goroutine per agent takes the turns, a
// mutex guards the state, a condition variable says that it changed. It proves
// that agenttest asks for the contract and not for one way to keep it.
package simple

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/agent/agenttest"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// Driver makes agents that put what they are shown to one model.
type Driver struct {
	Ask func(ctx context.Context, shown []agenttest.Shown, tell func(agenttest.Piece)) (chat.Answer, error)
}

// running is one agent.
type running struct {
	ask   func(ctx context.Context, shown []agenttest.Shown, tell func(agenttest.Piece)) (chat.Answer, error)
	log   *session.Log
	world agent.World
	grace time.Duration
	scope *plugin.Scope
	base  context.Context //nolint:containedctx // ends with the agent
	end   context.CancelFunc
	gone  chan struct{} // closed when Close is done
	left  error         // what Close says

	mu      sync.Mutex
	changed sync.Cond
	busy    bool // somebody appends; nobody else touches log and state then
	state   state
	status  agent.Status    // as far as it is stored
	stops   []*stop         // cancels that aren't stored
	callers int             // in a call that appends
	opened  int             // the turn that the next two are of
	turn    context.Context //nolint:containedctx // it ends with the turn
	endTurn context.CancelFunc
	behind  []*request // left behind because they ignored their context
	over    bool       // the loop has ended
	closing bool
	fault   error // why nothing can be appended any more
}

// stop is a cancel on its way to the log.
type stop struct {
	agent.Stop
	told chan<- told // nil: nobody waits any more
}

type told struct {
	stopped agent.Stopped
	err     error
}

// Drive starts or continues an agent.
func (d Driver) Drive(ctx context.Context, s agent.Start) (agent.Running, error) {
	a := &running{ask: d.Ask, world: s.World, grace: s.Grace, gone: make(chan struct{})}
	a.changed.L = &a.mu
	if a.grace == 0 {
		a.grace = 10 * time.Second
	}
	for e, err := range session.Events(ctx, s.Store, s.Lease.Session, 0) {
		if err == nil {
			err = a.state.apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("open agent %s: %w", s.Lease.Session, err)
		}
	}
	a.log = session.NewLog(s.Store, s.Lease, a.state.head)
	var err error
	if a.scope, err = s.Scope.Child("agent " + string(s.Lease.Session)); err != nil {
		return nil, err
	}
	a.base, a.end = context.WithCancel(inside(context.WithoutCancel(ctx), a.ID()))
	a.opens()
	if err := a.store(func(u *unit) error { u.opened(s); return nil }); err != nil {
		a.end()
		return nil, errors.Join(err, a.scope.Close(ctx))
	}
	go a.loop()
	return a, nil
}

func (a *running) ID() session.ID       { return a.log.ID() }
func (a *running) Scope() *plugin.Scope { return a.scope }

// store decides and appends, one at a time. Stops go ahead of everything.
func (a *running) store(decide func(*unit) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.busy {
		a.changed.Wait()
	}
	a.busy = true
	defer func() {
		a.busy = false
		a.changed.Broadcast()
	}()
	for len(a.stops) > 0 {
		if err := a.storeStop(a.stops[0]); err != nil {
			return err
		}
	}
	return a.append(decide)
}

// storeStop stores the oldest cancel. If that can't be, it stays in force and
// is tried again.
func (a *running) storeStop(s *stop) error {
	var stopped agent.Stopped
	err := a.append(func(u *unit) error {
		stopped = u.cancelled(s.Stop)
		return nil
	})
	if s.told != nil {
		s.told <- told{stopped, err}
		s.told = nil
	}
	if err == nil || a.fault != nil {
		a.stops = a.stops[1:]
	}
	return err
}

// append decides and stores, without the lock but with busy set.
func (a *running) append(decide func(*unit) error) error {
	if a.fault != nil {
		return a.fault
	}
	u := &unit{state: &a.state, now: a.world.Now()}
	mark := a.state.mark()
	err := decide(u)
	if err == nil {
		a.mu.Unlock()
		err = a.log.Append(context.WithoutCancel(a.base), u.events...)
		a.mu.Lock()
		switch {
		case errors.Is(err, session.ErrUncertain), errors.Is(err, session.ErrNotOwner), errors.Is(err, session.ErrClosed):
			a.fault = err
			a.end()
		case err != nil && !errors.Is(err, session.ErrExists):
			err = fmt.Errorf("%w: %w", agent.ErrStorage, err)
		}
	}
	if err != nil {
		a.state.undo(mark)
		return err
	}
	a.opens()
	return nil
}

// opens follows the state: what is stored is known, and a turn has a context.
func (a *running) opens() {
	s := &a.state
	a.status = agent.Status{State: agent.Idle, Head: s.head}
	if s.turn != 0 {
		a.status.State, a.status.Turn = agent.Working, s.turn
	}
	if s.turn != a.opened {
		if a.endTurn != nil {
			a.endTurn()
		}
		a.opened, a.turn, a.endTurn = s.turn, nil, nil
		if s.turn != 0 {
			a.turn, a.endTurn = context.WithCancel(a.base)
		}
	}
}

// call does what a caller asked for, on a goroutine of its own, so that the
// caller may give up waiting.
func (a *running) call(ctx context.Context, decide func(*unit) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	if err := a.useless(); err != nil {
		a.mu.Unlock()
		return err
	}
	a.callers++
	a.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		done <- a.store(decide)
		a.mu.Lock()
		a.callers--
		a.changed.Broadcast()
		a.mu.Unlock()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", agent.ErrUncertain, ctx.Err())
	}
}

// useless says why no call is taken.
func (a *running) useless() error {
	if a.fault == nil && a.closing {
		return agent.ErrClosed
	}
	return a.fault
}

// insider marks contexts of an agent's own turns.
type insider struct{ id session.ID }

func inside(ctx context.Context, id session.ID) context.Context {
	return context.WithValue(ctx, insider{id}, true)
}

func (a *running) waitsForItself(ctx context.Context, what string) error {
	if ctx.Value(insider{a.ID()}) != nil {
		return fmt.Errorf("%s of agent %s: %w", what, a.ID(), agent.ErrSelfWait)
	}
	return nil
}

// WaitIdle returns when nothing runs and nothing may.
func (a *running) WaitIdle(ctx context.Context) error {
	if err := a.waitsForItself(ctx, "wait for the rest"); err != nil {
		return err
	}
	return a.waits(ctx, func() (bool, error) {
		if err := a.useless(); err != nil {
			return true, err
		}
		return !a.busy && len(a.stops) == 0 && a.state.turn == 0 && !a.state.runnable(), nil
	})
}

// waits until something is so, or ctx ends.
func (a *running) waits(ctx context.Context, so func() (bool, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.changed.Broadcast()
	})()
	for {
		if is, err := so(); is {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		a.changed.Wait()
	}
}

// Close suspends the agent.
func (a *running) Close(ctx context.Context) error {
	if err := a.waitsForItself(ctx, "the end"); err != nil {
		return err
	}
	a.mu.Lock()
	if !a.closing {
		a.closing = true
		a.end()
		a.changed.Broadcast()
		go a.shut()
	}
	a.mu.Unlock()
	select {
	case <-a.gone:
		return a.left
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *running) shut() {
	_ = a.waits(context.Background(), func() (bool, error) { return a.over && a.callers == 0, nil })
	ctx, cancel := context.WithTimeout(context.Background(), a.grace)
	defer cancel()
	a.left = errors.Join(a.scope.Close(ctx), a.log.Release(ctx))
	for _, r := range a.behind {
		if !r.came() {
			a.left = &agent.AbandonedError{Names: []string{"model"}}
		}
	}
	close(a.gone)
}

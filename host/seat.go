package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// seat is this process in the eyes of a store: what owns sessions there as
// long as its heart beats.
type seat struct {
	host    *Host
	store   session.Store
	process string
}

// seating is the seat as a plugin: it holds the store, and everything else
// stands before it. It isn't on the shelf, and offers nothing.
func (h *Host) seating(store session.Store) Plugin {
	return Plugin{Name: "sessions", Start: func(ctx context.Context, s *plugin.Scope) error {
		st := &seat{host: h, store: store, process: h.options.World.NewID()}
		if err := st.beat(ctx); err != nil {
			return fmt.Errorf("make the process known to the store: %w", err)
		}
		errs := []error{
			s.Cleanup(func(ctx context.Context) error { return store.Leave(ctx, st.process) }),
			s.Go(st.live),
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		h.agents.move(st)
		return nil
	}}
}

// sit takes a seat at the store, if there is one, and brings back the agents
// that were at work when the last one was given up.
func (c *change) sit(ctx context.Context) {
	h := c.host
	store, found := Store.Get(h.scope)
	if h.seat != nil || !found {
		return
	}
	in, err := h.start(ctx, h.seating(store))
	if err != nil {
		c.failed(err)
		return
	}
	h.seat = in
	h.agents.recall()
}

// unseat closes all agents and leaves the store.
func (h *Host) unseat(ctx context.Context) error {
	in := h.seat
	if in == nil {
		return nil
	}
	h.seat = nil
	closing, cancel := context.WithTimeout(ctx, 2*h.options.Grace) // the agents' own is one
	defer cancel()
	err := h.agents.empty(closing)
	return errors.Join(err, h.stop(ctx, in)) // which has a time of its own
}

func (s *seat) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.host.options.Lease/3)
	defer cancel()
	p := session.Process{ID: s.process, Address: addressOf(s.host.scope)}
	return s.store.Beat(ctx, p, s.host.options.Lease)
}

// live sends heartbeats until the seat is given up. One that isn't heard is
// sent again: what others acquire meanwhile is lost, and nothing else.
func (s *seat) live(ctx context.Context) {
	pulse := time.NewTicker(s.host.options.Lease / 3)
	defer pulse.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pulse.C:
		}
		if err := s.beat(ctx); err != nil && ctx.Err() == nil {
			s.host.scope.Log().WarnContext(ctx, "a heartbeat was not heard", "process", s.process, "error", err)
		}
	}
}

// acquire makes this process the owner of a session. A process that slept
// through its lease lives again first.
func (s *seat) acquire(ctx context.Context, id session.ID) (session.Lease, error) {
	lease, err := s.store.Acquire(ctx, id, s.process)
	if err == nil || errors.Is(err, session.ErrNotOwner) || errors.Is(err, session.ErrClosed) || ctx.Err() != nil {
		return lease, err
	}
	if err := s.beat(ctx); err != nil {
		return lease, err
	}
	return s.store.Acquire(ctx, id, s.process)
}

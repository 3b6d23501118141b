package host

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/session"
)

// Rest drops the agent of a session from memory if it is idle and nobody is
// calling it, and says whether it isn't open any more. It is back with its
// next Open, or the next call of a handle that Agent made; calls that come
// meanwhile wait.
func (h *Host) Rest(ctx context.Context, id session.ID) (rested bool, err error) {
	h.agents.mu.Lock()
	e := h.agents.table[id]
	if e == nil {
		h.agents.mu.Unlock()
		return true, nil
	}
	if !e.open() || e.calls > 0 || e.resting != nil {
		h.agents.mu.Unlock()
		return false, nil
	}
	waiting := make(chan struct{})
	e.resting = waiting
	h.agents.mu.Unlock()

	status, err := e.running.Status(ctx)
	idle := err == nil && status.State == agent.Idle
	h.agents.mu.Lock()
	idle = idle && e.parting == nil
	p := &parting{done: make(chan struct{})}
	if idle {
		e.parting = p
	}
	e.resting = nil
	close(waiting)
	h.agents.mu.Unlock()
	switch {
	case e.noted(err) != nil:
		return false, fmt.Errorf("rest session %s: %w", id, err)
	case !idle:
		return false, nil
	}
	e.shut(context.WithoutCancel(ctx), p)
	if p.err != nil {
		return false, fmt.Errorf("rest session %s: %w", id, p.err)
	}
	return true, nil
}

package host

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// ErrNoStore says that the host has no store to keep sessions in, or has none
// while the plugin that gives it is restarted.
var ErrNoStore = errors.New("the host has no store")

// ErrNoDriver says that nothing makes agents here.
var ErrNoDriver = errors.New("the host has no driver")

// errOver answers whoever wants an agent of a host that shuts down.
var errOver = fmt.Errorf("%w: the host is shutting down", agent.ErrClosed)

// errLeft ends the openings on a store that is left.
var errLeft = fmt.Errorf("%w: its store is being left", agent.ErrClosed)

// agents is who is open in this process. An agent that isn't in the table
// costs nothing: its session is in the store.
type agents struct {
	scope *plugin.Scope // the parent of theirs

	mu      sync.Mutex // never held while calling out
	seat    *seat      // nil: no session can be opened
	over    bool
	table   map[session.ID]*held
	working []session.ID // were at work when the seat was given up
}

func (a *agents) begin(root *plugin.Scope) (err error) {
	a.table = map[session.ID]*held{}
	a.scope, err = root.Child("agents")
	return err
}

// Open brings back the agent of a session, or begins it. All who open one at
// the same time get the same; mode counts for whoever is first.
//
// Where another process owns the session the error is a *session.NotOwnerError
// with its address; Reach follows it. The context bounds the wait, not the
// opening.
func (h *Host) Open(ctx context.Context, id session.ID, mode session.OpenMode) (agent.Running, error) {
	return h.open(ctx, id, opening{mode: mode})
}

// Spawn is Open for the child of another agent: parent counts where the
// session is new.
func (h *Host) Spawn(ctx context.Context, id session.ID, parent session.Parent) (agent.Running, error) {
	return h.open(ctx, id, opening{mode: session.OpenContinue, parent: &parent})
}

// Find returns the agent of a session if it is open in this process.
func (h *Host) Find(id session.ID) (agent.Running, bool) {
	h.agents.mu.Lock()
	defer h.agents.mu.Unlock()
	if e := h.agents.table[id]; e != nil && e.open() {
		return e, true
	}
	return nil, false
}

// Close suspends the agent of a session if it is open in this process. The
// next who opens it gets another, that goes on.
func (h *Host) Close(ctx context.Context, id session.ID) error {
	h.agents.mu.Lock()
	e := h.agents.table[id]
	h.agents.mu.Unlock()
	if e == nil {
		return nil
	}
	if opened, err := e.opened(ctx); !opened {
		return err
	}
	return e.Close(ctx)
}

// opening is how an agent is to be opened.
type opening struct {
	mode   session.OpenMode
	parent *session.Parent
}

func (h *Host) open(ctx context.Context, id session.ID, o opening) (agent.Running, error) {
	for {
		e, err := h.agents.enter(ctx, h, id, o)
		if err != nil {
			return nil, fmt.Errorf("open session %s: %w", id, err)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			return nil, fmt.Errorf("open session %s: %w", id, context.Cause(ctx))
		}
		switch {
		case e.err != nil:
			return nil, fmt.Errorf("open session %s: %w", id, e.err)
		case e.fit(ctx):
			return e, nil
		}
		if err := e.leave(ctx); err != nil {
			return nil, fmt.Errorf("open session %s anew: %w", id, err)
		}
	}
}

// enter finds an agent in the table, or has it opened.
func (a *agents) enter(ctx context.Context, h *Host, id session.ID, o opening) (*held, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		return nil, errOver
	case a.table[id] != nil:
		return a.table[id], nil
	case a.seat == nil:
		return nil, ErrNoStore
	}
	st := a.seat
	outer := context.Background() // who opens first leaves no mark on an agent
	if o.parent != nil {
		outer = context.WithoutCancel(ctx) // a child's turns are inside its parent's
	}
	inner, cancel := context.WithCancelCause(outer)
	e := &held{host: h, id: id, ready: make(chan struct{}), hurry: cancel}
	if err := a.scope.Go(func(context.Context) {
		defer cancel(nil)
		e.begin(inner, st, o)
	}); err != nil {
		cancel(nil)
		return nil, errOver
	}
	a.table[id] = e
	return e, nil
}

// forget takes an agent out of the table.
func (a *agents) forget(e *held) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.table[e.id] == e {
		delete(a.table, e.id)
	}
}

// refuse opens no more agents.
func (a *agents) refuse() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
}

// move has sessions opened on another seat from now on.
func (a *agents) move(to *seat) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seat = to
}

func (a *agents) on(s *seat) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seat == s
}

// empty closes all agents at the same time, and ends the openings under way.
func (a *agents) empty(ctx context.Context) error {
	a.mu.Lock()
	a.seat = nil
	all := make([]*held, 0, len(a.table))
	for _, e := range a.table {
		all = append(all, e)
	}
	a.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, e := range all {
		e.hurry(errLeft)
		wg.Go(func() { errs[i] = a.suspend(ctx, e) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// suspend closes an agent, which may be opening yet, and notes if it was at
// work.
func (a *agents) suspend(ctx context.Context, e *held) error {
	if opened, err := e.opened(ctx); !opened {
		return err
	}
	if status, err := e.running.Status(ctx); err != nil || status.State != agent.Idle {
		a.mu.Lock()
		a.working = append(a.working, e.id)
		a.mu.Unlock()
	}
	return e.Close(ctx)
}

// recall opens those that were at work when the last seat was given up.
func (a *agents) recall() {
	a.mu.Lock()
	ids, st := a.working, a.seat
	a.working = nil
	a.mu.Unlock()
	for _, id := range ids {
		_ = a.scope.Go(func(ctx context.Context) { // it closes: the next process goes on
			if _, err := st.host.Open(ctx, id, session.OpenContinue); err != nil {
				a.scope.Log().WarnContext(ctx, "a session was not opened again after its store was replaced", "session", id, "error", err)
			}
		})
	}
}

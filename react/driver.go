package react

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// driver is an agent on its log, in the process that owns it. It brings inputs
// to the machine, stores what it decides, and only then acts on it.
//
// Being its owner is a role, not a goroutine: see owner.go. Models, tools and
// hooks run on goroutines of their own, as flights: see flight.go.
type driver struct {
	id    session.ID
	store session.Store
	log   *session.Log
	world agent.World
	grace time.Duration
	scope *plugin.Scope
	base  context.Context //nolint:containedctx // of all flights; ends with the agent
	end   context.CancelCauseFunc
	// always is for appends: nothing ends them.
	always context.Context //nolint:containedctx // it ends with the process
	gone   chan struct{}   // closed when the agent is closed

	mu       sync.Mutex // guards what follows; never held while calling out
	queue    []request
	owned    bool      // somebody has the owner's role
	stops    int       // cancels that aren't stored yet: nothing begins before
	cancels  []request // of these, what could not be stored: tried again before all else
	fallen   []request // answers to work that could not be stored
	again    bool      // try them now
	retry    *time.Timer
	patience time.Duration
	closing  bool
	last     bool            // nothing that falls is tried again
	fault    error           // why the handle is of no use any more
	turn     context.Context //nolint:containedctx // of the open turn's flights; nil: none is open
	stop     context.CancelCauseFunc
	flights  []*flight
	over     []context.CancelCauseFunc // of turns that have ended, while a hook may be at work for one
	strays   []*flight                 // abandoned, and not back yet
	wait     clock
	alarm    clock
	mercy    *time.Timer // the grace time of a stop
	graceFor session.Seq
	status   agent.Status
	idlers   []chan struct{} // closed when the agent is idle
	quiet    chan struct{}   // closed when nothing is in flight, while closing
	parting  error           // what Close answers
	rendered rendered
	replies  map[string]chan session.Reply // whom a call waits for, by question

	// Of whoever has the role.
	m     *machine
	owing work
	items history

	live live
}

// ID is the session's.
func (d *driver) ID() session.ID { return d.id }

// Scope ends with the agent.
func (d *driver) Scope() *plugin.Scope { return d.scope }

// Status says whether a turn is open.
func (d *driver) Status(context.Context) (agent.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.status, d.closed()
}

// New is a driver of agents that reason and act. What they work with they find
// in their scope: models (model.Source), tools (tool.Add), sections of the
// prompt (prompt.Add) and hooks.
func New(limits Limits) agent.Driver { return &maker{limits: limits} }

type maker struct{ limits Limits }

// defaultGrace is how long a stopped body may take to return.
const defaultGrace = 10 * time.Second

// Drive folds the log and goes on with what it ends in.
func (k *maker) Drive(ctx context.Context, s agent.Start) (agent.Running, error) {
	if s.Mode == "" {
		s.Mode = session.OpenContinue
	}
	if s.Grace == 0 {
		s.Grace = defaultGrace
	}
	m, _, err := session.Restore(ctx, s.Store, s.Lease.Session, func() *machine { return newMachine(k.limits) })
	if err != nil {
		return nil, fmt.Errorf("open session %s: %w", s.Lease.Session, err)
	}
	scope, err := s.Scope.Child("agent " + string(s.Lease.Session))
	if err != nil {
		return nil, fmt.Errorf("open session %s: %w", s.Lease.Session, err)
	}
	d := &driver{
		id: s.Lease.Session, store: s.Store, log: session.NewLog(s.Store, s.Lease, m.Head),
		world: s.World, grace: s.Grace, scope: scope, gone: make(chan struct{}), m: m,
	}
	ids := []session.ID{d.id}
	if s.Parent != nil {
		ids = append(ids, s.Parent.Session)
	} else if m.Parent != nil {
		ids = append(ids, m.Parent.Session)
	}
	d.base, d.end = context.WithCancelCause(within(inherit(scope.Context(), ctx), ids...))
	d.always = context.WithoutCancel(d.base)
	d.status = agent.Status{State: agent.Idle, Head: m.Head}
	if err := d.open(ctx, s); err != nil {
		return nil, errors.Join(err, d.Close(context.WithoutCancel(ctx)))
	}
	return d, nil
}

// open has the machine go on from the log.
func (d *driver) open(ctx context.Context, s agent.Start) error {
	if s.Parent != nil && d.m.Head == 0 {
		if _, err := d.ask(ctx, begin{fact: *s.Parent}); err != nil {
			return err
		}
	}
	_, err := d.ask(ctx, reopen{mode: s.Mode})
	return err
}

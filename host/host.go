// Package host boots a set of plugins, replaces those whose configuration
// changed, and has the agents of a process.
//
// A Plugin names the services it needs and those it gives; the host starts it
// when what it needs is there and stops it before that goes. Agents are opened
// on a session.Store by an agent.Driver, which plugins give or the embedder
// hands over. The host keeps the process alive in the eyes of the store: one
// heartbeat for all its sessions.
//
// What is registered by plugins is in the host's scope, of which the scopes of
// agents are children. From outermost to innermost: the plugins (a shadow
// scope each, in reload.go), the seat (seat.go: the process and its heartbeat),
// the agents (agents.go).
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// Options are what a host is made of. All but Plugins may be left out.
type Options struct {
	Plugins Shelf
	Store   session.Store // where no plugin gives one; who made it closes it
	Driver  agent.Driver  // likewise
	World   agent.World   // what is nil of it: RealWorld's
	Log     *slog.Logger  // nil: discarded
	// Lease is how long sessions stay this process's if it dies; zero: 15 s.
	// A heartbeat is sent each third of it.
	Lease time.Duration
	// Grace is how long a stopped plugin or agent may take to end; zero: 10 s.
	Grace time.Duration
	// Patience is how long a plugin may take to start; zero: 30 s.
	Patience time.Duration
}

const (
	defaultLease    = 15 * time.Second
	defaultGrace    = 10 * time.Second
	defaultPatience = 30 * time.Second
)

func (o Options) filled() Options {
	world := RealWorld()
	if o.World.Now == nil {
		o.World.Now = world.Now
	}
	if o.World.NewID == nil {
		o.World.NewID = world.NewID
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Lease, defaultLease}, {&o.Grace, defaultGrace}, {&o.Patience, defaultPatience}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}

// Host runs plugins and has agents. All methods may be called at any time, by
// anyone; Reload and Shutdown not from a plugin's Start.
type Host struct {
	options Options
	scope   *plugin.Scope
	turn    chan struct{} // holds who starts and stops plugins: one at a time

	// Of whoever has the turn.
	running []*instance   // in the order in which they may start
	started int           // how many were
	seat    *instance     // nil: no store is there
	graves  *plugin.Scope // of what was replaced and still runs
	buried  chan struct{} // closed when all that was replaced has ended

	agents agents

	mu       sync.Mutex
	failures []error
	over     *over // not nil: shutting down, or shut down
}

// over is the end that all who shut down wait for.
type over struct {
	done chan struct{}
	err  error // once done
}

// instance is a plugin that runs.
type instance struct {
	Plugin
	scope  *plugin.Scope
	serial int // in the order of starting
}

// Start boots the plugins. One that doesn't start is left out, with all that
// need it, and reported by Failures; if one of those is required the host
// doesn't start, and what had started is stopped.
func Start(ctx context.Context, o Options) (*Host, error) {
	if err := o.Plugins.check(); err != nil {
		return nil, fmt.Errorf("start the host: %w", err)
	}
	h := &Host{options: o.filled(), scope: plugin.NewScope("host", o.Log), turn: make(chan struct{}, 1)}
	if err := h.boot(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the host: %w", err), h.Shutdown(context.WithoutCancel(ctx)))
	}
	return h, nil
}

func (h *Host) boot(ctx context.Context) error {
	graves, err := h.scope.Child("replaced")
	h.graves, h.buried = graves, make(chan struct{})
	close(h.buried)
	errs := []error{err, h.agents.begin(h.scope), Self.Provide(h.scope, h)}
	if h.options.Store != nil {
		errs = append(errs, Store.Provide(h.scope, h.options.Store))
	}
	if h.options.Driver != nil {
		errs = append(errs, Driver.Provide(h.scope, h.options.Driver))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	return h.change(ctx, h.options.Plugins, true)
}

// Scope is the host's: what is registered in it is there for all agents, as
// long as the host is.
func (h *Host) Scope() *plugin.Scope { return h.scope }

// Failures are the plugins left out or kept as they were, and why: each a
// *PluginError, as of the last start or reload.
func (h *Host) Failures() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.failures)
}

// Shutdown closes the agents, leaves the store, and stops the plugins, last
// first. Each has the grace time; what doesn't end is left behind and named.
// All who shut down wait for the same end; their contexts bound their wait.
func (h *Host) Shutdown(ctx context.Context) error {
	if ctx.Value(starting{}) != nil {
		return fmt.Errorf("shut down the host: %w", plugin.ErrSelfWait)
	}
	h.mu.Lock()
	end, first := h.over, h.over == nil
	if first {
		end = &over{done: make(chan struct{})}
		h.over = end
	}
	h.mu.Unlock()
	if first {
		h.agents.refuse()
		go func() {
			end.err = h.shut(context.WithoutCancel(ctx))
			close(end.done)
		}()
	}
	select {
	case <-end.done:
		return end.err
	case <-ctx.Done():
		return fmt.Errorf("shut down the host: %w", context.Cause(ctx))
	}
}

func (h *Host) shut(ctx context.Context) error {
	h.turn <- struct{}{} // a reload under way ends first; nobody gets it after
	errs := []error{h.unseat(ctx), h.stop(ctx, &instance{Plugin: Plugin{Name: "replaced"}, scope: h.graves})}
	for _, in := range slices.Backward(h.running) {
		errs = append(errs, h.stop(ctx, in))
	}
	h.running = nil
	ctx, cancel := context.WithTimeout(ctx, h.options.Grace)
	defer cancel()
	return errors.Join(append(errs, h.scope.Close(ctx))...)
}

// start has a plugin register in a shadow. Nothing of one that fails stays.
func (h *Host) start(ctx context.Context, p Plugin) (*instance, error) {
	scope, err := h.scope.Shadow(p.Name)
	if err != nil {
		return nil, &PluginError{p.Name, err}
	}
	h.started++
	in := &instance{p, scope, h.started}
	limited, cancel := context.WithTimeoutCause(ctx, h.options.Patience, fmt.Errorf("took more than %v", h.options.Patience))
	defer cancel()
	err = p.begin(limited, scope)
	for _, k := range p.Gives {
		if err == nil && !k.Provided(scope) {
			err = fmt.Errorf("gives service %s, but its start didn't provide it", k.Name())
		}
	}
	if err != nil {
		return nil, &PluginError{p.Name, errors.Join(err, h.stop(context.WithoutCancel(ctx), in))}
	}
	return in, nil
}

// stop ends an instance and all it registered, in the grace time.
func (h *Host) stop(ctx context.Context, in *instance) error {
	ctx, cancel := context.WithTimeout(ctx, h.options.Grace)
	defer cancel()
	if err := in.scope.Close(ctx); err != nil {
		return &PluginError{in.Name, err}
	}
	return nil
}

package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Scope is a lifetime. What is registered through it ends with it.
//
// All methods may be called at any time, by anyone, from what is registered
// too. Once Close has begun, registering is an error that is ErrClosed. An
// empty scope costs little: there may be one for each of very many agents.
type Scope struct {
	name   string
	parent *Scope // nil: the root
	tree   *tree
	place  place // in the parent's list

	// table is what may be looked up here. It is never changed, only replaced.
	table atomic.Pointer[table]

	// Guarded by tree.mu.
	last   *place   // the list of what Close undoes begins here
	offers []undoer // registrations and shadows, in the order of looking up
	kind   kind
	end    *end // not nil: closing or closed
	life   *life
}

// tree is what all scopes under one root share. The lock is held for a few
// steps at a time and never while calling out; looking up doesn't take it.
type tree struct {
	mu  sync.Mutex
	log *slog.Logger
}

// kind says who sees what is registered in a scope.
type kind uint8

const (
	open   kind = iota // it and the scopes in it
	hidden             // likewise: a shadow that wasn't swapped in, or was swapped out
	shown              // whoever sees what the parent has: a shadow swapped in
)

// life is made for those who ask for a scope's context.
type life struct {
	ctx context.Context //nolint:containedctx // a scope is a lifetime
	end context.CancelCauseFunc
}

// NewScope makes a root. Nil discards what is logged.
func NewScope(name string, log *slog.Logger) *Scope {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Scope{name: name, tree: &tree{log: log}}
}

// Child makes a scope in s that sees what s sees, and keeps what is registered
// in it to itself.
func (s *Scope) Child(name string) (*Scope, error) { return s.sprout(name, open) }

func (s *Scope) sprout(name string, k kind) (*Scope, error) {
	c := &Scope{name: name, parent: s, tree: s.tree, kind: k}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if err := s.push(&c.place, c); err != nil {
		return nil, err
	}
	if k == hidden {
		s.offers = append(s.offers, c)
	}
	return c, nil
}

// Cleanup runs undo when s is closed, with a context that ends when the
// closer's patience does. Its error is reported by Close.
func (s *Scope) Cleanup(undo func(context.Context) error) error {
	c := &cleanup{run: undo}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.push(&c.place, c)
}

// Go runs a goroutine that belongs to s. Its context ends when its turn to be
// undone has come, and Close waits for it to return. A panic is logged.
func (s *Scope) Go(run func(context.Context)) error {
	ctx, stop := context.WithCancelCause(within(context.Background(), &mark{scope: s}))
	w := &worker{scope: s, run: run, stop: stop, ended: make(chan struct{})}
	s.tree.mu.Lock()
	err := s.push(&w.place, w)
	s.tree.mu.Unlock()
	if err != nil {
		stop(err)
		return err
	}
	go w.work(ctx)
	return nil
}

// Context ends when s begins to close, with ErrClosed as its cause.
func (s *Scope) Context() context.Context {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.life == nil {
		ctx, end := context.WithCancelCause(context.Background())
		s.life = &life{ctx, end}
		if s.end != nil {
			end(ErrClosed)
		}
	}
	return s.life.ctx
}

// Name is what s was named.
func (s *Scope) Name() string { return s.name }

// Path is the names from the root to s: host/agent 7.
func (s *Scope) Path() string {
	if s.parent == nil {
		return s.name
	}
	return s.parent.Path() + "/" + s.name
}

// Log says with each record which scope it is from. Who logs often keeps it.
func (s *Scope) Log() *slog.Logger { return s.tree.log.With("scope", s.Path()) }

// holds says whether x is s or in it.
func (s *Scope) holds(x *Scope) bool {
	for ; x != nil; x = x.parent {
		if x == s {
			return true
		}
	}
	return false
}

// undoer is something registered.
type undoer interface {
	// undo returns when nothing is left of it.
	undo(context.Context) error
	// what is it, for those who read that it doesn't end?
	what() string
}

// place is where something stands in the list of what a scope undoes.
type place struct {
	before, after *place
	held          undoer // nil: it isn't in the list
}

func (s *Scope) push(p *place, u undoer) error {
	if s.end != nil {
		return fmt.Errorf("register in %s: %w", s.Path(), ErrClosed)
	}
	s.put(p, s.last, u)
	return nil
}

// put places u right after another.
func (s *Scope) put(p, before *place, u undoer) {
	*p = place{before: before, held: u}
	if before == s.last {
		s.last = p
	} else {
		p.after = before.after
		p.after.before = p
	}
	if before != nil {
		before.after = p
	}
}

// drop takes p out of the list, if it is there.
func (s *Scope) drop(p *place) {
	switch {
	case p.held == nil:
		return
	case p.after == nil:
		s.last = p.before
	default:
		p.after.before = p.before
	}
	if p.before != nil {
		p.before.after = p.after
	}
	*p = place{}
}

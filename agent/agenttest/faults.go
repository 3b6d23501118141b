package agenttest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tack-agent/tack/session"
)

// view is the store as one process sees it. Its appends can be held, refused,
// lost, and cut off by the death of the process.
type view struct {
	session.Store
	trial *trial
	died  chan struct{} // closed when the process died

	mu      sync.Mutex
	rule    func(n int, u unit) verdict // on the n-th append from now, from 1; nil: all pass
	appends int
	isDead  bool
}

// unit is what one append holds.
type unit []session.Event

// has says whether the unit holds a fact of the type of f.
func (u unit) has(f session.Fact) bool {
	return slices.ContainsFunc(u, func(e session.Event) bool { return e.Fact.Type() == f.Type() })
}

// verdict is what becomes of an append; the zero verdict lets it pass.
type verdict struct {
	hold   *gate // first wait here
	refuse error // answered; nothing is written unless lost
	lost   bool  // it is written although the answer is refuse
	dies   bool  // the process dies at it; written only if lost
}

// judges puts the appends from now on under a rule.
func (v *view) judges(rule func(n int, u unit) verdict) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rule, v.appends = rule, 0
}

// once judges the first append that holds a fact of a type; the others pass.
func (v *view) once(f session.Fact, ruling verdict) {
	done := false
	v.judges(func(_ int, u unit) verdict {
		if done || !u.has(f) {
			return verdict{}
		}
		done = true
		return ruling
	})
}

// always judges every append that holds a fact of a type.
func (v *view) always(f session.Fact, ruling verdict) {
	v.judges(func(_ int, u unit) verdict {
		if !u.has(f) {
			return verdict{}
		}
		return ruling
	})
}

// calm lets all appends pass again.
func (v *view) calm() { v.judges(nil) }

func (v *view) dead() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.isDead
}

func (v *view) die() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.isDead {
		v.isDead = true
		close(v.died)
	}
}

// Append writes, or does what the rule says.
func (v *view) Append(ctx context.Context, appends ...session.Append) []error {
	errs := make([]error, len(appends))
	for i, a := range appends {
		errs[i] = v.append(ctx, a)
	}
	return errs
}

func (v *view) append(ctx context.Context, a session.Append) error {
	u, err := read(a)
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.appends++
	var ruling verdict
	if v.rule != nil {
		ruling = v.rule(v.appends, u)
	}
	v.mu.Unlock()
	if ruling.hold != nil {
		if err := ruling.hold.pass(ctx); err != nil {
			return fmt.Errorf("%w: %w", session.ErrUncertain, err)
		}
	}
	if v.dead() {
		return &session.NotOwnerError{Session: a.Lease.Session}
	}
	if ruling.refuse == nil && !ruling.dies || ruling.lost {
		if err := v.write(ctx, a, u); err != nil {
			return err
		}
	}
	if ruling.dies {
		v.die()
		return &session.NotOwnerError{Session: a.Lease.Session}
	}
	return ruling.refuse
}

func (v *view) write(ctx context.Context, a session.Append, u unit) error {
	v.trial.mu.Lock()
	defer v.trial.mu.Unlock()
	if err := v.Store.Append(ctx, a)[0]; err != nil {
		return err
	}
	v.trial.units = append(v.trial.units, u)
	return nil
}

// Release frees the session, unless the process is dead.
func (v *view) Release(ctx context.Context, l session.Lease) error {
	if v.dead() {
		return nil
	}
	return v.Store.Release(ctx, l)
}

// Save keeps a snapshot, unless the process is dead.
func (v *view) Save(ctx context.Context, l session.Lease, s session.Snapshot) error {
	if v.dead() {
		return &session.NotOwnerError{Session: l.Session}
	}
	return v.Store.Save(ctx, l, s)
}

func read(a session.Append) (unit, error) {
	u := make(unit, len(a.Records))
	for i, r := range a.Records {
		e, err := session.Decode(a.Lease.Session, r)
		if err != nil {
			return nil, err
		}
		u[i] = e
	}
	return u, nil
}

// appended is how many units were written.
func (c *trial) appended() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.units)
}

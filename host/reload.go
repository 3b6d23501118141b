package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tack-agent/tack/plugin"
)

// Reload makes shelf what the host runs. Only plugins that are new, gone or
// changed are touched, and those that hold a service of one of these.
//
// A new instance starts unseen and takes the old one's place at once; what runs
// in the old one ends there. If it doesn't start, the old one goes on. An
// exclusive one is stopped first, and with it who needs it; if it then doesn't
// start the old one is started anew.
//
// A shelf on which a required plugin lacks a need is refused as a whole. Of
// other failures the answer tells: the rest of the shelf runs.
func (h *Host) Reload(ctx context.Context, shelf Shelf) error {
	if ctx.Value(starting{}) != nil {
		return fmt.Errorf("reload: %w", plugin.ErrSelfWait)
	}
	if err := shelf.check(); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-h.scope.Context().Done():
		return fmt.Errorf("reload: %w", plugin.ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("reload: %w", context.Cause(ctx))
	}
	if err := h.change(ctx, shelf, false); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	if err := errors.Join(h.Failures()...); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	return nil
}

// change is one passage from what runs to what is to run.
type change struct {
	host    *Host
	shelf   Shelf
	plan    *plan
	old     []*instance     // what ran, in order
	now     []*instance     // what runs, in order
	retired []*instance     // hidden, still to be closed
	renewed []plugin.Key    // services that were provided anew, or went, in order
	seen    map[string]int  // how many of these a plugin knew of when it was last looked at
	late    map[string]bool // was stopped for another, which may have been after its turn
	errs    []error
}

// change runs a shelf. Its error is that of a required plugin: of a reload,
// before anything was touched. The caller has the turn.
func (h *Host) change(ctx context.Context, shelf Shelf, booting bool) error {
	plan := planned(shelf, h.base)
	c := &change{host: h, shelf: slices.Clone(shelf), plan: plan, seen: map[string]int{}, late: map[string]bool{}, old: slices.Clone(h.running), now: slices.Clone(h.running)}
	var refused []error
	for _, p := range shelf {
		if err := plan.left[p.Name]; err != nil {
			c.errs = append(c.errs, &PluginError{p.Name, err})
			if p.Required {
				refused = append(refused, &PluginError{p.Name, err})
			}
		}
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	c.clear(ctx)
	for _, p := range plan.order {
		if err := c.one(ctx, p); err != nil {
			c.errs = append(c.errs, err)
			if booting && p.Required {
				refused = append(refused, err)
				break
			}
		}
	}
	for range plan.order { // enough for all but those that hold each other's services
		if booting || !c.again(ctx) {
			break
		}
	}
	c.finish(ctx)
	if len(refused) == 0 {
		c.sit(ctx)
	}
	h.report(ctx, c.errs)
	return errors.Join(refused...)
}

// base says which services are there without any plugin.
func (h *Host) base(k plugin.Key) bool {
	switch k {
	case plugin.Key(Self):
		return true
	case plugin.Key(Store):
		return h.options.Store != nil
	case plugin.Key(Driver):
		return h.options.Driver != nil
	default:
		return false
	}
}

func (h *Host) report(ctx context.Context, errs []error) {
	for _, err := range errs {
		h.scope.Log().WarnContext(ctx, "a plugin is left out, or goes on as it was", "error", err)
	}
	h.mu.Lock()
	h.failures = errs
	h.mu.Unlock()
}

// clear stops exclusive ones that are not to run any more, before what comes
// instead wants what they have.
func (c *change) clear(ctx context.Context) {
	for _, in := range c.leaving() {
		if in.Exclusive {
			c.halt(ctx, in)
		}
	}
}

// one brings one plugin to what it is to be.
func (c *change) one(ctx context.Context, p Plugin) error {
	delete(c.late, p.Name)
	defer func() { c.seen[p.Name] = len(c.renewed) }()
	for _, in := range c.leaving() {
		if slices.ContainsFunc(p.Holds, in.gives) {
			c.drop(ctx, in) // all others that give it have started
		}
	}
	at := c.at(p.Name)
	held := at >= 0 && c.stale(c.now[at])
	if at >= 0 && c.now[at].same(&p) && !held {
		return nil
	}
	for _, k := range p.needs() {
		if !c.given(k, p.Name) {
			if held { // what it holds goes
				c.drop(ctx, c.now[at])
			}
			return &PluginError{p.Name, missing(c.shelf, k, p.Name)}
		}
	}
	var old *instance
	if at >= 0 {
		old = c.now[at]
	}
	if old != nil && (p.Exclusive || old.Exclusive) {
		c.halt(ctx, old)
		return c.anew(ctx, p, old)
	}
	fresh, err := c.start(ctx, p)
	switch {
	case err == nil:
		return c.show(ctx, old, fresh)
	case old != nil && held: // what it holds goes
		c.drop(ctx, old)
	case old == nil:
		return errors.Join(err, c.revive(ctx, p.Name))
	}
	return err
}

// start has what is in the way of an exclusive plugin end first.
func (c *change) start(ctx context.Context, p Plugin) (*instance, error) {
	for _, in := range slices.Clone(c.retired) {
		if in.Name == p.Name && (in.Exclusive || p.Exclusive) {
			c.retired = slices.DeleteFunc(c.retired, func(x *instance) bool { return x == in })
			c.halt(ctx, in)
		}
	}
	for _, k := range p.needs() {
		if !c.given(k, p.Name) { // it went with what was in the way
			c.late[p.Name] = true
			return nil, &PluginError{p.Name, missing(c.shelf, k, p.Name)}
		}
	}
	return c.host.start(ctx, p)
}

// anew starts p in the place of old, which is stopped; or else old.
func (c *change) anew(ctx context.Context, p Plugin, old *instance) error {
	fresh, err := c.start(ctx, p)
	if err == nil {
		return c.show(ctx, nil, fresh)
	}
	return errors.Join(err, c.revive(ctx, old.Name))
}

// revive starts anew, as it was, what was stopped for others and could not be
// started as it is to be.
func (c *change) revive(ctx context.Context, name string) error {
	at := slices.IndexFunc(c.old, func(in *instance) bool { return in.Name == name })
	if at < 0 || slices.ContainsFunc(c.old[at].needs(), func(k plugin.Key) bool { return !c.given(k, name) }) {
		return nil
	}
	fresh, err := c.start(ctx, c.old[at].Plugin)
	if err != nil {
		return err
	}
	return c.show(ctx, nil, fresh)
}

// show swaps fresh in.
func (c *change) show(ctx context.Context, old, fresh *instance) error {
	var shadow *plugin.Scope
	if old != nil {
		shadow = old.scope
	}
	if err := c.host.scope.Swap(ctx, shadow, fresh.scope); err != nil {
		return &PluginError{fresh.Name, errors.Join(err, c.host.stop(context.WithoutCancel(ctx), fresh))}
	}
	c.renewed = append(c.renewed, fresh.Gives...)
	if old == nil {
		c.now = append(c.now, fresh)
		return nil
	}
	c.renewed = append(c.renewed, old.Gives...)
	c.retired = append(c.retired, old)
	c.now[slices.Index(c.now, old)] = fresh
	return nil
}

// hide lets nobody see an instance any more. It is closed later.
func (c *change) hide(ctx context.Context, in *instance) {
	c.now = slices.DeleteFunc(c.now, func(x *instance) bool { return x == in })
	c.retired = append(c.retired, in)
	empty, err := c.host.scope.Shadow(in.Name)
	if err != nil {
		return // the host closes, and with it in
	}
	if err := c.host.scope.Swap(ctx, in.scope, empty); err == nil {
		c.retired = append(c.retired, &instance{Plugin: Plugin{Name: in.Name}, scope: empty})
	}
}

// halt stops an instance now, and before it all that need what goes with it.
func (c *change) halt(ctx context.Context, in *instance) {
	ctx = context.WithoutCancel(ctx)
	c.now = slices.DeleteFunc(c.now, func(x *instance) bool { return x == in })
	stopped := append(c.await(in.Gives), in)
	c.lastFirst(stopped) // also those that starve for another's sake, which in may need
	c.host.burying()
	for _, x := range stopped {
		c.renewed = append(c.renewed, x.Gives...)
		if x.gives(Store) {
			c.failed(c.host.unseat(ctx))
		}
		c.end(ctx, x)
	}
}

// end stops an instance. One in which the reload itself was asked for is
// hidden, and closed later.
func (c *change) end(ctx context.Context, in *instance) {
	err := c.host.stop(ctx, in)
	if errors.Is(err, plugin.ErrSelfWait) {
		c.hide(ctx, in)
	}
	c.failed(err)
}

package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tack-agent/tack/plugin"
)

func (c *change) failed(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// told says whether something was reported of a plugin.
func (c *change) told(name string) bool {
	return slices.ContainsFunc(c.errs, func(err error) bool {
		var of *PluginError
		return errors.As(err, &of) && of.Plugin == name
	})
}

// given says whether a running plugin, but one, gives k.
func (c *change) given(k plugin.Key, but string) bool {
	return c.host.base(k) || slices.ContainsFunc(c.now, func(in *instance) bool { return in.Name != but && in.gives(k) })
}

// starved takes out all that need what is no longer given, or hold what is
// gone, in the order in which they are to be stopped.
func (c *change) starved(gone ...plugin.Key) []*instance {
	var out []*instance
	for more := true; more; {
		more = false
		for _, in := range slices.Backward(slices.Clone(c.now)) {
			if c.lacks(in) != nil || slices.ContainsFunc(in.Holds, func(k plugin.Key) bool { return slices.Contains(gone, k) }) {
				gone = append(gone, in.Gives...)
				c.late[in.Name] = true
				c.now = slices.DeleteFunc(c.now, func(x *instance) bool { return x == in })
				out, more = append(out, in), true
			}
		}
	}
	c.lastFirst(out)
	return out
}

// again gives those another turn whose services changed after theirs: who came
// later gave what they had, and does no more. It says whether there were any.
func (c *change) again(ctx context.Context) (any bool) {
	for _, p := range c.plan.order {
		if at := c.at(p.Name); at < 0 && c.late[p.Name] || at >= 0 && c.stale(c.now[at]) {
			any = true
			c.failed(c.one(ctx, p))
		}
	}
	return any
}

// at is where a plugin is among those that run; -1: it doesn't.
func (c *change) at(name string) int {
	return slices.IndexFunc(c.now, func(in *instance) bool { return in.Name == name })
}

// stale says whether what in holds was provided anew since it was looked at.
func (c *change) stale(in *instance) bool {
	return slices.ContainsFunc(in.Holds, func(k plugin.Key) bool { return slices.Contains(c.renewed[c.seen[in.Name]:], k) })
}

// lacks is a need of in that nothing gives.
func (c *change) lacks(in *instance) plugin.Key {
	for _, k := range in.needs() {
		if !c.given(k, in.Name) {
			return k
		}
	}
	return nil
}

// lastFirst puts instances in the order in which they are stopped: those that
// didn't run before first.
func (c *change) lastFirst(list []*instance) {
	place := func(in *instance) int {
		if at := slices.Index(c.old, in); at >= 0 {
			return at
		}
		return len(c.old) + in.serial
	}
	slices.SortStableFunc(list, func(a, b *instance) int { return cmp.Compare(place(b), place(a)) })
}

// finish hides what is not to run any more, and closes what is hidden as soon
// as nothing runs in it.
func (c *change) finish(ctx context.Context) {
	var starved []*instance
	for _, in := range c.leaving() {
		starved = append(starved, c.drop(ctx, in, in.Gives...)...)
	}
	for _, in := range c.starved() {
		c.hide(ctx, in)
		starved = append(starved, in)
	}
	for _, in := range starved {
		if !c.told(in.Name) && c.plan.place(in.Name) >= 0 {
			c.failed(&PluginError{in.Name, missing(c.shelf, c.lost(in), in.Name)})
		}
	}
	var actual Shelf // not all are as the shelf has them
	for _, in := range c.now {
		actual = append(actual, in.Plugin)
	}
	p := planned(actual, c.host.base)
	slices.SortStableFunc(c.now, func(a, b *instance) int { return cmp.Compare(p.place(a.Name), p.place(b.Name)) })
	c.host.running = c.now
	if slices.Contains(c.renewed, plugin.Key(Store)) || !c.given(Store, "") {
		c.failed(c.host.unseat(context.WithoutCancel(ctx)))
	}
	c.lastFirst(c.retired)
	if len(c.retired) > 0 {
		before, done := c.host.buried, make(chan struct{})
		c.host.buried = done
		c.failed(c.host.graves.Go(func(ctx context.Context) {
			defer close(done)
			c.bury(ctx, before)
		}))
	}
}

// leaving are those that run and are not to, last first.
func (c *change) leaving() []*instance {
	var out []*instance
	for _, in := range slices.Backward(c.now) {
		if c.plan.place(in.Name) < 0 {
			out = append(out, in)
		}
	}
	return out
}

// lost is the service that x was stopped for.
func (c *change) lost(x *instance) plugin.Key {
	if k := c.lacks(x); k != nil {
		return k
	}
	return x.Holds[0]
}

// drop hides an instance, and before it all that need what goes with it, or
// hold what is gone.
func (c *change) drop(ctx context.Context, in *instance, gone ...plugin.Key) (starved []*instance) {
	if !slices.Contains(c.now, in) {
		return nil // starved already
	}
	c.now = slices.DeleteFunc(c.now, func(x *instance) bool { return x == in })
	starved = c.starved(gone...)
	for _, x := range append(slices.Clone(starved), in) {
		c.renewed = append(c.renewed, x.Gives...)
		c.hide(ctx, x)
	}
	return starved
}

func (p *plan) place(name string) int {
	return slices.IndexFunc(p.order, func(q Plugin) bool { return q.Name == name })
}

// await takes out all, running or replaced, that must end before these services
// go, in the order in which they are to be stopped.
func (c *change) await(gone []plugin.Key) []*instance {
	gone = slices.Clone(gone)
	var first []*instance
	for more := true; more; {
		found := c.starved(gone...)
		for _, in := range c.retired {
			if slices.ContainsFunc(in.needs(), func(k plugin.Key) bool { return slices.Contains(gone, k) }) {
				found = append(found, in)
			}
		}
		c.retired = slices.DeleteFunc(c.retired, func(x *instance) bool { return slices.Contains(found, x) })
		for _, in := range found {
			gone = append(gone, in.Gives...)
		}
		first, more = append(first, found...), len(found) > 0
	}
	c.lastFirst(first)
	return first
}

// burying waits for what earlier changes replaced, at most the grace time.
func (h *Host) burying() {
	patience := time.NewTimer(h.options.Grace)
	defer patience.Stop()
	select {
	case <-h.buried:
	case <-patience.C:
	}
}

// bury closes what was retired, after what was retired before, which may need
// it. What runs there may take its time.
func (c *change) bury(ctx context.Context, before <-chan struct{}) {
	select {
	case <-before:
	case <-ctx.Done():
	}
	for _, in := range c.retired {
		if err := in.scope.Close(ctx); err != nil {
			c.host.scope.Log().WarnContext(ctx, "a plugin that was replaced did not end well", "plugin", in.Name, "error", err)
		}
	}
}

package host

import (
	"slices"

	"github.com/tack-agent/tack/plugin"
)

// plan is an order in which every plugin comes after those whose services it
// needs. It is what can be known before anything is started.
type plan struct {
	base    func(plugin.Key) bool // is there without any plugin
	pending Shelf
	order   Shelf
	left    map[string]error // who can't start, and why
}

// planned orders a shelf. Where needs leave a choice, the shelf's order stands.
func planned(shelf Shelf, base func(plugin.Key) bool) *plan {
	p := &plan{base: base, pending: slices.Clone(shelf), left: map[string]error{}}
	for len(p.pending) > 0 {
		switch {
		case p.pick(p.ready), p.strike(shelf), p.pick(p.able):
		default:
			p.untie()
		}
	}
	return p
}

// pick plans the first one that is fit.
func (p *plan) pick(fit func(*Plugin) bool) bool {
	for i := range p.pending {
		if fit(&p.pending[i]) {
			p.order = append(p.order, p.pending[i])
			p.pending = slices.Delete(p.pending, i, i+1)
			return true
		}
	}
	return false
}

// able says that something gives each need.
func (p *plan) able(q *Plugin) bool {
	return !slices.ContainsFunc(q.needs(), func(k plugin.Key) bool { return !p.given(k) })
}

// ready says that besides nothing more will.
func (p *plan) ready(q *Plugin) bool {
	return p.able(q) && !slices.ContainsFunc(q.needs(), func(k plugin.Key) bool { return p.giver(k, q.Name) != nil })
}

func (p *plan) given(k plugin.Key) bool {
	return p.base(k) || slices.ContainsFunc(p.order, func(q Plugin) bool { return q.gives(k) })
}

// giver is the first pending plugin, but one, that gives k.
func (p *plan) giver(k plugin.Key, but string) *Plugin {
	for i := range p.pending {
		if q := &p.pending[i]; q.Name != but && q.gives(k) {
			return q
		}
	}
	return nil
}

// strike leaves out the first one that has a need which nothing will give.
func (p *plan) strike(shelf Shelf) bool {
	for i := range p.pending {
		q := &p.pending[i]
		for _, k := range q.needs() {
			if !p.given(k) && p.giver(k, q.Name) == nil {
				p.left[q.Name] = missing(shelf, k, q.Name)
				p.pending = slices.Delete(p.pending, i, i+1)
				return true
			}
		}
	}
	return false
}

// missing says of a need who of the shelf would give it.
func missing(shelf Shelf, k plugin.Key, but string) error {
	e := &MissingError{Service: k.Name()}
	for _, q := range shelf {
		if q.Name != but && q.gives(k) {
			e.Givers = append(e.Givers, q.Name)
		}
	}
	return e
}

// untie leaves out plugins that wait for each other. All that are pending wait
// for one that is.
func (p *plan) untie() {
	var path []*Plugin
	var services []string
	at := -1
	for q := &p.pending[0]; at < 0; {
		path = append(path, q)
		for _, k := range q.needs() {
			if next := p.giver(k, q.Name); next != nil && !p.given(k) {
				q = next
				services = append(services, k.Name())
				break
			}
		}
		at = slices.Index(path, q)
	}
	e := &CycleError{Services: services[at:]}
	for _, q := range path[at:] {
		e.Plugins = append(e.Plugins, q.Name)
	}
	for _, name := range e.Plugins {
		p.left[name] = e
	}
	p.pending = slices.DeleteFunc(p.pending, func(q Plugin) bool { return slices.Contains(e.Plugins, q.Name) })
}

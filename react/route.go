package react

import (
	"sort"

	"github.com/tack-agent/tack/session"
)

// route is what a verb means to this driver. Nobody else knows it.
type route struct {
	verb  session.Verb
	opens bool // may open a turn, in the order of the table
	joins bool // enters a running turn at the next boundary
	alone bool // opens a turn by itself; else all that wait of its kind enter
	rides bool // enters with whatever enters, and causes nothing
}

var routes = []route{
	{verb: session.Steer, opens: true, joins: true},
	{verb: session.Followup, opens: true, alone: true},
	{verb: session.Inject, rides: true},
}

// batch is what would enter at the boundary: what was runnable, and the
// injects that waited, when the step became due; by sequence.
func (m *machine) batch() []*session.Pending {
	var batch []*session.Pending
	opened := false
	for _, r := range routes {
		switch {
		case r.rides:
		case m.Turn.opening() && (opened || !r.opens):
			continue
		case !m.Turn.opening() && !r.joins:
			continue
		}
		for _, p := range m.talk.Inbox.Waiting(r.verb) {
			if p.Since > m.Turn.Due {
				continue
			}
			batch = append(batch, p)
			opened = opened || r.opens
			if r.alone {
				break
			}
		}
	}
	sort.Slice(batch, func(i, j int) bool { return batch[i].Seq < batch[j].Seq })
	return batch
}

// runnable says whether a message waits that may open a turn.
func (m *machine) runnable() bool {
	for _, r := range routes {
		if r.opens && len(m.talk.Inbox.Waiting(r.verb)) > 0 {
			return true
		}
	}
	return false
}

// joining says whether a message waits that the running turn must take in,
// among those runnable since the fact at most or before.
func (m *machine) joining(most session.Seq) bool {
	for _, r := range routes {
		if !r.joins {
			continue
		}
		for _, p := range m.talk.Inbox.Waiting(r.verb) {
			if p.Since <= most {
				return true
			}
		}
	}
	return false
}

// waking says whether a batch has a message that asks for the step.
func waking(batch []*session.Pending) bool { return wakingIDs(batch) != nil }

// wakingIDs lists the messages of a batch that ask for the step.
func wakingIDs(batch []*session.Pending) []string {
	var ids []string
	for _, p := range batch {
		if p.Verb.Wakes() {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

package react

import (
	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/prompt"
	"github.com/tack-agent/tack/session"
)

// reflex notes what is owed and returns the answer to a piece of it that needs
// nobody to think: hooks that aren't there, work of a stopped turn that isn't
// under way. So it costs neither a goroutine nor an append of its own.
func (d *driver) reflex(calm bool) input {
	d.owing = d.m.owed()
	w := &d.owing
	switch {
	case w.halt.cause != 0:
		return d.notUnderWay(w.halt)
	case !calm:
		return nil
	case w.consult.cause != 0:
		return d.unasked(w.consult)
	case w.end.cause != 0 && !agent.Stopping.Any(d.scope):
		return ended{cause: w.end.cause}
	default:
		return nil
	}
}

// notUnderWay answers for a stopped turn's work that had not begun.
func (d *driver) notUnderWay(h halting) input {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.ask != 0 && d.flying(mark{asks, h.ask, 0}) == nil {
		return dropped{cause: h.ask}
	}
	for _, c := range h.calls {
		if d.flying(mark{calls, c.answer, c.index}) == nil {
			return resulted{fact: resultFor(c, chat.CodeNotStarted, "not started: the turn was stopped first")}
		}
	}
	return nil
}

// resultFor is a result without a body's word.
func resultFor(c calling, code chat.Code, text string) session.Resulted {
	return session.Resulted{Answer: c.answer, Index: c.index, Result: chat.Result{
		Call: c.call.ID, Name: c.call.Name, Code: code, Parts: []chat.Part{chat.Text(text)},
	}}
}

// unasked lets all of a batch in if no hook wants to see it and the header is
// as it was.
func (d *driver) unasked(c consultation) input {
	if !c.maintained && agent.Maintenance.Any(d.scope) || agent.Entering.Any(d.scope) || prompt.AnyFact(d.scope) || !d.unchanged() {
		return nil
	}
	rulings := make([]ruling, len(c.batch))
	for i, p := range c.batch {
		rulings[i] = ruling{id: p.ID}
	}
	return consulted{cause: c.cause, rulings: rulings}
}

package session

import "maps"

// Mark is a state of an Inbox to go back to. Taking it costs nothing that
// grows with what waits; going back costs as much as what was done since.
type Mark struct{ was Inbox }

// Mark begins to note what Undo needs. There is one mark at a time: a new one
// takes the place of the last.
//
// Lists are never written below their length, so the old list heads are enough
// for them. Only the table of ids needs a journal.
func (b *Inbox) Mark() Mark {
	b.journal, b.marked = b.journal[:0], true
	return Mark{was: *b}
}

// Undo goes back to the last Mark.
func (b *Inbox) Undo(m Mark) {
	changes := b.journal
	*b = m.was
	for i := len(changes) - 1; i >= 0; i-- {
		if c := changes[i]; c.table == nil {
			continue
		} else if c.was == nil {
			delete(c.table, c.id)
		} else {
			c.table[c.id] = c.was
		}
	}
	b.journal, b.marked = changes[:0], false
}

// Keep makes what was done since the last Mark final.
func (b *Inbox) Keep() { b.journal, b.marked = b.journal[:0], false }

func (b *Inbox) put(p *Pending) {
	if b.ids == nil {
		b.ids = make(map[string]*Pending)
	}
	b.note(p.ID)
	b.ids[p.ID] = p
}

func (b *Inbox) forget(id string) {
	b.note(id)
	delete(b.ids, id)
}

func (b *Inbox) note(id string) {
	if b.marked {
		b.journal = append(b.journal, idChange{table: b.ids, id: id, was: b.ids[id]})
	}
}

// idChange undoes one change of a table of ids.
type idChange struct {
	table map[string]*Pending
	id    string
	was   *Pending // nil: it wasn't there
}

// Clone shares nothing with b that either may change.
func (b *Inbox) Clone() Inbox {
	c := *b
	c.ids = maps.Clone(b.ids)
	c.journal, c.marked = nil, false
	clip := func(list *[]*Pending) { *list = (*list)[:len(*list):len(*list)] }
	clip(&c.steers)
	clip(&c.followups)
	clip(&c.injects)
	clip(&c.parked)
	c.asked = c.asked[:len(c.asked):len(c.asked)]
	return c
}

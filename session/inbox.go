package session

import (
	"fmt"
	"slices"
	"sort"

	"github.com/tack-agent/tack/chat"
)

// Inbox is the fold of what waits: messages that were accepted and neither
// entered nor ended, and questions that were asked for calls still open.
//
// An Inbox copied by assignment is a mark to go back to: see Mark and Undo.
// Pending and Asked values are never changed once they are in it.
type Inbox struct {
	steers    []*Pending // runnable, by sequence, and so the next two
	followups []*Pending
	injects   []*Pending
	parked    []*Pending // waking, held back, by sequence
	asked     []*Asked
	waking    Room // taken by steers and followups, parked ones too
	silent    Room // taken by injects
	ids       map[string]*Pending
	journal   []idChange
	marked    bool
}

// Pending is a message that waits.
type Pending struct {
	ID     string
	Verb   Verb
	Source chat.Source
	Digest chat.Digest // as first accepted
	Size   int64       // in bytes, as it is now
	Seq    Seq         // of its Accepted
	From   Seq         // of the fact with its present parts: Accepted or the last Amended
	Since  Seq         // runnable since this fact; injects: since accepted
	Parked ParkReason  // empty: not parked
	Struck bool        // a hook broke on it once
	// Message is the message with its present parts; nil after a snapshot,
	// until it is filled.
	Message *chat.Message
}

// Asked is a question for a call that has no result yet.
type Asked struct {
	Question
	Seq     Seq
	Reply   *Reply // nil: open
	Replied Seq    // of the reply
}

// Room is what messages take up.
type Room struct {
	Count int   // messages
	Bytes int64 // of their sizes
	// The share of those that aren't from people.
	OtherCount int
	OtherBytes int64
}

// Get returns the pending message id, or nil.
func (b *Inbox) Get(id string) *Pending { return b.ids[id] }

// Waiting returns the messages of a verb that aren't parked, by sequence.
// The slice is not to be changed.
func (b *Inbox) Waiting(v Verb) []*Pending { return *b.queue(v) }

// Parked returns the messages that are held back, by sequence. The slice is
// not to be changed.
func (b *Inbox) Parked() []*Pending { return b.parked }

// Pending returns all messages that wait, by sequence.
func (b *Inbox) Pending() []*Pending {
	all := slices.Concat(b.steers, b.followups, b.injects, b.parked)
	sort.Slice(all, func(i, j int) bool { return all[i].Seq < all[j].Seq })
	return all
}

// Questions returns the questions of open calls, in the order asked. The slice
// is not to be changed.
func (b *Inbox) Questions() []*Asked { return b.asked }

// Question returns the question id of an open call, or nil.
func (b *Inbox) Question(id string) *Asked {
	for _, q := range b.asked {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// Open lists the ids of the questions without a reply.
func (b *Inbox) Open() []string {
	var ids []string
	for _, q := range b.asked {
		if q.Reply == nil {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// Room returns what the messages that share a limit with v take up.
func (b *Inbox) Room(v Verb) Room {
	if v.Wakes() {
		return b.waking
	}
	return b.silent
}

// Apply folds one event.
func (b *Inbox) Apply(e Event) error {
	switch f := e.Fact.(type) {
	case Accepted:
		b.accept(e.Seq, f)
	case Amended:
		b.amend(e.Seq, f)
	case Entered:
		for _, m := range f.Messages {
			if m.Added == nil {
				b.drop(m.ID)
			}
		}
	case Refused:
		b.drop(f.ID)
	case Taken:
		b.drop(f.ID)
	case Withdrawn:
		b.drop(f.ID)
	case Cancelled:
		b.cancel(f)
	case Parked:
		b.parkIDs(f)
	case Released:
		b.release(e.Seq, f.By)
	case Reopened:
		if f.Mode == OpenHold {
			b.parkAll(ParkedHeld)
		}
	case TurnEnded:
		b.turnEnded(f)
	case Question:
		b.asked = append(b.asked, &Asked{Question: f, Seq: e.Seq})
	case Reply:
		b.replied(e.Seq, f)
	case Resulted:
		b.forgetQuestions(func(q *Asked) bool { return q.Answer == f.Answer && q.Index == f.Index })
	case Halted:
		b.forgetOpen()
	case Forked:
		b.clear()
		b.asked = nil
	}
	return nil
}

func (b *Inbox) accept(seq Seq, f Accepted) {
	m := f.Message
	p := &Pending{
		ID: m.ID, Verb: f.Verb, Source: m.Source, Digest: f.Digest, Size: m.Size(),
		Seq: seq, From: seq, Since: seq, Message: &m,
	}
	b.room(p.Verb).add(p, 1)
	b.put(p)
	queue := b.queue(p.Verb)
	*queue = append(*queue, p)
}

func (b *Inbox) amend(seq Seq, f Amended) {
	old := b.ids[f.ID]
	if old == nil {
		return
	}
	p := old.Amended(f.Parts)
	p.From = seq
	b.room(p.Verb).add(old, -1)
	b.room(p.Verb).add(p, 1)
	b.exchange(old, p)
}

// Amended is p with other parts.
func (p *Pending) Amended(parts []chat.Part) *Pending {
	changed := *p
	changed.Message = reworded(p.Message, parts)
	changed.Size = changed.Message.Size()
	return &changed
}

// drop takes a message out; one that isn't there was added by a hook.
func (b *Inbox) drop(id string) {
	p := b.ids[id]
	if p == nil {
		return
	}
	b.room(p.Verb).add(p, -1)
	b.forget(id)
	list := b.list(p)
	at := find(*list, p.Seq)
	if at == 0 {
		*list = (*list)[1:]
		return
	}
	*list = slices.Concat((*list)[:at], (*list)[at+1:])
}

func (b *Inbox) cancel(f Cancelled) {
	if f.KeepInbox {
		b.parkAll(ParkedStopped)
		b.repark(ParkedStopped)
	} else {
		b.clear()
	}
	b.forgetOpen()
}

func (b *Inbox) turnEnded(f TurnEnded) {
	for _, id := range f.Struck {
		if old := b.ids[id]; old != nil {
			p := *old
			p.Struck = true
			b.exchange(old, &p)
		}
	}
	if f.Reason == EndFailed {
		b.parkAll(ParkedFailed)
	}
	b.asked = nil
}

func (b *Inbox) replied(seq Seq, f Reply) {
	for i, q := range b.asked {
		if q.ID == f.ID && q.Reply == nil {
			answered := *q
			answered.Reply, answered.Replied = &f, seq
			b.asked = slices.Clone(b.asked)
			b.asked[i] = &answered
		}
	}
}

func (b *Inbox) forgetOpen() {
	b.forgetQuestions(func(q *Asked) bool { return q.Reply == nil })
}

func (b *Inbox) forgetQuestions(which func(*Asked) bool) {
	if slices.ContainsFunc(b.asked, which) {
		b.asked = slices.DeleteFunc(slices.Clone(b.asked), which)
	}
}

// parkAll holds back all that is runnable.
func (b *Inbox) parkAll(why ParkReason) {
	if len(b.steers)+len(b.followups) == 0 {
		return
	}
	b.park(slices.Concat(b.steers, b.followups), why)
	b.steers, b.followups = nil, nil
}

func (b *Inbox) parkIDs(f Parked) {
	if f.IDs == nil {
		b.parkAll(f.Reason)
		return
	}
	var held []*Pending
	for _, id := range f.IDs {
		p := b.ids[id]
		if p == nil || p.Parked != "" || !p.Verb.Wakes() {
			continue
		}
		list := b.list(p)
		at := find(*list, p.Seq)
		*list = slices.Concat((*list)[:at], (*list)[at+1:])
		held = append(held, p)
	}
	b.park(held, f.Reason)
}

// park adds messages, already out of their queues, to those held back.
func (b *Inbox) park(held []*Pending, why ParkReason) {
	parked := slices.Clone(b.parked)
	for _, old := range held {
		p := *old
		p.Parked = why
		b.put(&p)
		parked = append(parked, &p)
	}
	b.parked = bySeq(parked)
}

// repark gives all that is held back one reason.
func (b *Inbox) repark(why ParkReason) {
	held := b.parked
	b.parked = nil
	b.park(held, why)
}

func (b *Inbox) release(seq Seq, by Release) {
	if len(b.parked) == 0 {
		return
	}
	var kept, steers, followups []*Pending
	for _, old := range b.parked {
		if by == ReleaseCompleted && old.Parked != ParkedFailed {
			kept = append(kept, old)
			continue
		}
		p := *old
		p.Parked, p.Since = "", seq
		b.put(&p)
		if p.Verb == Steer {
			steers = append(steers, &p)
		} else {
			followups = append(followups, &p)
		}
	}
	b.parked = kept
	b.steers = bySeq(slices.Concat(steers, b.steers))
	b.followups = bySeq(slices.Concat(followups, b.followups))
}

// clear takes all messages out. The old table of ids stays as it was, for Undo.
func (b *Inbox) clear() {
	b.steers, b.followups, b.injects, b.parked = nil, nil, nil, nil
	b.waking, b.silent = Room{}, Room{}
	b.ids = nil
}

func (b *Inbox) exchange(old, p *Pending) {
	b.put(p)
	list := b.list(old)
	changed := slices.Clone(*list)
	changed[find(changed, old.Seq)] = p
	*list = changed
}

func (b *Inbox) list(p *Pending) *[]*Pending {
	if p.Parked != "" {
		return &b.parked
	}
	return b.queue(p.Verb)
}

func (b *Inbox) queue(v Verb) *[]*Pending {
	switch v {
	case Steer:
		return &b.steers
	case Followup:
		return &b.followups
	default:
		return &b.injects
	}
}

func (b *Inbox) room(v Verb) *Room {
	if v.Wakes() {
		return &b.waking
	}
	return &b.silent
}

func (r *Room) add(p *Pending, sign int) {
	r.Count += sign
	r.Bytes += int64(sign) * p.Size
	if p.Source.Kind != chat.SourceUser {
		r.OtherCount += sign
		r.OtherBytes += int64(sign) * p.Size
	}
}

// Without is the room as if p didn't take up its share.
func (r Room) Without(p *Pending) Room {
	r.add(p, -1)
	return r
}

// find returns the place of the message accepted at seq in a list that has it.
func find(list []*Pending, seq Seq) int {
	at := sort.Search(len(list), func(i int) bool { return list[i].Seq >= seq })
	if at == len(list) || list[at].Seq != seq {
		panic(fmt.Sprintf("inbox: message %d is in the table but not in its queue", seq))
	}
	return at
}

func bySeq(list []*Pending) []*Pending {
	less := func(i, j int) bool { return list[i].Seq < list[j].Seq }
	if !sort.SliceIsSorted(list, less) {
		sort.Slice(list, less)
	}
	return list
}

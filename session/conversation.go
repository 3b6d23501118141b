package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tack-agent/tack/chat"
)

// Conversation folds what waits and what the model is shown together: a
// message leaves the one when it enters the other.
type Conversation struct {
	Inbox      Inbox
	Transcript Transcript
	missing    map[Seq][]func(Fact) // what a snapshot named and didn't hold
}

// Name is the fold's name in snapshots.
func (*Conversation) Name() string { return "conversation" }

// Version rises when Encode or the meaning of what it writes changes.
func (*Conversation) Version() int { return 1 }

// Apply folds one event. An error means that the log contradicts itself; the
// conversation is as it was before the event.
func (c *Conversation) Apply(e Event) error {
	if err := c.Transcript.apply(e, &c.Inbox); err != nil {
		return err
	}
	return c.Inbox.Apply(e)
}

// Mark begins to note what Undo needs; see Inbox.Mark.
func (c *Conversation) Mark() ConversationMark {
	return ConversationMark{inbox: c.Inbox.Mark(), transcript: c.Transcript}
}

// Undo goes back to the last Mark.
func (c *Conversation) Undo(m ConversationMark) {
	c.Inbox.Undo(m.inbox)
	c.Transcript = m.transcript
}

// ConversationMark is a state of a Conversation to go back to.
type ConversationMark struct {
	inbox      Mark
	transcript Transcript
}

// conversationState is a snapshot: sequences, not content.
type conversationState struct {
	Pending  []pendingState `json:"pending,omitempty"`
	Asked    []askedState   `json:"asked,omitempty"`
	Items    []Item         `json:"items,omitempty"`
	Results  []Item         `json:"results,omitempty"`
	Open     int            `json:"open,omitempty"`
	Epoch    int            `json:"epoch,omitempty"`
	Answered Seq            `json:"answered,omitempty"`
}

type pendingState struct {
	ID     string      `json:"id"`
	Verb   Verb        `json:"verb"`
	Source chat.Source `json:"source"`
	Digest chat.Digest `json:"digest"`
	Size   int64       `json:"size"`
	Seq    Seq         `json:"seq"`
	From   Seq         `json:"from"`
	Since  Seq         `json:"since"`
	Parked ParkReason  `json:"parked,omitempty"`
	Struck bool        `json:"struck,omitempty"`
}

type askedState struct {
	Seq     Seq `json:"seq"`
	Replied Seq `json:"replied,omitempty"`
}

// Encode writes the state without the content of messages.
func (c *Conversation) Encode() ([]byte, error) {
	s := conversationState{
		Items: c.Transcript.items, Results: c.Transcript.results, Open: c.Transcript.open,
		Epoch: c.Transcript.epoch, Answered: c.Transcript.answered,
	}
	for _, p := range c.Inbox.Pending() {
		s.Pending = append(s.Pending, pendingState{
			ID: p.ID, Verb: p.Verb, Source: p.Source, Digest: p.Digest, Size: p.Size,
			Seq: p.Seq, From: p.From, Since: p.Since, Parked: p.Parked, Struck: p.Struck,
		})
	}
	for _, q := range c.Inbox.asked {
		s.Asked = append(s.Asked, askedState{Seq: q.Seq, Replied: q.Replied})
	}
	return encode(s)
}

// Decode takes over what Encode wrote. Missing then says which events have to
// be filled in before the conversation is used.
func (c *Conversation) Decode(data []byte) error {
	var s conversationState
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode conversation: %w", err)
	}
	*c = Conversation{
		Transcript: Transcript{
			items: s.Items, results: s.Results, open: s.Open, epoch: s.Epoch, answered: s.Answered,
		},
		missing: map[Seq][]func(Fact){},
	}
	for _, p := range s.Pending {
		c.Inbox.restore(&Pending{
			ID: p.ID, Verb: p.Verb, Source: p.Source, Digest: p.Digest, Size: p.Size,
			Seq: p.Seq, From: p.From, Since: p.Since, Parked: p.Parked, Struck: p.Struck,
		})
	}
	for _, q := range s.Asked {
		c.Inbox.asked = append(c.Inbox.asked, &Asked{Seq: q.Seq, Replied: q.Replied})
	}
	c.wantContent()
	return nil
}

// restore puts a message from a snapshot where it was.
func (b *Inbox) restore(p *Pending) {
	b.room(p.Verb).add(p, 1)
	b.put(p)
	list := b.list(p)
	*list = append(*list, p)
}

// wantContent notes which fact holds what of the state.
func (c *Conversation) wantContent() {
	for _, p := range c.Inbox.Pending() {
		c.want(p.Seq, func(f Fact) { p.Message = messageIn(f, 0) })
		if p.From != p.Seq {
			c.want(p.From, func(f Fact) { p.Message = reworded(p.Message, partsIn(f, 0)) })
		}
	}
	for _, q := range c.Inbox.asked {
		c.want(q.Seq, func(f Fact) { q.Question, _ = f.(Question) })
		if q.Replied != 0 {
			c.want(q.Replied, func(f Fact) {
				if r, is := f.(Reply); is {
					q.Reply = &r
				}
			})
		}
	}
	for _, items := range [][]Item{c.Transcript.items, c.Transcript.results} {
		for i := range items {
			c.wantItem(&items[i])
		}
	}
}

func (c *Conversation) wantItem(it *Item) {
	c.want(it.Base, func(f Fact) {
		switch f := f.(type) {
		case Answered:
			it.Answer = &f.Answer
		case Resulted:
			it.Result = &f.Result
		default:
			it.Message = messageIn(f, it.Index)
		}
	})
	if it.Fact != 0 {
		c.want(it.Fact, func(f Fact) { it.Message = reworded(it.Message, partsIn(f, it.Index)) })
	}
}

func (c *Conversation) want(seq Seq, fill func(Fact)) {
	c.missing[seq] = append(c.missing[seq], fill)
}

// Missing lists the events whose content a snapshot left out, in order.
func (c *Conversation) Missing() []Seq { return slices.Sorted(maps.Keys(c.missing)) }

// Fill takes the content of one missing event. They come in order.
func (c *Conversation) Fill(e Event) error {
	for _, fill := range c.missing[e.Seq] {
		fill(e.Fact)
	}
	delete(c.missing, e.Seq)
	if len(c.missing) == 0 {
		c.missing = nil
	}
	return nil
}

// messageIn is the index-th message that a fact holds whole.
func messageIn(f Fact, index int) *chat.Message {
	switch f := f.(type) {
	case Accepted:
		return &f.Message
	case Entered:
		return f.Messages[index].Added
	case Replaced:
		return &f.Messages[index]
	default:
		return nil
	}
}

// partsIn is what a fact makes of the parts of its index-th message.
func partsIn(f Fact, index int) []chat.Part {
	switch f := f.(type) {
	case Amended:
		return f.Parts
	case Entered:
		return f.Messages[index].Parts
	default:
		return nil
	}
}

// reworded is m with other parts.
func reworded(m *chat.Message, parts []chat.Part) *chat.Message {
	if m == nil {
		return nil
	}
	changed := *m
	changed.Parts = parts
	return &changed
}

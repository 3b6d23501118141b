package session

import (
	"fmt"
	"sort"

	"github.com/tack-agent/tack/chat"
)

// Transcript is the fold of what the model is shown: messages in the order
// they entered, answers, and results in the model's order.
//
// It only grows, but for a replacement, which begins a new Epoch: within one,
// a request built from it extends the one before. A Transcript copied by
// assignment stays as it was.
type Transcript struct {
	items    []Item
	results  []Item // of the last answer, while calls are open
	open     int    // calls of the last answer without a result
	epoch    int
	answered Seq // the last answer
}

// Item is one thing the model is shown; exactly one of Message, Answer and
// Result is set, or none after a snapshot until it is filled.
type Item struct {
	Kind ItemKind `json:"kind"`
	// From and To are the range of facts the item stands for: one fact, or all
	// results of an answer, or what was replaced.
	From Seq `json:"from"`
	To   Seq `json:"to"`
	// Base is the fact that holds the item, and Fact the one that holds its
	// parts where another changed them: Amended or Entered.
	Base  Seq `json:"base"`
	Fact  Seq `json:"fact,omitempty"`
	Index int `json:"index,omitempty"` // in Base or Fact, where that has several

	Message *chat.Message `json:"-"`
	Answer  *chat.Answer  `json:"-"`
	Result  *chat.Result  `json:"-"`
}

// ItemKind says what an item is.
type ItemKind string

const (
	ItemMessage  ItemKind = "message"  // it waited, then entered
	ItemAdded    ItemKind = "added"    // a hook added it
	ItemReplaced ItemKind = "replaced" // it stands for a range of history
	ItemAnswer   ItemKind = "answer"
	ItemResult   ItemKind = "result"
)

// Items returns what the model is shown, in order. The slice is not to be
// changed. Results appear once the last call of their answer has one.
func (t *Transcript) Items() []Item { return t.items }

// Epoch rises with each replacement.
func (t *Transcript) Epoch() int { return t.epoch }

// Answered is the sequence of the last answer: messages that entered before
// have been seen.
func (t *Transcript) Answered() Seq { return t.answered }

// LastAnswer is the answer whose calls may be open; nil if there is none.
func (t *Transcript) LastAnswer() *chat.Answer {
	if n := len(t.items); n > 0 {
		return t.items[n-1].Answer
	}
	return nil
}

// apply folds one event. It reads the messages that enter from inbox, as it
// was before the event.
func (t *Transcript) apply(e Event, inbox *Inbox) error {
	switch f := e.Fact.(type) {
	case Entered:
		return t.enter(e.Seq, f, inbox)
	case Answered:
		t.items = append(t.items, Item{Kind: ItemAnswer, From: e.Seq, To: e.Seq, Base: e.Seq, Answer: &f.Answer})
		t.answered, t.open = e.Seq, len(f.Answer.Calls())
	case Resulted:
		t.result(e.Seq, f)
	case Replaced:
		return t.replace(e.Seq, f)
	case Forked:
		t.results, t.open = nil, 0
	}
	return nil
}

func (t *Transcript) enter(seq Seq, f Entered, inbox *Inbox) error {
	for i, entry := range f.Messages {
		it := Item{From: seq, To: seq, Index: i}
		if entry.Added != nil {
			it.Kind, it.Base, it.Message = ItemAdded, seq, entry.Added
			t.items = append(t.items, it)
			continue
		}
		p := inbox.Get(entry.ID)
		if p == nil {
			return fmt.Errorf("event %d lets in message %s, which wasn't pending", seq, entry.ID)
		}
		it.Kind, it.Base, it.Message = ItemMessage, p.Seq, p.Message
		if p.From != p.Seq {
			it.Fact = p.From
		}
		if entry.Parts != nil {
			it.Fact = seq
			it.Message = reworded(p.Message, entry.Parts)
		}
		t.items = append(t.items, it)
	}
	return nil
}

func (t *Transcript) result(seq Seq, f Resulted) {
	t.results = append(t.results, Item{
		Kind: ItemResult, From: seq, To: seq, Base: seq, Index: f.Index, Result: &f.Result,
	})
	t.open--
	if t.open > 0 {
		return
	}
	from, to := t.results[0].From, seq
	first := len(t.items)
	t.items = append(t.items, t.results...)
	batch := t.items[first:]
	sort.Slice(batch, func(i, j int) bool { return batch[i].Index < batch[j].Index })
	for i := range batch {
		batch[i].From, batch[i].To = from, to
	}
	t.results = nil
}

func (t *Transcript) replace(seq Seq, f Replaced) error {
	from, to, err := t.span(f)
	if err != nil {
		return err
	}
	made := make([]Item, 0, len(t.items)-(to-from)+len(f.Messages))
	made = append(made, t.items[:from]...)
	first, last := t.items[from].From, t.items[to-1].To // what there is of the range
	for i := range f.Messages {
		made = append(made, Item{
			Kind: ItemReplaced, From: first, To: last, Base: seq, Index: i, Message: &f.Messages[i],
		})
	}
	t.items = append(made, t.items[to:]...)
	t.epoch++
	return nil
}

// Replaceable says whether a replacement may be made, and if not why: its
// range must hold something, cut no item and no calls from their results, and
// all of it must have been seen.
func (t *Transcript) Replaceable(f Replaced) error {
	_, _, err := t.span(f)
	return err
}

// unseen says that no request with the item has been answered yet. A summary
// may reach the last answer: what it stands for was seen.
func (it *Item) unseen(answered Seq) bool {
	switch it.Kind {
	case ItemAnswer:
		return false
	case ItemReplaced:
		return it.To > answered
	default:
		return it.To >= answered
	}
}

// span finds the items a replacement stands for.
func (t *Transcript) span(f Replaced) (from, to int, err error) {
	if f.From > f.To || len(f.Messages) == 0 {
		return 0, 0, fmt.Errorf("replace events %d to %d by %d messages: an empty range, or nothing in its place", f.From, f.To, len(f.Messages))
	}
	from = sort.Search(len(t.items), func(i int) bool { return t.items[i].To >= f.From })
	to = sort.Search(len(t.items), func(i int) bool { return t.items[i].From > f.To })
	switch {
	case from >= to:
		return 0, 0, fmt.Errorf("replace events %d to %d: none of them is in the transcript", f.From, f.To)
	case t.items[from].From < f.From, t.items[to-1].To > f.To:
		return 0, 0, fmt.Errorf("replace events %d to %d: a replacement made before reaches across the range's end", f.From, f.To)
	case t.items[from].Kind == ItemResult, to < len(t.items) && t.items[to].Kind == ItemResult:
		return 0, 0, fmt.Errorf("replace events %d to %d: the range parts calls from their results", f.From, f.To)
	case to == len(t.items) && t.open > 0:
		return 0, 0, fmt.Errorf("replace events %d to %d: the last answer has calls without a result", f.From, f.To)
	}
	for _, it := range t.items[from:to] {
		if it.unseen(t.answered) {
			return 0, 0, fmt.Errorf("replace events %d to %d: event %d was not seen by the model yet", f.From, f.To, it.To)
		}
	}
	return from, to, nil
}

package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

const id = session.ID("s")

// book is a session's log, written by hand.
type book struct {
	t     testing.TB
	store *session.Memory
	log   *session.Log
}

func newBook(t testing.TB) *book {
	t.Helper()
	store := session.NewMemory(nil)
	ctx := context.Background()
	if err := store.Beat(ctx, session.Process{ID: "p"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	log, err := session.OpenLog(ctx, store, id, "p")
	if err != nil {
		t.Fatal(err)
	}
	return &book{t: t, store: store, log: log}
}

// write appends facts and returns the sequence of the last.
func (b *book) write(facts ...session.Fact) session.Seq {
	b.t.Helper()
	for _, f := range facts {
		e := session.Event{Seq: b.log.Head() + 1, Time: time.Unix(0, 0).UTC(), Fact: f}
		if err := b.log.Append(context.Background(), e); err != nil {
			b.t.Fatal(err)
		}
	}
	return b.log.Head()
}

func accepted(v session.Verb, id string) session.Accepted {
	m := chat.Say("text of " + id).As(id)
	return session.Accepted{Verb: v, Message: m, Digest: m.Digest()}
}

func entered(turn, step int, ids ...string) session.Entered {
	f := session.Entered{Turn: turn, Step: step}
	for _, id := range ids {
		f.Messages = append(f.Messages, session.Entry{ID: id})
	}
	return f
}

func answered(turn int, text string) session.Answered {
	return session.Answered{Turn: turn, Step: 1, Answer: chat.Answer{
		Blocks: []chat.Block{{Kind: chat.BlockText, Text: text}}, Finish: chat.FinishStop,
	}}
}

// fate requires what became of a message.
func (b *book) fate(message string, want agent.Fate) {
	b.t.Helper()
	want.ID = message
	got, err := agent.FateOf(context.Background(), b.store, id, message)
	if err != nil || got != want {
		b.t.Errorf("the fate of %s\n got %+v, %v\nwant %+v", message, got, err, want)
	}
}

package react

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model/modeltest"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

func TestD18WhatIsWrongIsRefusedByFieldAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(modeltest.Says("one")))
		d := s.open(session.OpenContinue).(*driver)
		ctx := context.Background()
		missing := chat.BlobOf([]byte("never stored"))
		named := chat.Say("look").As("blob")
		named.Parts = append(named.Parts, chat.Part{Kind: chat.PartFile, Media: "text/plain", Blob: &missing})
		_, deliver := d.Inject(ctx, named)
		_, reply := d.Reply(ctx, session.Reply{ID: "q", Data: json.RawMessage("{")})
		_, record := d.Record(ctx, session.Noted{Kind: "no-slash", Version: 1, Data: json.RawMessage("{}")})
		for what, c := range map[string]struct {
			err  error
			says string
		}{
			"a blob that isn't there":       {deliver, "parts[1].blob"},
			"a reply that isn't JSON":       {reply, "data"},
			"a fact with a core name":       {record, "plugin/fact"},
			"parameters that aren't JSON":   {d.Configure(ctx, session.Configured{Parameters: json.RawMessage("{bad")}), "parameters"},
			"a budget below zero":           {d.Configure(ctx, session.Configured{Budget: session.Budget{Turn: session.Limit{Wall: -1}}}), "budget.turn"},
			"a replacement with a bad role": {d.Replace(ctx, session.Replaced{From: 1, To: 9, Messages: []chat.Message{{Role: "x"}}}), "role"},
			"spending below zero":           {d.Replace(ctx, session.Replaced{From: 1, To: 9, Spent: session.Spent{Cost: -1}}), "spent"},
		} {
			if !errors.Is(c.err, agent.ErrInvalid) || !strings.Contains(c.err.Error(), c.says) {
				t.Errorf("%s: %v, want ErrInvalid that names %s", what, c.err, c.says)
			}
		}
		s.want("")
		s.close()
	})
}

func TestD18WhatWasHandedOverIsCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(modeltest.Says("one")))
		s.must(tool.Add(s.root, look()))
		s.must(agent.Entering.Wrap(s.root, "meddler", func(ctx context.Context, in agent.EnteringInput, next func(context.Context, agent.EnteringInput) (agent.EnteringAnswer, error)) (agent.EnteringAnswer, error) {
			for _, p := range in.Batch {
				p.Message.Parts[0].Text = "changed by a hook"
			}
			return next(ctx, in)
		}))
		d := s.open(session.OpenContinue).(*driver)
		ctx := context.Background()
		none := session.Configured{Tools: []string{"none"}}
		s.must(d.Configure(ctx, none))
		none.Tools[0] = "look"
		data := json.RawMessage(`{"n": 1}`)
		_, err := d.Record(ctx, session.Noted{Kind: "a/b", Version: 1, Data: data})
		s.must(err)
		data[6] = '9'
		msg := chat.Say("as it was").As("m")
		_, err = d.Followup(ctx, msg)
		s.must(err)
		msg.Parts[0].Text = "changed by its sender"
		s.idle()
		r := s.script.Requests()[0]
		if got := chat.PlainText(r.Items[0].Message.Parts); got != "as it was" || len(r.Tools) != 0 {
			t.Errorf("the model was shown %q and %d tools, want what was handed over and none", got, len(r.Tools))
		}
		for e, err := range session.Events(ctx, s.store, "s", 0) {
			s.must(err)
			if n, is := e.Fact.(session.Noted); is && string(n.Data) != `{"n":1}` {
				t.Errorf("the log has %s, want it as recorded", n.Data)
			}
		}
		s.close()
	})
}

func TestR2NoToolsAreNoToolsAfterReopeningToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre(t, memory(), modeltest.NewScript(modeltest.Says("one"), modeltest.Says("two")))
		s.must(tool.Add(s.root, look()))
		d := s.open(session.OpenContinue).(*driver)
		s.must(d.Configure(context.Background(), session.Configured{Tools: []string{}}))
		s.say(session.Followup, "a")
		s.idle()
		s.must(d.Close(context.Background()))
		s.open(session.OpenContinue)
		s.say(session.Followup, "b")
		s.idle()
		for i, r := range s.script.Requests() {
			if len(r.Tools) != 0 {
				t.Errorf("request %d offers %d tools, want none", i+1, len(r.Tools))
			}
		}
		s.close()
	})
}

func TestF5ALogThatContradictsItselfIsAnErrorAndNoPanic(t *testing.T) {
	good := []session.Fact{
		session.Accepted{Verb: session.Followup, Message: chat.Say("x").As("a")}, session.TurnStarted{Turn: 1},
	}
	for what, bad := range map[string]session.Fact{
		"a result without a call":    session.Resulted{Answer: 9},
		"a start without a call":     session.CallStarted{Answer: 9},
		"an answer nobody asked for": session.Answered{},
		"an id accepted twice":       session.Accepted{Verb: session.Steer, Message: chat.Say("y").As("a")},
		"a turn in a turn":           session.TurnStarted{Turn: 2},
		"a message that never was":   session.Entered{Messages: []session.Entry{{ID: "ghost"}}},
		"a retry of nothing":         session.Attempt{Number: 2},
	} {
		m := newMachine(Limits{})
		var err error
		for i, f := range append(good[:2:2], bad) {
			err = m.Apply(session.Event{Seq: session.Seq(i + 1), Fact: f})
		}
		if err == nil {
			t.Errorf("F5: %s: folded, want an error", what)
		}
	}
}

func TestAForkCountsSpendingAnew(t *testing.T) {
	m := newMachine(Limits{})
	m.Spent, m.Children = session.Spent{Tokens: 5}, session.Spent{Tokens: 7}
	if err := m.Apply(session.Event{Seq: 1, Fact: session.Forked{Parent: "p", At: 0}}); err != nil {
		t.Fatal(err)
	}
	if m.Spent != (session.Spent{}) || m.Children != (session.Spent{}) {
		t.Errorf("spent %+v and by children %+v after a fork, want nothing", m.Spent, m.Children)
	}
}

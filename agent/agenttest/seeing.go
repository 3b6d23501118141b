package agenttest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

func seeingClauses() []clause {
	return []clause{
		{"I1", "the inbox view and the fate of any id come from the log", []situation{
			when("from pending to seen", fates),
			when("hooks added it", fateOfAdded, Entering),
		}},
		{"I2", "facts are read from a cursor: a slow or late reader misses nothing, and stops nobody", []situation{
			when("a reader falls behind", slowReader),
		}},
		{"I3", "deltas are told with turn, step, attempt and offset, joined for the slow, and void after the answer", []situation{
			when("watched from the beginning", watched, Deltas),
			when("joined in mid-stream", joined, Deltas),
			when("a watcher is slow", slowWatcher, Deltas),
			when("a watcher comes after the answer", watchedTooLate, Deltas),
			when("the attempt fails and another follows", watchedRetry, Deltas, Retries),
			when("it ends with the context, and with the agent", watchEnds),
		}},
		{"I4", "status is idle or running, one pair for a burst, derived from the log", []situation{
			when("a burst", statusOfBurst),
			when("opened anew", statusReopened),
		}},
	}
}

func fates(c *trial) {
	c.open()
	if _, err := agent.FateOf(context.Background(), c.store, theSession, "m0"); !errors.Is(err, agent.ErrUnknown) {
		c.broken("the fate of a message that never was: %v, want unknown", err)
	}
	leave := c.holdsModel(func(g *gate) move { return g.then(says("a0")) })
	f := c.fate("m0", agent.FatePlaced)
	if f.Turn != 1 || f.Step != 1 || f.Verb != session.Followup || f.Accepted == 0 || f.Seq <= f.Accepted {
		c.broken("the fate is %+v, want turn 1, step 1, and both sequences", f)
	}
	s := c.deliver(session.Steer, user("s1"))
	c.inject("i1")
	box := c.inbox()
	c.waits("s1", "i1")
	if w := box.Messages[0]; w.Verb != session.Steer || w.Seq != s.Seq || w.Parked != "" || chat.PlainText(w.Message.Parts) != "s1" {
		c.broken("the inbox shows %+v, want the steer as it was accepted", w)
	}
	if box.Head != session.Seq(len(c.log())) {
		c.broken("the inbox rests on event %d, want %d", box.Head, len(c.log()))
	}
	c.fate("s1", agent.FatePending)
	leave()
	c.idle()
	c.waits()
	for _, id := range []string{"m0", "s1", "i1"} {
		c.fate(id, agent.FateSeen)
	}
	if f := c.fate("s1", agent.FateSeen); f.Turn != 1 || f.Step != 2 {
		c.broken("the steer was placed in turn %d, step %d; want 1, 2", f.Turn, f.Step)
	}
}

func fateOfAdded(c *trial) {
	c.entering(func(_ context.Context, _ agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error) {
		all.Before = []chat.Message{chat.Say("noon").From(clock)}
		return all, nil
	})
	c.open()
	c.followup("m0")
	c.idle()
	f, _ := last[session.Entered](c)
	if f := c.fate(f.Messages[0].ID, agent.FateSeen); f.Verb != "" || f.Accepted != 0 {
		c.broken("the fate of an added message is %+v, want no verb and no acceptance", f)
	}
}

func slowReader(c *trial) {
	c.open()
	ctx, cancel := context.WithCancel(context.Background())
	g := c.gate()
	done := make(chan []session.Seq)
	go func() {
		var seqs []session.Seq
		for e, err := range session.Follow(ctx, c.store, theSession, 0) {
			if err != nil {
				break
			}
			_ = g.force(ctx)
			seqs = append(seqs, e.Seq)
		}
		done <- seqs
	}()
	c.followup("m0", "m1", "m2")
	c.idle()
	g.open()
	c.settle()
	cancel()
	seqs := <-done
	for i, seq := range seqs {
		if int(seq) != i+1 {
			c.broken("the slow reader read %v", seqs)
		}
	}
	if len(seqs) != len(c.log()) {
		c.broken("the slow reader read %d events, want %d", len(seqs), len(c.log()))
	}
}

// watcher collects deltas on a goroutine of its own.
type watcher struct {
	trial  *trial
	deltas []agent.Delta // read it when the agent is at rest
	done   chan struct{}
	stop   context.CancelFunc
}

// watch begins to watch; each delta waits at the gate.
func (c *trial) watch(g *gate) *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{trial: c, done: make(chan struct{}), stop: cancel}
	a := c.now.agent
	go func() {
		defer close(w.done)
		for d := range a.Watch(ctx) {
			c.mu.Lock()
			w.deltas = append(w.deltas, d)
			c.mu.Unlock()
			_ = g.force(ctx)
		}
	}()
	c.settle()
	return w
}

// open is a gate that holds nobody.
func (c *trial) openGate() *gate {
	g := c.gate()
	g.open()
	return g
}

// told requires the text of a block as it was told, without gaps, all of one
// attempt.
func (w *watcher) told(block int, kind chat.BlockKind, want string, at agent.Delta) {
	w.trial.Helper()
	w.trial.settle()
	w.trial.mu.Lock()
	deltas := slices.Clone(w.deltas)
	w.trial.mu.Unlock()
	var got string
	for _, d := range deltas {
		if d.Turn != at.Turn || d.Step != at.Step || d.Attempt != at.Attempt || d.Block != block {
			continue
		}
		if d.Kind != kind || d.Offset != len(got) {
			w.trial.broken("told was %+v, want a %s from %d on", d, kind, len(got))
		}
		got += d.Text
	}
	if got != want {
		w.trial.broken("told of block %d was %q, want %q; all that was told: %+v", block, got, want, deltas)
	}
}

func watched(c *trial) {
	c.open()
	w := c.watch(c.openGate())
	g := c.gate()
	c.does(streams(g.then(says("done")), thought("hm"), thought("m"), said("hel").at(1), said("lo").at(1),
		Piece{Block: 2, Kind: chat.BlockCall, Call: &chat.Call{ID: "call-1", Name: "look"}, Text: `{"n":`},
		Piece{Block: 2, Kind: chat.BlockCall, Text: `1}`}))
	c.followup("m0")
	c.reaches(g, "the model")
	at := agent.Delta{Turn: 1, Step: 1, Attempt: 1}
	w.told(0, chat.BlockReasoning, "hmm", at)
	w.told(1, chat.BlockText, "hello", at)
	w.told(2, chat.BlockCall, `{"n":1}`, at)
	c.cancel(byUser())
	c.idle()
	w.stop()
	<-w.done
}

func joined(c *trial) {
	c.open()
	g, h := c.gate(), c.gate()
	c.does(streams(g.then(streams(h.then(says("hello there")), said(" there"))), said("hello")))
	c.followup("m0")
	c.reaches(g, "the model")
	w := c.watch(c.openGate())
	at := agent.Delta{Turn: 1, Step: 1, Attempt: 1}
	w.told(0, chat.BlockText, "hello", at)
	g.open()
	c.reaches(h, "the model")
	w.told(0, chat.BlockText, "hello there", at)
	h.open()
	c.idle()
	w.stop()
	<-w.done
}

func slowWatcher(c *trial) {
	c.open()
	slow, g := c.gate(), c.gate()
	w := c.watch(slow)
	c.does(streams(g.then(says("abcd")), said("a"), said("b"), said("c"), said("d")))
	c.atOnce("streaming to a slow watcher", func() {
		c.followup("m0")
		c.reaches(g, "the model")
	})
	slow.open()
	w.told(0, chat.BlockText, "abcd", agent.Delta{Turn: 1, Step: 1, Attempt: 1})
	if len(w.deltas) > 2 {
		c.broken("a slow watcher was told %d deltas, want them joined", len(w.deltas))
	}
	g.open()
	c.idle()
	w.stop()
	<-w.done
}

func watchedTooLate(c *trial) {
	c.open()
	slow := c.gate()
	c.does(streams(says("hello"), said("hel"), said("lo")))
	w := c.watch(slow)
	c.followup("m0")
	c.idle()
	slow.open()
	late := c.watch(c.openGate())
	c.settle()
	if n := len(w.deltas); n > 1 {
		c.broken("a watcher was told %+v although the answer is stored", w.deltas[1:])
	}
	if n := len(late.deltas); n > 0 {
		c.broken("who came after the answer was told %+v", late.deltas)
	}
	w.stop()
	late.stop()
	<-w.done
	<-late.done
}

func watchedRetry(c *trial) {
	c.open()
	slow, g := c.gate(), c.gate()
	w := c.watch(slow)
	c.does(
		streams(breaks(Failure{Text: "again", Passing: true}), said("first "), said("try")),
		streams(g.then(says("second")), said("second")),
	)
	c.followup("m0")
	c.reaches(g, "the model")
	slow.open()
	w.told(0, chat.BlockText, "second", agent.Delta{Turn: 1, Step: 1, Attempt: 2})
	for _, d := range w.deltas[min(1, len(w.deltas)):] {
		if d.Attempt == 1 {
			c.broken("told was %+v although the attempt had failed", d)
		}
	}
	g.open()
	c.idle()
	w.stop()
	<-w.done
}

func watchEnds(c *trial) {
	c.open()
	one, two := c.watch(c.openGate()), c.watch(c.openGate())
	one.stop()
	c.until(one.done, "Watch doesn't end with its context")
	c.close()
	c.until(two.done, "Watch doesn't end with the agent")
	two.stop()
}

// busyEras counts how often a log went from idle to running.
func busyEras(log []session.Event) (eras int) {
	s, busy := &state{}, false
	for _, e := range log {
		s.apply(e)
		runs := s.turn != 0 || len(s.talk.Inbox.Waiting(session.Steer))+len(s.talk.Inbox.Waiting(session.Followup)) > 0
		if runs && !busy {
			eras++
		}
		busy = runs
	}
	return eras
}

func statusOfBurst(c *trial) {
	c.open()
	if s := c.status(); s.State != agent.Idle || s.Turn != 0 || s.Head != session.Seq(len(c.log())) {
		c.broken("at first the status is %+v", s)
	}
	var seen []agent.Status
	look := func(ctx context.Context, tell func(Piece)) (chat.Answer, error) {
		s, err := c.now.agent.Status(ctx)
		if err != nil {
			return chat.Answer{}, &Failure{Text: err.Error()}
		}
		seen = append(seen, s)
		return says("done")(ctx, tell)
	}
	g := c.gate()
	c.does(g.then(look), look, look)
	c.followup("m0")
	c.reaches(g, "the model")
	c.followup("m1", "m2")
	g.open()
	c.idle()
	for i, s := range seen {
		if s.State != agent.Working || s.Turn != i+1 || s.Head == 0 {
			c.broken("in turn %d the status is %+v", i+1, s)
		}
	}
	if n := busyEras(c.log()); n != 1 || len(seen) != 3 {
		c.broken("the log tells of %d busy times and %d turns, want 1 for the burst, and 3", n, len(seen))
	}
	if s := c.status(); s.Head != session.Seq(len(c.log())) {
		c.broken("at last the status rests on event %d, want %d", s.Head, len(c.log()))
	}
}

func statusReopened(c *trial) {
	c.open()
	g := c.gate()
	c.does(nil, nil)
	c.does(g.then(says("never")), g.then(says("a0")))
	c.followup("m0")
	c.idle()
	c.followup("m1")
	c.idle()
	c.followup("m2")
	c.reaches(g, "the model")
	c.reopen()
	c.settle()
	if s := c.status(); s.State != agent.Working || s.Turn != 3 {
		c.broken("opened in the middle of turn 3, the status is %+v", s)
	}
	g.open()
	c.idle()
	time.Sleep(time.Second)
	c.rests()
}

package agenttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// user is a message from a person; its id is what it says.
func user(text string) chat.Message { return chat.Say(text).As(text) }

// clock is a plugin.
var clock = chat.Source{Kind: chat.SourcePlugin, Name: "clock"}

// tick is a message from the clock.
func tick(text string) chat.Message { return user(text).From(clock) }

func (c *trial) followup(texts ...string) { c.Helper(); c.hand(session.Followup, texts...) }
func (c *trial) steer(texts ...string)    { c.Helper(); c.hand(session.Steer, texts...) }
func (c *trial) inject(texts ...string)   { c.Helper(); c.hand(session.Inject, texts...) }

// hand delivers a person's messages, which must be accepted.
func (c *trial) hand(v session.Verb, texts ...string) {
	c.Helper()
	for _, text := range texts {
		c.deliver(v, user(text))
	}
}

// deliver hands over a message that must be accepted, and at once.
func (c *trial) deliver(v session.Verb, m chat.Message) agent.Receipt {
	c.Helper()
	var r agent.Receipt
	var err error
	c.atOnce(string(v)+" "+m.ID, func() { r, err = c.tries(v, m) })
	c.must(string(v)+" "+m.ID, err)
	return r
}

// tries hands over a message, whatever comes of it.
func (c *trial) tries(v session.Verb, m chat.Message) (agent.Receipt, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return agent.Deliver(ctx, c.now.agent, v, m)
}

// delivery is a message being handed over on a goroutine of its own.
type delivery struct {
	done    chan struct{}
	receipt agent.Receipt
	err     error
}

// delivers begins to hand over a message.
func (c *trial) delivers(ctx context.Context, v session.Verb, m chat.Message) *delivery {
	d := &delivery{done: make(chan struct{})}
	a := c.now.agent
	go func() {
		defer close(d.done)
		d.receipt, d.err = agent.Deliver(ctx, a, v, m)
	}()
	return d
}

// under says that a delivery hasn't been answered.
func (d *delivery) under() bool {
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// accepts waits for a delivery, which must succeed.
func (c *trial) accepts(d *delivery) agent.Receipt {
	c.Helper()
	c.until(d.done, "a delivery isn't answered")
	c.must("deliver", d.err)
	return d.receipt
}

// cancel stops the turn; its answer must come at once.
func (c *trial) cancel(s agent.Stop) agent.Stopped {
	c.Helper()
	var stopped agent.Stopped
	var err error
	c.atOnce("Cancel", func() { stopped, err = c.now.agent.Cancel(context.Background(), s) })
	c.must("cancel", err)
	return stopped
}

func (c *trial) resume() {
	c.Helper()
	c.must("resume", c.now.agent.Resume(context.Background()))
}

// idle waits until the agent is idle, and looks whether it may be.
func (c *trial) idle() {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.now.agent.WaitIdle(ctx); err != nil {
		c.broken("WaitIdle: %v, want nil; status %+v", err, c.status())
	}
	c.rests()
}

// rests says that the agent is idle, with nothing to do.
func (c *trial) rests() {
	c.Helper()
	log := c.log()
	s := c.status()
	if s.State != agent.Idle || s.Turn != 0 {
		c.broken("the status is %+v, want idle", s)
	}
	f := fold(log)
	for _, v := range []session.Verb{session.Steer, session.Followup} {
		for _, p := range f.talk.Inbox.Waiting(v) {
			c.brokenAs(noLostWake, "idle with the runnable %s %s, event %d", v, p.ID, p.Seq)
		}
	}
	if f.turn != 0 {
		c.broken("idle although turn %d is open in the log", f.turn)
	}
}

var noLostWake = clause{id: "D13", promise: "an open agent is never idle with a runnable message"}

func (c *trial) status() agent.Status {
	c.Helper()
	s, err := c.now.agent.Status(context.Background())
	c.must("status", err)
	return s
}

// settle lets everything happen that needs no time.
func (c *trial) settle() { synctest.Wait() }

// atOnce requires that something takes no time.
func (c *trial) atOnce(what string, do func()) {
	c.Helper()
	before := time.Now()
	do()
	if took := time.Since(before); took != 0 {
		c.broken("%s took %v, want no time", what, took)
	}
}

// until waits for a channel to be closed.
func (c *trial) until(ch <-chan struct{}, format string, args ...any) {
	c.Helper()
	select {
	case <-ch:
		return
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
		c.broken(format+" within %v", append(args, patience)...)
	}
}

// must stops the case if something failed that has to work.
func (c *trial) must(what string, err error) {
	c.Helper()
	if err != nil {
		c.broken("%s: %v, want no error", what, err)
	}
}

// fails requires an error.
func (c *trial) fails(what string, err, want error) {
	c.Helper()
	if !errors.Is(err, want) {
		c.broken("%s: %v, want an error that is %q", what, err, want)
	}
}

// asked requires that the model was asked so often.
func (c *trial) asked(times int) {
	c.Helper()
	if n := c.requests(); n != times {
		c.broken("the model was asked %d times, want %d", n, times)
	}
}

// sees requires what the model was shown at its n-th request, from 1.
func (c *trial) sees(n int, want ...string) {
	c.Helper()
	if have := c.requests(); n > have {
		c.broken("the model was asked %d times, want at least %d", have, n)
	}
	if got := render(c.request(n)); !slices.Equal(got, want) {
		c.broken("at request %d the model was shown\n  got  %s\n  want %s", n, list(got), list(want))
	}
}

// ends requires how the turns ended, in order.
func (c *trial) ends(want ...session.EndReason) {
	c.Helper()
	var got []session.EndReason
	for _, e := range c.log() {
		if f, is := e.Fact.(session.TurnEnded); is {
			got = append(got, f.Reason)
		}
	}
	if !slices.Equal(got, want) {
		c.broken("the turns ended %q, want %q", got, want)
	}
}

// fate requires what became of a message.
func (c *trial) fate(id string, want agent.FateState) agent.Fate {
	c.Helper()
	f, err := agent.FateOf(context.Background(), c.store, theSession, id)
	c.must("fate of "+id, err)
	if f.State != want {
		c.broken("the fate of %s is %s, want %s", id, f.State, want)
	}
	return f
}

// parked requires what is held back and why: "id reason".
func (c *trial) parked(want ...string) {
	c.Helper()
	var got []string
	for _, w := range c.inbox().Messages {
		if w.Parked != "" {
			got = append(got, w.Message.ID+" "+string(w.Parked))
		}
	}
	if !slices.Equal(got, want) {
		c.broken("parked are %q, want %q", got, want)
	}
}

// waits requires which messages are pending, in order.
func (c *trial) waits(want ...string) {
	c.Helper()
	var got []string
	for _, w := range c.inbox().Messages {
		got = append(got, w.Message.ID)
	}
	if !slices.Equal(got, want) {
		c.broken("pending are %q, want %q", got, want)
	}
}

func (c *trial) inbox() agent.Inbox {
	c.Helper()
	box, err := agent.InboxOf(context.Background(), c.store, theSession)
	c.must("read the inbox", err)
	return box
}

// unchanged requires that something appends nothing.
func (c *trial) unchanged(what string, do func()) {
	c.Helper()
	before := len(c.log())
	do()
	c.settle()
	if log := c.log(); len(log) != before {
		c.broken("%s appended %s, want nothing", what, list(facts(log[before:])))
	}
}

func list(lines []string) string { return "[" + strings.Join(lines, " · ") + "]" }

package agenttest

import (
	"context"
	"fmt"
	"strings"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/session"
)

// parks lets messages wait, runnable once the agent is resumed.
func (c *trial) parks(deliver func()) {
	c.Helper()
	g := c.gate()
	c.does(g.then(says("unheard")))
	c.followup("parking")
	c.reaches(g, "the model")
	deliver()
	c.cancel(agent.Stop{KeepInbox: true})
	c.idle()
}

func releasedAtOnce(c *trial) {
	c.open()
	c.parks(func() {
		c.followup("f1")
		c.steer("s1")
		c.inject("i1")
		c.followup("f2")
		c.steer("s2")
	})
	c.asked(1)
	c.resume()
	c.idle()
	c.sees(2, "user: parking", "user: s1", "user: i1", "user: s2")
	c.sees(3, "user: parking", "user: s1", "user: i1", "user: s2", "model: done", "user: f1")
	c.asked(4)
	c.ends(session.EndCancelled, session.EndCompleted, session.EndCompleted, session.EndCompleted)
}

// wakesDuring delivers while the n-th append is on its way, for all n.
func wakesDuring(c *trial, v session.Verb) {
	c.open()
	for n := 1; ; n++ {
		id := fmt.Sprintf("m%d", n)
		g := c.gate()
		c.now.store.judges(func(at int, _ unit) verdict {
			if at == n {
				return verdict{hold: g}
			}
			return verdict{}
		})
		first := c.delivers(context.Background(), session.Followup, user("first-"+id))
		c.settle()
		select {
		case <-g.arrived:
		default:
			return // so many appends aren't needed
		}
		second := c.delivers(context.Background(), v, user(id))
		c.settle()
		g.open()
		c.accepts(first)
		c.accepts(second)
		c.idle()
		c.fate(id, agent.FateSeen)
		c.fate("first-"+id, agent.FateSeen)
	}
}

func racing(c *trial) {
	c.open()
	const callers, each = 4, 25
	done := make(chan error)
	for i := range callers {
		go func() {
			var err error
			for j := range each {
				m := user(fmt.Sprintf("m-%d-%d", i, j))
				if _, e := c.tries([]session.Verb{session.Followup, session.Steer}[(i+j)%2], m); e != nil {
					err = e
				}
				if j%5 == i {
					ctx, cancel := context.WithTimeout(context.Background(), patience)
					if e := c.owner().agent.WaitIdle(ctx); e != nil {
						err = e
					}
					cancel()
				}
			}
			done <- err
		}()
	}
	for range callers {
		c.must("deliver", <-done)
	}
	c.idle()
	text := strings.Join(render(c.request(c.requests())), "\n") + "\n"
	for i := range callers {
		for j := range each {
			if id := fmt.Sprintf("m-%d-%d", i, j); strings.Count(text, "user: "+id+"\n") != 1 {
				c.broken("at its last request the model was shown %s %d times, want once", id, strings.Count(text, "user: "+id+"\n"))
			}
		}
	}
}

func wakesOnOpening(c *trial) {
	c.open()
	g := c.gate()
	c.does(g.then(says("never")))
	c.followup("m0")
	c.reaches(g, "the model")
	c.followup("m1")
	c.steer("s1")
	c.close()
	c.open()
	c.idle()
	c.fate("m0", agent.FateSeen)
	c.fate("m1", agent.FateSeen)
	c.fate("s1", agent.FateSeen)
}

func wakesAfterFaults(c *trial) {
	c.open()
	c.now.store.judges(func(_ int, u unit) verdict {
		if u.has(session.Accepted{}) {
			return verdict{}
		}
		return verdict{refuse: errDisk}
	})
	_, err := c.tries(session.Followup, user("m0"))
	c.settle()
	c.now.store.calm()
	if err != nil {
		c.followup("m0") // the message and the turn are one append here
	}
	c.idle()
	c.fate("m0", agent.FateSeen)
}

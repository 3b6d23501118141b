package simple

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tack-agent/tack/agent/agenttest"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// loop takes the turns until the agent is closed or its log is lost.
func (a *running) loop() {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.over = true
		a.changed.Broadcast()
	}()
	for a.awake() {
		// What fails here is tried again once something changes.
		err := a.store(func(u *unit) error { u.next(); return nil })
		if err == nil {
			a.answer()
		} else if !a.pauses() {
			return
		}
	}
}

// awake waits until there is something to do; false: never again.
func (a *running) awake() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		switch {
		case a.closing || a.fault != nil:
			return false
		case !a.busy && (len(a.stops) > 0 || a.state.turn != 0 || a.state.runnable()):
			return true
		}
		a.changed.Wait()
	}
}

// pauses waits a second after a failure to write; false: there is no more use.
func (a *running) pauses() bool {
	select {
	case <-time.After(time.Second):
		return true
	case <-a.base.Done():
		return false
	}
}

// answer asks the model if it must be asked, and stores what comes of it.
func (a *running) answer() {
	a.mu.Lock()
	s := &a.state
	if a.busy || s.turn == 0 || s.due != 0 || len(a.stops) > 0 || s.stopped.Turn != 0 || a.closing {
		a.mu.Unlock()
		return
	}
	r := &request{ctx: a.turn, done: make(chan struct{})}
	for _, it := range s.talk.Transcript.Items() {
		r.shown = append(r.shown, agenttest.Shown{Message: it.Message, Answer: it.Answer, Result: it.Result})
	}
	a.mu.Unlock()
	go r.put(a.ask)
	if !r.wait(a.grace) {
		a.behind = append(a.behind, r)
	}
	answer, failure := r.hear()
	for a.base.Err() == nil { // else who opens the session next asks again
		err := a.store(func(u *unit) error { u.heard(answer, failure, r.ctx.Err() != nil); return nil })
		if err == nil {
			return
		}
		a.pauses()
	}
}

// heard takes in what the model made of the request.
func (u *unit) heard(answer chat.Answer, err error, cut bool) {
	switch {
	case err != nil && !cut:
		u.fails(session.Failure{Kind: "model", Text: err.Error()})
	case err == nil || len(answer.Blocks) > 0:
		if answer.Interrupted || u.stopped.Turn != 0 {
			answer = answer.WithoutCalls()
		}
		u.add(session.Answered{
			Turn: u.turn, Step: u.step, Ask: u.asked, Answer: answer, Traits: make([]session.Trait, len(answer.Calls())),
		})
	}
	u.next()
}

// request is one question to the model.
type request struct {
	ctx   context.Context //nolint:containedctx // it ends with the turn
	shown []agenttest.Shown
	done  chan struct{}

	mu     sync.Mutex
	deaf   bool // nobody listens any more
	told   chat.Answer
	answer chat.Answer
	err    error
}

func (r *request) put(ask func(context.Context, []agenttest.Shown, func(agenttest.Piece)) (chat.Answer, error)) {
	defer close(r.done)
	answer, err := safely(func() (chat.Answer, error) { return ask(r.ctx, r.shown, r.tell) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.deaf {
		r.answer, r.err = answer, err
	}
}

func safely(ask func() (chat.Answer, error)) (answer chat.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model broke: %v", p)
		}
	}()
	return ask()
}

// tell keeps what is streamed.
func (r *request) tell(p agenttest.Piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deaf {
		return
	}
	for len(r.told.Blocks) <= p.Block {
		r.told.Blocks = append(r.told.Blocks, chat.Block{Kind: p.Kind})
	}
	r.told.Blocks[p.Block].Text += p.Text
}

// wait is for the answer, or the end of the grace time; false: it didn't come.
func (r *request) wait(grace time.Duration) bool {
	select {
	case <-r.done:
		return true
	case <-r.ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-r.done:
		return true
	case <-timer.C:
		return false
	}
}

// came says that the model has come back.
func (r *request) came() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// hear is what came of it: the answer, or what was streamed before it was cut
// off. Nothing is heard after it.
func (r *request) hear() (chat.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaf = true
	switch {
	case !r.came():
		r.err = context.Canceled
	case r.err == nil:
		return r.answer, nil
	}
	cut := r.told.WithoutCalls()
	cut.Interrupted = true
	return cut, r.err
}

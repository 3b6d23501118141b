package tool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tack-agent/tack/chat"
)

// ErrTimeout is the cause of a call's context when its time is up.
var ErrTimeout = errors.New("the call's time is up")

// run runs the body and the hooks around it, under the clock.
func (c *call) run(ctx context.Context) Answer {
	d := c.limits.Timeout
	if own := c.tool.timeout; own > 0 && (d == 0 || own < d) {
		d = own
	}
	if d == 0 {
		return c.around(ctx)
	}
	timed, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.clock.start(d, func() {
		c.clock.rang.Store(true)
		stop(ErrTimeout)
	})
	defer c.clock.stop()
	return c.apart(timed, d)
}

// apart runs the body on a goroutine of the scope's, to be able to leave it
// behind.
func (c *call) apart(ctx context.Context, d time.Duration) Answer {
	said := make(chan Answer, 1)
	err := c.Scope.Go(func(context.Context) { said <- c.around(ctx) })
	if err != nil {
		return notStarted("the agent is being closed")
	}
	select {
	case a := <-said:
		return a
	case <-ctx.Done():
	}
	if !c.late(ctx) {
		return <-said
	}
	grace := time.NewTimer(c.limits.Grace)
	defer grace.Stop()
	select {
	case a := <-said:
		return a
	case <-grace.C:
	}
	c.over.Store(true)
	c.Scope.Log().WarnContext(ctx, "a tool ignores that its time is up and was left behind", "tool", c.tool.name, "timeout", d, "call", c.Call.ID)
	if !c.began.Load() {
		return notStarted("a hook around it took too long")
	}
	return failed(chat.CodeTimeout, timedOut, d)
}

// around asks the hooks around the body.
func (c *call) around(ctx context.Context) (a Answer) {
	defer func() {
		if r := recover(); r != nil {
			a = c.panicked(ctx, r)
		}
	}()
	if !Running.Any(c.Scope) {
		return c.begin(ctx, ctx)
	}
	a, err := Running.Ask(ctx, c.Scope, c.proposed(),
		func(inner context.Context, _ Proposed) (Answer, error) { return c.begin(ctx, inner), nil })
	switch {
	case err == nil:
		return a
	case c.began.Load():
		return c.failed(ctx, a, fmt.Errorf("a hook around the tool broke after it had begun; it may have had effects: %w", err))
	case ctx.Err() != nil:
		return notStarted("the turn was stopped first")
	default:
		return failed(chat.CodeError, "it didn't run, because a hook around it broke: %v", err)
	}
}

// begin runs the body, if nothing is against it by now. The call ends with ctx;
// inner is what the hooks around made of it.
func (c *call) begin(ctx, inner context.Context) (a Answer) {
	defer func() {
		if r := recover(); r != nil {
			a = c.panicked(ctx, r)
		}
	}()
	if end := c.announce(ctx); end != nil {
		return *end
	}
	c.began.Store(true)
	c.info.call = c
	a, err := c.tool.run(context.WithValue(inner, infoKey{}, &c.info), c.arguments)
	if err != nil {
		return c.failed(ctx, a, err)
	}
	return a
}

// announce has stored that the body begins, unless it may run again anyway: by
// what was stored with the answer, and by what the tool says of the arguments
// as they are now.
func (c *call) announce(ctx context.Context) *Answer {
	if ctx.Err() != nil || c.over.Load() {
		return end(c.tooLate(ctx))
	}
	if c.Started == nil || c.Trait.Repeatable && c.tool.traitsOf(c.arguments).Repeatable {
		return nil
	}
	err := c.Started(ctx, c.arguments)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return end(c.tooLate(ctx))
	default:
		return end(notStarted(err.Error()))
	}
}

// late says whether ctx ended because the call's time was up: its own, not that
// of a call around it.
func (c *call) late(ctx context.Context) bool {
	return c.clock.rang.Load() && errors.Is(context.Cause(ctx), ErrTimeout)
}

func (c *call) tooLate(ctx context.Context) Answer {
	if c.late(ctx) {
		return notStarted("its time was up before it began")
	}
	return notStarted("the turn was stopped first")
}

// failed is an answer of a body that returned an error. What it had to show
// comes first.
func (c *call) failed(ctx context.Context, a Answer, err error) Answer {
	text := err.Error()
	var misfit *ArgumentsError
	switch {
	case ctx.Err() == nil && errors.As(err, &misfit):
		return unfit(c.tool, err)
	case ctx.Err() == nil:
		a.Code = chat.CodeError
	case c.late(ctx):
		a.Code, text = chat.CodeTimeout, fmt.Sprintf(timedOut, c.clock.limit)
	default:
		a.Code, text = chat.CodeAborted, aborted
	}
	a.Parts = append(a.Parts[:len(a.Parts):len(a.Parts)], chat.Text(text))
	return a
}

func (c *call) panicked(ctx context.Context, value any) Answer {
	logPanic(ctx, c.Scope, "tool "+c.tool.name, value)
	return Answer{Code: chat.CodePanicked, Parts: []chat.Part{chat.Text(brokenTool(c.tool.name, value))}}
}

// clock ends a call when it has run for long enough. It stands still while
// people think.
type clock struct {
	mu      sync.Mutex
	limit   time.Duration
	ring    func()
	timer   *time.Timer // nil: there is no limit, or it was stopped
	left    time.Duration
	since   time.Time
	waiting int // questions that are open

	rang atomic.Bool
}

func (c *clock) start(d time.Duration, ring func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit, c.left, c.ring, c.since = d, d, ring, time.Now()
	c.timer = time.AfterFunc(d, ring)
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// pause stops the clock until the returned function is called.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		return func() {}
	}
	c.waiting++
	if c.waiting == 1 {
		c.timer.Stop()
		c.left -= time.Since(c.since)
	}
	return c.resume
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
	if c.waiting == 0 && c.timer != nil {
		c.since = time.Now()
		c.timer = time.AfterFunc(max(c.left, 0), c.ring)
	}
}

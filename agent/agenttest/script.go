package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tack-agent/tack/chat"
)

// script is the model: what it does with its n-th request, and what it was
// shown at each.
type script struct {
	trial *trial

	mu    sync.Mutex
	moves []move             // by request
	rule  func([]Shown) move // for those beyond; nil: done
	shown [][]Shown          // at each request
	heads []int              // units in the log when it was asked
}

// tooOften is more than any case asks.
const tooOften = 5000

// move is what the model does with a request.
type move func(ctx context.Context, tell func(Piece)) (chat.Answer, error)

// does lists what the model does with its next requests; then it says "done".
func (c *trial) does(moves ...move) {
	c.model.mu.Lock()
	defer c.model.mu.Unlock()
	for len(c.model.moves) < len(c.model.shown) {
		c.model.moves = append(c.model.moves, nil)
	}
	c.model.moves = append(c.model.moves, moves...)
}

func (s *script) ask(ctx context.Context, shown []Shown, tell func(Piece)) (chat.Answer, error) {
	s.mu.Lock()
	n := len(s.shown)
	s.shown = append(s.shown, slices.Clone(shown))
	s.heads = append(s.heads, s.trial.appended())
	m := says("done")
	switch {
	case n < len(s.moves) && s.moves[n] != nil:
		m = s.moves[n]
	case s.rule != nil:
		m = s.rule(shown)
	}
	s.mu.Unlock()
	if n >= tooOften {
		<-s.trial.over // as for hooks: see bears
		return chat.Answer{}, errOver
	}
	told := map[int]int{}
	answer, err := m(ctx, func(p Piece) {
		told[p.Block] += len(p.Text)
		tell(p)
	})
	if err != nil {
		return chat.Answer{}, err
	}
	tellRest(answer, told, tell)
	return answer, nil
}

// tellRest tells what a move left out of its answer.
func tellRest(a chat.Answer, told map[int]int, tell func(Piece)) {
	for i, b := range a.Blocks {
		done, begun := told[i]
		p := Piece{Block: i, Kind: b.Kind, Text: b.Text}
		if b.Call != nil {
			p.Text = b.Call.Arguments
			if !begun {
				p.Call = &chat.Call{ID: b.Call.ID, Name: b.Call.Name}
			}
		}
		if p.Text = p.Text[done:]; p.Text != "" || !begun {
			tell(p)
		}
	}
}

// requests is how often the model was asked.
func (c *trial) requests() int {
	c.model.mu.Lock()
	defer c.model.mu.Unlock()
	return len(c.model.shown)
}

func (c *trial) request(n int) []Shown {
	c.model.mu.Lock()
	defer c.model.mu.Unlock()
	return c.model.shown[n-1]
}

// says answers with a text and nothing to call.
func says(text string) move {
	return func(ctx context.Context, _ func(Piece)) (chat.Answer, error) {
		return chat.Answer{
			Blocks: []chat.Block{{Kind: chat.BlockText, Text: text}}, Finish: chat.FinishStop,
			Usage: chat.Usage{Input: 10, Output: 1},
		}, ctx.Err()
	}
}

// calls asks for tools, each with its own name as argument; the ids are made.
func calls(names ...string) move {
	return func(ctx context.Context, _ func(Piece)) (chat.Answer, error) {
		a := chat.Answer{Finish: chat.FinishCalls}
		for i, name := range names {
			a.Blocks = append(a.Blocks, chat.Block{Kind: chat.BlockCall, Call: &chat.Call{
				ID: fmt.Sprintf("call-%d", i+1), Name: name, Arguments: fmt.Sprintf("{%q:%d}", "n", i+1),
			}})
		}
		return a, ctx.Err()
	}
}

// breaks answers with a failure.
func breaks(f Failure) move {
	return func(ctx context.Context, _ func(Piece)) (chat.Answer, error) {
		if err := ctx.Err(); err != nil {
			return chat.Answer{}, err
		}
		return chat.Answer{}, &f
	}
}

// streams tells pieces, then makes another move.
func streams(then move, pieces ...Piece) move {
	return func(ctx context.Context, tell func(Piece)) (chat.Answer, error) {
		for _, p := range pieces {
			tell(p)
		}
		return then(ctx, tell)
	}
}

func said(text string) Piece    { return Piece{Kind: chat.BlockText, Text: text} }
func thought(text string) Piece { return Piece{Kind: chat.BlockReasoning, Text: text} }

// at is the piece as part of another block.
func (p Piece) at(block int) Piece { p.Block = block; return p }

// gate holds whoever comes to it until it is opened.
type gate struct {
	trial   *trial
	arrived chan struct{} // closed when somebody has come
	opened  chan struct{}
	left    chan struct{} // closed when somebody whose context ended has left
	mu      sync.Mutex
}

// gate makes one that is opened at the latest when the case ends.
func (c *trial) gate() *gate {
	g := &gate{trial: c, arrived: make(chan struct{}), opened: make(chan struct{}), left: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gates = append(c.gates, g)
	return g
}

func (g *gate) open()   { g.once(g.opened) }
func (g *gate) arrive() { g.once(g.arrived) }

func (g *gate) once(ch chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// pass waits until the gate is open or ctx ends, unless the case is about code
// that doesn't care.
func (g *gate) pass(ctx context.Context) error {
	if g.trial.stubborn {
		return g.force(ctx)
	}
	g.arrive()
	select {
	case <-g.opened:
		return ctx.Err()
	case <-ctx.Done():
		g.once(g.left)
		return ctx.Err()
	}
}

// force waits until the gate is open, whatever the context says.
func (g *gate) force(context.Context) error {
	g.arrive()
	<-g.opened
	return nil
}

// then holds the model at the gate before it moves on.
func (g *gate) then(m move) move {
	return func(ctx context.Context, tell func(Piece)) (chat.Answer, error) {
		if err := g.pass(ctx); err != nil {
			return chat.Answer{}, err
		}
		return m(ctx, tell)
	}
}

// stubborn holds the model at the gate although its context ends.
func (g *gate) stubborn(m move) move {
	return func(ctx context.Context, tell func(Piece)) (chat.Answer, error) {
		_ = g.force(ctx)
		return m(context.WithoutCancel(ctx), tell)
	}
}

// reaches waits until somebody stands at the gate.
func (c *trial) reaches(g *gate, who string) {
	c.Helper()
	c.until(g.arrived, "%s is not reached", who)
}

// tool gives the model something to call that answers with its name and "ran".
func (c *trial) tool(t Tool) {
	if t.Run == nil {
		t.Run = gives(t.Name + " ran")
	}
	c.tools = append(c.tools, t)
}

// body is what a tool does.
type body func(ctx context.Context, arguments string) ([]chat.Part, chat.Code)

func gives(text string) body {
	return func(ctx context.Context, _ string) ([]chat.Part, chat.Code) {
		if err := ctx.Err(); err != nil {
			return nil, failed(err)
		}
		return []chat.Part{chat.Text(text)}, chat.CodeOK
	}
}

// body holds the tool at the gate before it does something.
func (g *gate) body(b body) body {
	return func(ctx context.Context, arguments string) ([]chat.Part, chat.Code) {
		if err := g.pass(ctx); err != nil {
			return nil, failed(err)
		}
		return b(ctx, arguments)
	}
}

// stubbornBody holds the tool at the gate although its context ends.
func (g *gate) stubbornBody(b body) body {
	return func(ctx context.Context, arguments string) ([]chat.Part, chat.Code) {
		_ = g.force(ctx)
		return b(context.WithoutCancel(ctx), arguments)
	}
}

// failed is the code of a body that couldn't do its work.
func failed(err error) chat.Code {
	switch {
	case err == nil:
		return chat.CodeOK
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return chat.CodeAborted
	default:
		return chat.CodeError
	}
}

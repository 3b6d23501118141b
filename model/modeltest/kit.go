package modeltest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

// T is what the kit needs of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(func())
}

// Runner is a T that can run parts of a test: a *testing.T.
type Runner[S any] interface {
	T
	Run(name string, f func(S)) bool
}

// Config says how to make the adapter that is to be proved.
type Config struct {
	// New makes an adapter whose provider plays the turns: the nth for the nth
	// request it gets. What it starts, it ends with t.Cleanup.
	New func(t T, turns ...Turn) Subject
	// Skip names clauses that don't apply, and why.
	Skip map[string]string
	// Kinds are the failures that the provider can express; nil: all of them.
	Kinds []model.FailureKind
	// Usage is something that the provider can count, for clause usage.
	// Default: something of everything.
	Usage chat.Usage
	// Patience is how long something may take that has to end. It bounds
	// broken adapters only, no sound one waits for it. Default: 10 s.
	Patience time.Duration
}

// Subject is an adapter and what its provider saw.
type Subject struct {
	Model model.Model
	// Sent lists what the provider was sent, one text for each request in the
	// order they came. Two requests that ask the same are sent as equal texts.
	Sent func() []string
}

// Clause is one promise of model.Model, and its proof.
type Clause struct {
	Name    string // for Config.Skip and go test -run
	Promise string
	check   func(*trial)
}

// Run proves all clauses on an adapter, each as a test of its own.
func Run[S Runner[S]](t S, c Config) {
	t.Helper()
	for _, clause := range Clauses() {
		t.Run(clause.Name, func(t S) { clause.Check(t, c) })
	}
}

// Check proves one clause.
func (c Clause) Check(t T, config Config) {
	t.Helper()
	if why, skip := config.Skip[c.Name]; skip {
		t.Skipf("%s: %s", c.Name, why)
		return
	}
	if config.Patience == 0 {
		config.Patience = 10 * time.Second
	}
	if config.Kinds == nil {
		config.Kinds = kinds()
	}
	if config.Usage == (chat.Usage{}) {
		config.Usage = chat.Usage{Input: 1200, CacheRead: 1000, CacheWrite: 100, Output: 70, Reasoning: 30}
	}
	c.check(&trial{T: t, Config: config, promise: c.Promise})
}

// trial is one clause being checked.
type trial struct {
	T
	Config
	promise string
}

// broken reports that the promise isn't kept.
func (t *trial) broken(format string, args ...any) {
	t.Helper()
	t.Errorf("%s\n\tThe promise: %s", fmt.Sprintf(format, args...), t.promise)
}

func (t *trial) subject(turns ...Turn) Subject { return t.New(t.T, turns...) }

// hearing is one call of Ask and what came of it.
type hearing struct {
	assembler model.Assembler
	finish    chat.Finish
	err       error
	done      chan struct{} // closed when Ask has returned
	told      chan struct{} // has something when something new was told

	mu       sync.Mutex
	talking  bool
	together bool // told by two at the same time
	returned bool
	late     int // told after the return
	heard    int // bytes of text and reasoning
}

func (h *hearing) tell(d model.Delta) {
	h.mu.Lock()
	h.together = h.together || h.talking
	h.talking = true
	if h.returned {
		h.late++
	}
	if d.Kind == model.DeltaText || d.Kind == model.DeltaReasoning {
		h.heard += len(d.Text)
	}
	h.mu.Unlock()
	h.assembler.Tell(d)
	h.mu.Lock()
	h.talking = false
	h.mu.Unlock()
	select {
	case h.told <- struct{}{}:
	default:
	}
}

func (h *hearing) length() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard
}

// start asks in a goroutine of its own.
func (t *trial) start(ctx context.Context, m model.Model, r *model.Request) *hearing {
	h := &hearing{done: make(chan struct{}), told: make(chan struct{}, 1)}
	go func() {
		defer close(h.done)
		h.finish, h.err = m.Ask(ctx, r, h.tell)
		h.mu.Lock()
		h.returned = true
		h.mu.Unlock()
	}()
	return h
}

// wait waits until Ask has returned; false, and reported, if it doesn't.
func (t *trial) wait(h *hearing) bool {
	t.Helper()
	patience := time.NewTimer(t.Patience)
	defer patience.Stop()
	select {
	case <-h.done:
	case <-patience.C:
		t.broken("Ask hasn't returned after %s", t.Patience)
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.together {
		t.broken("two goroutines told deltas of one request at the same time")
	}
	return true
}

// hear waits until n bytes of text and reasoning were told.
func (t *trial) hear(h *hearing, n int) bool {
	t.Helper()
	patience := time.NewTimer(t.Patience)
	defer patience.Stop()
	for h.length() < n {
		select {
		case <-h.told:
		case <-h.done:
			if h.length() >= n {
				return true
			}
			t.broken("Ask returned (%q, %v) after telling %d of %d bytes", h.finish, h.err, h.length(), n)
			return false
		case <-patience.C:
			t.broken("%d of %d bytes were told after %s, though the provider has sent them all", h.length(), n, t.Patience)
			return false
		}
	}
	return true
}

// ask asks, waits, and ends the hearing; false if Ask didn't return.
func (t *trial) ask(m model.Model, r *model.Request) (answer chat.Answer, failure *model.Failure, ok bool) {
	t.Helper()
	h := t.start(context.Background(), m, r)
	if !t.wait(h) {
		return answer, nil, false
	}
	answer, err := h.assembler.End(h.finish, h.err)
	return answer, model.FailureOf(err), true
}

// answer asks for an answer that has to be whole.
func (t *trial) answer(m model.Model, r *model.Request) (chat.Answer, bool) {
	t.Helper()
	answer, failure, ok := t.ask(m, r)
	if ok && failure != nil {
		t.broken("a sound answer became a failure: %v", failure)
		return answer, false
	}
	return answer, ok
}

// room is a T whose cleanups run when it is left.
type room struct {
	T
	cleanups []func()
}

func (r *room) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *room) leave() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	r.cleanups = nil
}

// says is a request that shows texts from a person and the answers between.
func says(texts ...string) *model.Request {
	r := &model.Request{Model: "m1", System: "You are being tested."}
	for i, text := range texts {
		if i%2 == 1 {
			r.Items = append(r.Items, answered(chat.Block{Kind: chat.BlockText, Text: text}))
			continue
		}
		m := chat.Say(text).As(fmt.Sprintf("m%d", i))
		r.Items = append(r.Items, model.Item{Message: &m})
	}
	return r
}

func answered(blocks ...chat.Block) model.Item {
	finish := Turn{Answer: chat.Answer{Blocks: blocks}}.Finish()
	return model.Item{Answer: &chat.Answer{Blocks: blocks, Finish: finish}}
}

func resulted(call chat.Call, code chat.Code, text string) model.Item {
	return model.Item{Result: &chat.Result{Call: call.ID, Name: call.Name, Code: code, Parts: []chat.Part{chat.Text(text)}}}
}

// tool is what the kit's requests offer; the scripted calls are of it.
func tool() model.Tool {
	return model.Tool{
		Name: "read", Description: "read a file",
		Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`),
	}
}

func asksForCalls() *model.Request {
	r := says("use the tool")
	r.Tools = []model.Tool{tool()}
	return r
}

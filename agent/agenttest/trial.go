package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// clause is a promise and the situations in which it must hold.
type clause struct {
	id      string
	promise string
	cases   []situation
}

func (c clause) name() string { return c.id + " " + c.promise }

type situation struct {
	name  string
	needs []Ability
	run   func(*trial)
}

// when is a situation, and what a driver must be able to do to come into it.
func when(name string, run func(*trial), needs ...Ability) situation {
	return situation{name: name, needs: needs, run: run}
}

// clauses are those of the contract, in its order.
func clauses() []clause {
	return slices.Concat(
		deliveryClauses(), orderClauses(), boundClauses(), stopClauses(), changeClauses(),
		failureClauses(), questionClauses(), recordClauses(), seeingClauses(),
	)
}

const (
	theSession = session.ID("session")
	grace      = 10 * time.Second // a driver's, unless a case says otherwise
	patience   = time.Hour        // after that a wait is one for ever
)

// trial is one situation under way. What isn't guarded belongs to the case's
// goroutine.
type trial struct {
	testing.TB
	clause clause
	needs  []Ability
	config Config
	store  session.Store // of all processes
	parent *session.Parent
	tools  []Tool
	hooks  []func(*plugin.Scope) error
	model  *script
	// stubborn makes all that stands at gates ignore its context.
	stubborn bool

	now       *process // the one that owns the session; elsewhere: owner
	processes []*process

	mu        sync.Mutex
	ids       int
	consulted int // how often hooks were asked
	gates     []*gate
	units     []unit // all that was appended
	over      chan struct{}
}

// process is one life of the agent.
type process struct {
	name    string
	store   *view
	subject Subject
	agent   agent.Running
	scope   *plugin.Scope
	lost    bool // it crashed or lost the session: how it ends is no matter
	closed  bool
}

// try runs a situation in a bubble.
func (c Config) try(t *testing.T, cl clause, s situation) {
	for _, a := range s.needs {
		if why, lacks := c.Lacks[a]; lacks {
			t.Skipf("declared: no %s: %s", a, why)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		tr := &trial{TB: t, clause: cl, needs: s.needs, config: c, over: make(chan struct{})}
		tr.model = &script{trial: tr}
		if c.Store != nil {
			tr.store = c.Store(t)
		} else {
			tr.store = session.NewMemory(nil)
		}
		defer tr.end()
		s.run(tr)
		tr.finish()
	})
}

// open starts the agent in a new process, which goes on with what was left.
func (c *trial) open() { c.must("open the agent", c.openAs(session.OpenContinue)) }

// openAs starts the agent in a new process.
func (c *trial) openAs(mode session.OpenMode) error {
	p := &process{name: fmt.Sprintf("process-%d", len(c.processes)+1)}
	ctx := context.Background()
	if err := c.store.Beat(ctx, session.Process{ID: p.name, Address: "test:" + p.name}, 1000*patience); err != nil {
		return err
	}
	lease, err := c.store.Acquire(ctx, theSession, p.name)
	if err != nil {
		return err
	}
	p.store = &view{Store: c.store, trial: c, died: make(chan struct{})}
	p.scope = newScope(p.name)
	for _, hook := range c.hooks {
		if err := hook(p.scope); err != nil {
			return err
		}
	}
	p.subject = c.config.New(c.TB, c.world(p))
	c.complete(p.subject)
	p.agent, err = p.subject.Drive(ctx, agent.Start{
		Store: p.store, Lease: lease, Mode: mode, Parent: c.parent, Scope: p.scope,
		World: agent.World{Now: time.Now, NewID: c.newID}, Grace: grace,
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = p
	c.processes = append(c.processes, p)
	return nil
}

// complete requires the ways into the driver that the case needs.
func (c *trial) complete(s Subject) {
	c.Helper()
	for ability, lacks := range map[Ability]bool{
		Questions: s.Pose == nil, Settings: s.Configure == nil, Replacing: s.Replace == nil, Children: s.Spawn == nil,
	} {
		if lacks && slices.Contains(c.needs, ability) {
			c.Fatalf("the subject has no function for %s: give it one, or declare in Config.Lacks why not", ability)
		}
	}
}

// owner is the process that owns the session, for code that runs in it.
func (c *trial) owner() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// world is the model and the tools as a process knows them: a dead process is
// told nothing any more.
func (c *trial) world(p *process) *World {
	w := &World{Scope: p.scope, Ask: func(ctx context.Context, shown []Shown, tell func(Piece)) (answer chat.Answer, err error) {
		if p.store.dead() {
			return answer, c.limbo(ctx)
		}
		return c.model.ask(ctx, shown, tell)
	}}
	for _, tool := range c.tools {
		run := tool.Run
		tool.Run = func(ctx context.Context, arguments string) ([]chat.Part, chat.Code) {
			if p.store.dead() {
				return nil, failed(c.limbo(ctx))
			}
			return run(context.WithValue(ctx, life{}, p), arguments)
		}
		w.Tools = append(w.Tools, tool)
	}
	return w
}

// life is the key of the process that a tool's body runs in.
type life struct{}

// poses asks the principal, from a tool's body.
func poses(ctx context.Context, q session.Question) (session.Reply, error) {
	return ctx.Value(life{}).(*process).subject.Pose(ctx, q)
}

// limbo is where the work of a dead process waits for the end.
func (c *trial) limbo(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.over:
		return errOver
	}
}

var (
	errOver = errors.New("the case is over")
	errDisk = errors.New("the disk is full") // what a definite failure to write says
)

func (c *trial) newID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids++
	return fmt.Sprintf("made-%d", c.ids)
}

// close suspends the agent.
func (c *trial) close() { c.must("close the agent", c.shut(c.now)) }

func (c *trial) shut(p *process) error {
	p.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.agent.Close(ctx)
}

// reopen closes the agent and starts it in another process.
func (c *trial) reopen() {
	c.close()
	c.open()
}

// crash kills the process: from here on it writes nothing. Its session is free.
func (c *trial) crash() {
	c.now.store.die()
	c.bury()
}

// bury frees the session of a process that is dead.
func (c *trial) bury() {
	c.now.lost = true
	c.must("leave", c.store.Leave(context.Background(), c.now.name))
}

// end lets go all that the case holds, also when it has failed, so that no
// goroutine is left for the bubble to complain of.
func (c *trial) end() {
	c.letGo()
	for _, p := range c.processes {
		if !p.closed {
			_ = c.shut(p)
		}
	}
}

func (c *trial) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.gates {
		g.open()
	}
	select {
	case <-c.over:
	default:
		close(c.over)
	}
}

// finish checks what must hold after every case: the log keeps its promises,
// the agent can be closed, and nothing of it is left.
func (c *trial) finish() {
	c.Helper()
	c.letGo()
	synctest.Wait()
	for _, p := range c.processes {
		if p.closed {
			continue
		}
		var left *agent.AbandonedError // what a case left behind has come back by now
		if err := c.shut(p); !p.lost && !errors.As(err, &left) {
			c.must("close the agent at the end of the case", err)
		}
	}
	synctest.Wait()
	if left := leftovers(); left != "" {
		c.brokenAs(closing, "goroutines outlive Close:\n%s", left)
	}
	c.consistent()
}

// closing is what every case checks when it closes the agent.
var closing = clause{id: "C11", promise: "no other goroutine of the agent outlives Close"}

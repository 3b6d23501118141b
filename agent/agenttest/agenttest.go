// Package agenttest is the contract of package agent as tests. Each clause of
// the contract is a subtest that names it:
//
//	func TestDriver(t *testing.T) {
//		agenttest.Run(t, agenttest.Config{New: newSubject})
//	}
//
// The kit speaks the words of package chat only: a World holds a scripted model,
// which is a function from what it is shown to an answer, and tools, which are
// functions from arguments to parts. Config.New turns them into the driver's own
// models and tools, and returns the driver with the few ways into it that the
// contract leaves open. What a driver can't do it declares in Config.Lacks; the
// clauses that need it are skipped then, and say so.
//
// Every case runs in a bubble of testing/synctest, on a store in memory: no
// time passes that nobody waits for, and a case that would wait for ever fails.
// A driver must therefore take its time from the World it is started with, or
// from package time, and use no network, files or processes in these tests.
//
// A failure says which promise was broken, what was got and wanted, what the
// model was shown at each request, and how the log ends.
package agenttest

import (
	"context"
	"testing"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// Config says how the driver under test is made.
type Config struct {
	// New makes the driver. It is called anew for each process that a case
	// pretends to be, on the case's goroutine. The driver lives in the world
	// until the agent it started is closed.
	New func(t testing.TB, w *World) Subject
	// Store makes an empty store; nil: session.NewMemory. Its waits must count
	// as such in a bubble, so a real disk won't do.
	Store func(t testing.TB) session.Store
	// Lacks says of each ability the driver hasn't why it hasn't.
	Lacks map[Ability]string
}

// Ability is something that not every driver can do.
type Ability string

const (
	Tools       Ability = "tools"       // the model's calls are run
	Questions   Ability = "questions"   // Subject.Pose
	Entering    Ability = "entering"    // agent.Entering hooks are asked
	Maintenance Ability = "maintenance" // agent.Maintenance hooks are asked
	Stopping    Ability = "stopping"    // agent.Stopping hooks are asked
	Deltas      Ability = "deltas"      // Watch tells what is streamed
	Retries     Ability = "retries"     // a Failure that is Passing is asked again
	Settings    Ability = "settings"    // Subject.Configure
	Replacing   Ability = "replacing"   // Subject.Replace
	Children    Ability = "children"    // Subject.Spawn
)

// Subject is the driver under test, and the ways into it that are the driver's
// own. Those of abilities it lacks are nil.
type Subject struct {
	agent.Driver
	// Pose asks a question from the body of a tool, with the body's context,
	// and waits for the reply. The call it is for is the driver's to fill in,
	// and the id may be the driver's own. The same asked again for the same
	// call, after a restart, is the same question. It fails when the question
	// is closed.
	Pose func(ctx context.Context, q session.Question) (session.Reply, error)
	// Configure changes the settings.
	Configure func(ctx context.Context, a agent.Running, c session.Configured) error
	// Replace puts messages in the place of a range of history.
	Replace func(ctx context.Context, a agent.Running, r session.Replaced) error
	// Spawn says that the open turn of the agent has a child session.
	Spawn func(ctx context.Context, a agent.Running, child session.ID, detached bool) error
}

// World is what surrounds the driver in one process of one case.
type World struct {
	// Ask is the model. It is shown the whole conversation, in order, and tells
	// its answer in pieces before it returns it: all of it, so that the answer
	// may also be put together from the pieces. The context is the request's;
	// when it ends, most answers do, with its error. Another error is always a
	// *Failure. The driver may use what it was called with until Ask returns.
	Ask func(ctx context.Context, shown []Shown, tell func(Piece)) (chat.Answer, error)
	// Tools are what the model can call; all take any arguments.
	Tools []Tool
	// Scope is the one that the agent's becomes a child of. What the driver
	// looks for in its scope can be registered here. Hooks already are.
	Scope *plugin.Scope
}

// Shown is one thing that a model is shown; exactly one field is set.
type Shown struct {
	Message *chat.Message
	Answer  *chat.Answer
	Result  *chat.Result
}

// Piece is the next bit of a block of an answer.
type Piece struct {
	Block int // of the answer, from 0; a piece may begin the next block or go on with an older one
	Kind  chat.BlockKind
	// Call is set in the first piece of a call: its id and name. Its arguments
	// come as Text, maybe in several pieces.
	Call *chat.Call
	Text string
}

// Failure is what a model answers that fails.
type Failure struct {
	Text    string
	Passing bool // asking again may help; else it won't, and the driver must not
	TooLong bool // the request doesn't fit the model's context
}

func (f *Failure) Error() string { return f.Text }

// Tool is a function that the model can call.
type Tool struct {
	Name string
	// Run is the body. Most return when their context ends.
	Run        func(ctx context.Context, arguments string) ([]chat.Part, chat.Code)
	Beside     bool // may run beside others
	Repeatable bool // may run again after a crash
	Concludes  bool // a result that isn't an error leaves nothing to say
}

// Run has the driver keep every clause of the contract.
func Run(t *testing.T, c Config) {
	for _, clause := range clauses() {
		t.Run(clause.name(), func(t *testing.T) {
			for _, k := range clause.cases {
				t.Run(k.name, func(t *testing.T) { c.try(t, clause, k) })
			}
		})
	}
}

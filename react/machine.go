// Package react is the driver of an agent that reasons and acts: it asks the
// model, runs the calls, and asks again.
package react

import (
	"time"

	"github.com/tack-agent/tack/session"
)

// machine is the loop without the waiting: a fold of the log.
type machine struct{}

// newMachine is the machine of an empty log.
func newMachine(limits Limits) *machine { return nil }

// settle decides one input at the given time and follows it as far as it goes
// by itself. The events are applied, and to be appended as one.
func (m *machine) settle(now time.Time, in input) ([]session.Event, outcome) { return nil, outcome{} }

// apply changes the state by one event; nothing else does.
func (m *machine) apply(e session.Event) {}

// owed is what the world must do now.
func (m *machine) owed() work { return work{} }

// mark begins an undo journal; undo goes back to it, if the append failed.
func (m *machine) mark() {}
func (m *machine) undo() {}

package simple

import (
	"testing"

	"github.com/tack-agent/tack/agent/agenttest"
)

func TestSimpleKeepsTheContract(t *testing.T) {
	agenttest.Run(t, agenttest.Config{
		New: func(_ testing.TB, w *agenttest.World) agenttest.Subject {
			return agenttest.Subject{Driver: Driver{Ask: w.Ask}}
		},
		Lacks: map[agenttest.Ability]string{
			agenttest.Tools:       "it only chats",
			agenttest.Questions:   "nothing here asks any",
			agenttest.Entering:    "it consults nobody",
			agenttest.Maintenance: "it consults nobody",
			agenttest.Stopping:    "it consults nobody",
			agenttest.Deltas:      "answers are told when they are whole",
			agenttest.Retries:     "a failure is final",
			agenttest.Settings:    "there is nothing to set",
			agenttest.Replacing:   "history is never replaced",
			agenttest.Children:    "it has none",
		},
	})
}

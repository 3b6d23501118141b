package storetest_test

import (
	"testing"

	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/session/storetest"
)

// memory is how the kit makes the memory store.
var memory = storetest.Config{
	New: func(t testing.TB, c *storetest.Clock) session.Store {
		m := session.NewMemory(c.Now)
		t.Cleanup(func() { _ = m.Close() })
		return m
	},
	Reopen: func(_ testing.TB, s session.Store, _ *storetest.Clock) session.Store {
		return s.(*session.Memory).Reopen()
	},
	LosePower: func(_ testing.TB, s session.Store, _ *storetest.Clock) session.Store {
		return s.(*session.Memory).LosePower(nil)
	},
}

func TestMemoryKeepsAllPromises(t *testing.T) { storetest.Run(t, memory) }

func TestMemoryThatLosesPartOfATail(t *testing.T) {
	for kept := range 3 {
		c := memory
		c.LosePower = func(_ testing.TB, s session.Store, _ *storetest.Clock) session.Store {
			return s.(*session.Memory).LosePower(func(session.ID, int) int { return kept })
		}
		storetest.Run(t, c)
	}
}

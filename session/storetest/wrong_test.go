package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// right is the memory store, which keeps all promises.
func right() Config {
	return Config{
		Histories: 5,
		New: func(_ testing.TB, c *Clock) session.Store {
			return session.NewMemory(c.Now)
		},
		Reopen:    func(_ testing.TB, s session.Store, _ *Clock) session.Store { return memoryOf(s).Reopen() },
		LosePower: func(_ testing.TB, s session.Store, _ *Clock) session.Store { return memoryOf(s).LosePower(nil) },
	}
}

func memoryOf(s session.Store) *session.Memory {
	switch s := s.(type) {
	case *Faulty:
		return memoryOf(s.Store)
	case *wrong:
		return s.Memory
	default:
		return s.(*session.Memory)
	}
}

func TestTheKitPassesWhatIsRight(t *testing.T) {
	for _, p := range promises() {
		if failure, skipped := record(t, p, right(), patience); failure != "" || skipped {
			t.Errorf("%s: got failure %q, skipped %v", p.name, failure, skipped)
		}
	}
}

// wrong is a store that breaks a promise by one method of its own.
type wrong struct {
	*session.Memory
	append   func(context.Context, ...session.Append) []error
	read     func(context.Context, session.ID, session.Seq, int) ([]session.Record, error)
	find     func(context.Context, session.ID, string) ([]session.Record, error)
	wait     func(context.Context, session.ID, session.Seq) error
	list     func(context.Context) ([]session.Info, error)
	fork     func(context.Context, session.Fork) error
	remove   func(context.Context, session.Lease) error
	beat     func(context.Context, session.Process, time.Duration) error
	leave    func(context.Context, string) error
	acquire  func(context.Context, session.ID, string) (session.Lease, error)
	release  func(context.Context, session.Lease) error
	save     func(context.Context, session.Lease, session.Snapshot) error
	snapshot func(context.Context, session.ID, string) (session.Snapshot, error)
	put      func(context.Context, session.ID, []byte) (chat.Blob, error)
	blob     func(context.Context, session.ID, string) ([]byte, error)
	close    func() error

	mu     sync.Mutex
	leases map[session.ID]session.Lease // the last of each session
}

// breakage plants what is wrong in a store that is right, m.
type breakage struct {
	name   string
	caught string // the promise that must catch it
	plant  func(w *wrong, m *session.Memory)
}

func TestTheKitCatchesWhatIsWrong(t *testing.T) {
	for _, b := range slices.Concat(wrongAppends(), wrongReads(), wrongLeases(), wrongKeeping()) {
		t.Run(b.name, func(t *testing.T) {
			c := right()
			make := c.New
			c.New = func(t testing.TB, clock *Clock) session.Store {
				m := make(t, clock).(*session.Memory)
				w := newWrong(m)
				b.plant(w, m)
				return w
			}
			mustCatch(t, c, b.caught)
		})
	}
}

func TestTheKitCatchesWrongFaultsAndReopening(t *testing.T) {
	lose := func(_ testing.TB, s session.Store, _ *Clock) session.Store { return memoryOf(s).LosePower(nil) }
	empty := func(t testing.TB, _ session.Store, c *Clock) session.Store { return right().New(t, c) }
	faulty := func(kinds map[Kind]Kind, wrap func(error) error) func(testing.TB, *Clock, Fault) session.Store {
		return func(t testing.TB, c *Clock, f Fault) session.Store {
			if kind, other := kinds[f.Kind]; other {
				f.Kind = kind
			}
			m := right().New(t, c).(*session.Memory)
			s, w := NewFaulty(m, f), newWrong(m)
			w.append = func(ctx context.Context, a ...session.Append) []error {
				errs := s.Append(ctx, a...)
				for i, err := range errs {
					errs[i] = wrap(err)
				}
				return errs
			}
			return w
		}
	}
	same := func(err error) error { return err }
	for _, b := range []struct {
		name, caught string
		plant        func(*Config)
	}{
		{"reopening loses the tail", "I2 the log is there after reopening", func(c *Config) { c.Reopen = lose }},
		{"reopening finds nothing", "I2 the log is there after reopening", func(c *Config) { c.Reopen = empty }},
		{"a loss of power takes what is durable", "D1 what is durable survives a loss of power", func(c *Config) { c.LosePower = empty }},
		{"a failure writes", "D2 an append that fails changes nothing", func(c *Config) {
			c.Fault = faulty(map[Kind]Kind{Fails: Unheard}, func(err error) error {
				if isUncertain(err) {
					return ErrFault
				}
				return err
			})
		}},
		{"a failure is called uncertain", "D2 an append that fails changes nothing", func(c *Config) {
			c.Fault = faulty(map[Kind]Kind{Fails: Lost}, same)
		}},
		{"an uncertain write is called a failure", "D2 an uncertain append that was written is found, and its claim is taken", func(c *Config) {
			c.Fault = faulty(map[Kind]Kind{Unheard: Fails}, same)
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			c := right()
			b.plant(&c)
			mustCatch(t, c, b.caught)
		})
	}
}

// mustCatch demands that a promise be found broken, and that its failure say so.
func mustCatch(t *testing.T, c Config, caught string) {
	t.Helper()
	for _, p := range promises() {
		if p.name != caught {
			continue
		}
		failure, _ := record(t, p, c, time.Second/2)
		if failure == "" {
			t.Fatalf("the kit must find broken: %s", caught)
		}
		t.Logf("%s: %.300s", caught, failure)
		return
	}
	t.Fatalf("there is no promise %q", caught)
}

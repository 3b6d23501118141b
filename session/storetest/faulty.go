package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tack-agent/tack/session"
)

// Fault is what one append meets.
type Fault struct {
	// At says which: the first append since the store was made is 1. Those of
	// one call count one by one.
	At   int
	Kind Kind
	// Release lets a Blocks go on.
	Release <-chan struct{}
}

// Kind says what goes wrong.
type Kind string

const (
	// Fails writes nothing and says so: ErrFault.
	Fails Kind = "fails"
	// Lost writes nothing and says that it doesn't know: ErrUncertain.
	Lost Kind = "lost"
	// Unheard writes and says that it doesn't know. Where the store refuses the
	// append, the refusal is answered.
	Unheard Kind = "unheard"
	// Blocks waits for Release and then writes. A context that ends meanwhile
	// ends the wait: nothing is written, the answer is ErrUncertain.
	Blocks Kind = "blocks"
)

// ErrFault is a definite failure: the append wrote nothing.
var ErrFault = errors.New("fault injected by a test")

// Faulty is a store in which appends meet faults. All else goes through.
type Faulty struct {
	session.Store
	// Before, if set, is called before each call of Append, with the number of
	// its first append; it may block. After is called before it is answered.
	Before, After func(n int)

	mu      sync.Mutex
	faults  map[int]Fault
	appends int
	blocked chan int
}

// NewFaulty puts faults in front of a store.
func NewFaulty(s session.Store, faults ...Fault) *Faulty {
	f := &Faulty{Store: s, faults: map[int]Fault{}, blocked: make(chan int, 64)}
	for _, fault := range faults {
		f.faults[fault.At] = fault
	}
	return f
}

// Add puts one more fault in front of the n-th append from now.
func (f *Faulty) Add(n int, k Kind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[f.appends+n] = Fault{At: f.appends + n, Kind: k}
}

// Appends is the number of appends so far.
func (f *Faulty) Appends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.appends
}

// Blocked tells the number of each append that blocks, as it does.
func (f *Faulty) Blocked() <-chan int { return f.blocked }

// Append writes the appends that meet no fault with one call, as they came;
// a fault in the midst of them parts the call.
func (f *Faulty) Append(ctx context.Context, appends ...session.Append) []error {
	first, met := f.meet(len(appends))
	if f.Before != nil {
		f.Before(first)
	}
	if f.After != nil {
		defer f.After(first)
	}
	errs := make([]error, 0, len(appends))
	for start := 0; start < len(appends); {
		if met[start].Kind != "" {
			errs = append(errs, f.suffer(ctx, met[start], appends[start]))
			start++
			continue
		}
		end := start + 1
		for end < len(appends) && met[end].Kind == "" {
			end++
		}
		errs = append(errs, f.Store.Append(ctx, appends[start:end]...)...)
		start = end
	}
	return errs
}

// meet counts n appends and returns the number of the first and what each meets.
func (f *Faulty) meet(n int) (first int, met []Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first, met = f.appends+1, make([]Fault, n)
	for i := range met {
		met[i] = f.faults[first+i]
	}
	f.appends += n
	return first, met
}

func (f *Faulty) suffer(ctx context.Context, fault Fault, a session.Append) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch fault.Kind {
	case Fails:
		return fmt.Errorf("append %d: %w", fault.At, ErrFault)
	case Lost:
		return fmt.Errorf("append %d: %w", fault.At, session.ErrUncertain)
	case Unheard:
		if err := f.Store.Append(ctx, a)[0]; err != nil {
			return err
		}
		return fmt.Errorf("append %d: %w", fault.At, session.ErrUncertain)
	case Blocks:
		return f.block(ctx, fault, a)
	default:
		panic(fmt.Sprintf("storetest: no fault %q", fault.Kind))
	}
}

func (f *Faulty) block(ctx context.Context, fault Fault, a session.Append) error {
	select {
	case f.blocked <- fault.At:
	default: // nobody listens
	}
	select {
	case <-fault.Release:
		return f.Store.Append(ctx, a)[0]
	case <-ctx.Done():
		return fmt.Errorf("append %d: %w: %w", fault.At, session.ErrUncertain, ctx.Err())
	}
}

package host

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// notes is a list that many may add to.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, s)
}

// take returns the list and begins a new one.
func (n *notes) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := strings.Join(n.list, " ")
	n.list = nil
	return s
}

var (
	keyA, keyB, keyC = plugin.NewService[string]("test.a"), plugin.NewService[string]("test.b"), plugin.NewService[string]("test.c")
	asked            = plugin.NewHook[string, string]("test.asked")
)

func keys(list ...plugin.Key) []plugin.Key { return list }

// part is a plugin that provides the string services it gives, and notes its
// start as +name and its end as -name.
func part(n *notes, name string, needs, gives []plugin.Key) Plugin {
	return Plugin{Name: name, Needs: needs, Gives: gives, Start: func(_ context.Context, s *plugin.Scope) error {
		n.add("+" + name)
		err := s.Cleanup(func(context.Context) error { n.add("-" + name); return nil })
		for _, k := range gives {
			err = errors.Join(err, k.(*plugin.Service[string]).Provide(s, name))
		}
		return err
	}}
}

// broken is p, which registers all and then fails.
func broken(p Plugin) Plugin {
	start := p.Start
	p.Start = func(ctx context.Context, s *plugin.Scope) error {
		return errors.Join(start(ctx, s), errors.New("no luck"))
	}
	return p
}

// configured is p with a config.
func configured(p Plugin, config any) Plugin {
	p.Config = config
	return p
}

// started is a host that is shut down with the test.
func started(t testing.TB, o Options) *Host {
	t.Helper()
	h, err := Start(bg, o)
	must(t, err)
	t.Cleanup(func() { _ = h.Shutdown(bg) })
	return h
}

// body is an agent that does nothing but count. Its handle faults on request.
type body struct {
	agent.Fake
	scope *plugin.Scope
	start agent.Start
	close func(context.Context) error // nil: nothing

	mu    sync.Mutex
	state agent.State
	fault error // what calls answer
	said  []string
}

func (b *body) Scope() *plugin.Scope { return b.scope }

func (b *body) Record(context.Context, session.Noted) (session.Seq, error) { return 0, b.failing() }

func (b *body) Watch(context.Context) iter.Seq[agent.Delta] { return func(func(agent.Delta) bool) {} }

func (b *body) Close(ctx context.Context) error {
	if b.close != nil {
		if err := b.close(ctx); err != nil {
			return err
		}
	}
	b.breaks(agent.ErrClosed)
	return errors.Join(b.scope.Close(ctx), b.start.Store.Release(ctx, b.start.Lease))
}

func (b *body) breaks(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = err
}

func (b *body) failing() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fault
}

func (b *body) is(s agent.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = s
}

// bodies is a driver of bodies, in the order they were made.
type bodies struct {
	mu   sync.Mutex
	made []*body
	// before runs before one is made.
	before func(ctx context.Context, s agent.Start) error
}

func (d *bodies) Drive(ctx context.Context, s agent.Start) (agent.Running, error) {
	if d.before != nil {
		if err := d.before(ctx, s); err != nil {
			return nil, err
		}
	}
	scope, err := s.Scope.Child("agent " + string(s.Lease.Session))
	if err != nil {
		return nil, err
	}
	b := &body{scope: scope, start: s, state: agent.Idle}
	b.OnStatus = func(context.Context) (agent.Status, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return agent.Status{State: b.state}, b.fault
	}
	b.Verbs = func(_ context.Context, v session.Verb, m chat.Message) (agent.Receipt, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.fault != nil {
			return agent.Receipt{}, b.fault
		}
		b.said = append(b.said, m.ID)
		return agent.Receipt{ID: m.ID, Verb: v}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made = append(d.made, b)
	return b, nil
}

func (d *bodies) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.made)
}

func (d *bodies) first() *body {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made[0]
}

func (d *bodies) last() *body {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made[len(d.made)-1]
}

func TestIDsAreUniqueAndSortByTime(t *testing.T) {
	shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	before := ""
	for i := range 10_000 {
		id := newID(at.Add(time.Duration(i) * time.Microsecond))
		if !shape.MatchString(id) || seen[id] || id <= before {
			t.Fatalf("id %q after %q: want a version 7 UUID, new and later", id, before)
		}
		seen[id], before = true, id
	}
	if got, want := newID(at)[:13], fmt.Sprintf("%08x-%04x", at.UnixMilli()>>16, at.UnixMilli()&0xffff); got != want {
		t.Errorf("time in the id: %s, want %s", got, want)
	}
}

package host

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

func TestF4OneHeartbeatKeepsAllSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := session.NewMemory(nil)
		h, _ := home(t, store)
		for _, id := range []session.ID{"1", "2"} {
			_, err := h.Open(bg, id, "")
			must(t, err)
		}
		other, d := home(t, store)
		for range 100 {
			time.Sleep(time.Second)
			for _, id := range []session.ID{"1", "2"} {
				var owned *session.NotOwnerError
				if _, err := other.Open(bg, id, ""); !errors.As(err, &owned) || owned.Owner.ID == "" {
					t.Fatalf("F4: another process: %v, want a NotOwnerError with the owner", err)
				}
			}
		}
		must(t, h.Shutdown(bg))
		if _, err := other.Open(bg, "1", ""); err != nil || d.count() != 1 {
			t.Errorf("F4: after the owner has left: %v", err)
		}
		must(t, other.Shutdown(bg))
	})
}

// deaf is a store that doesn't hear heartbeats while it is deaf.
type deaf struct {
	session.Store
	deaf  atomic.Bool
	beats atomic.Int64
}

func (d *deaf) Beat(ctx context.Context, p session.Process, ttl time.Duration) error {
	d.beats.Add(1)
	if d.deaf.Load() {
		return errors.New("deaf")
	}
	return d.Store.Beat(ctx, p, ttl)
}

func TestF4AProcessThatWasUnheardLivesAgainAndLosesOnlyWhatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := session.NewMemory(nil)
		store := &deaf{Store: memory}
		d := &bodies{}
		h := started(t, Options{Store: store, Driver: d, Lease: 3 * time.Second})
		_, err := h.Open(bg, "taken", "")
		must(t, err)
		taken := d.last()
		_, err = h.Open(bg, "kept", "")
		must(t, err)
		if n := store.beats.Load(); n != 1 {
			t.Errorf("%d heartbeats at the start, want 1", n)
		}
		store.deaf.Store(true)
		time.Sleep(10 * time.Second)
		other, _ := home(t, memory)
		_, err = other.Open(bg, "taken", "")
		must(t, err)
		store.deaf.Store(false)
		if _, err := h.Open(bg, "new", ""); err != nil {
			t.Errorf("F4: opened before the next heartbeat: %v", err)
		}
		taken.breaks(&session.NotOwnerError{Session: "taken"})
		if _, err := h.Agent("taken").Status(bg); !errors.Is(err, agent.ErrNotOwner) {
			t.Errorf("F4: what was taken: %v, want ErrNotOwner", err)
		}
		if owner, _ := memory.Owner(bg, "kept"); owner.ID == "" {
			t.Error("F4: what nobody took is lost")
		}
		must(t, h.Shutdown(bg))
		must(t, other.Shutdown(bg))
	})
}

// line is a link to another host in this process.
type line struct {
	scheme, address string
	to              *Host
	dialled         []string
}

func (l *line) Scheme() string  { return l.scheme }
func (l *line) Address() string { return l.address }

func (l *line) Dial(ctx context.Context, address string, id session.ID) (agent.Agent, error) {
	l.dialled = append(l.dialled, address)
	if l.to == nil {
		return nil, errors.New("no route")
	}
	return l.to.Open(ctx, id, session.OpenContinue)
}

func linking(links ...*line) Plugin {
	return Plugin{Name: "links", Config: links, Gives: keys(Links), Start: func(_ context.Context, s *plugin.Scope) error {
		var errs []error
		for _, l := range links {
			errs = append(errs, Links.Provide(s, l))
		}
		return errors.Join(errs...)
	}}
}

func TestF4OtherProcessesSendThroughTheOwner(t *testing.T) {
	store := session.NewMemory(nil)
	owner, d := home(t, store, linking(&line{scheme: "test", address: "test:owner"}))
	_, err := owner.Open(bg, "s", "")
	must(t, err)
	wrong, right := &line{scheme: "tes"}, &line{scheme: "test", to: owner}
	other, none := home(t, store, linking(right, wrong))
	if _, err := other.Agent("s").Followup(bg, say("1")); err != nil {
		t.Fatal(err)
	}
	if len(d.last().said) != 1 || none.count() != 0 || len(wrong.dialled) != 0 || right.dialled[0] != "test:owner" {
		t.Errorf("F4: the owner heard %v by %v; want the message by its address", d.last().said, right.dialled)
	}
	var owned *session.NotOwnerError
	if _, err := other.Open(bg, "s", ""); !errors.As(err, &owned) || owned.Owner.Address != "test:owner" {
		t.Errorf("F4: Open: %v, want the owner's address", err)
	}
	right.to = nil
	if _, err := other.Reach(bg, "s", ""); err == nil || errors.Is(err, agent.ErrNotOwner) {
		t.Errorf("F4: a link that is down: %v, want its error", err)
	}
	alone, _ := home(t, store)
	if _, err := alone.Reach(bg, "s", ""); !errors.As(err, &owned) {
		t.Errorf("F4: without a link: %v, want a NotOwnerError", err)
	}
	must(t, owner.Shutdown(bg))
	if _, err := other.Agent("s").Followup(bg, say("2")); err != nil || none.count() != 1 {
		t.Errorf("F4: after the owner has left: %v, %d agents; want its own", err, none.count())
	}
}

func TestAnAddressThatCameByReloadIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := session.NewMemory(nil)
		h, _ := home(t, store)
		_, err := h.Open(bg, "s", "")
		must(t, err)
		must(t, h.Reload(bg, Shelf{linking(&line{scheme: "test", address: "test:new"})}))
		time.Sleep(6 * time.Second)
		if p, _ := store.Owner(bg, "s"); p.Address != "test:new" {
			t.Errorf("address %q, want test:new", p.Address)
		}
		must(t, h.Shutdown(bg))
	})
}

func TestP2AgentsCloseBeforeTheirStoreGoesAndThoseAtWorkComeBack(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var n notes
			disk := session.NewMemory(nil)
			d := &bodies{}
			shelf := func(config int) Shelf {
				return Shelf{{Name: "store", Gives: keys(Store), Config: config, Exclusive: exclusive, Start: func(_ context.Context, s *plugin.Scope) error {
					return errors.Join(s.Cleanup(func(context.Context) error { n.add("-store"); return nil }), Store.Provide(s, disk))
				}}}
			}
			h := started(t, Options{Driver: d, Plugins: shelf(1)})
			for _, id := range []session.ID{"idle", "working"} {
				_, err := h.Open(bg, id, "")
				must(t, err)
				d.last().close = func(context.Context) error { n.add("-" + string(id)); return nil }
			}
			d.last().is(agent.Working)
			must(t, h.Close(bg, "idle"))
			n.take()
			must(t, h.Reload(bg, shelf(2)))
			settled(h)
			synctest.Wait()
			if got, want := n.take(), "-working -store"; got != want {
				t.Errorf("P2: %s, want %s", got, want)
			}
			if _, found := h.Find("working"); !found || d.count() != 3 {
				t.Errorf("P6: found %v, %d agents; want the one that was at work back", found, d.count())
			}
			if _, err := h.Agent("idle").Followup(bg, chat.Say("x")); err != nil {
				t.Error(err)
			}
			must(t, h.Reload(bg, nil))
			if _, err := h.Open(bg, "idle", ""); !errors.Is(err, ErrNoStore) {
				t.Errorf("without a store: %v, want ErrNoStore", err)
			}
			must(t, h.Shutdown(bg))
		})
	}
}

package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/tack-agent/tack/plugin"
)

// zoo is a set of plugins that say when a promise to one of them is broken.
type zoo struct {
	mu    sync.Mutex
	next  int
	live  map[string]Plugin // instances by what they provide
	wrong []string
}

func (z *zoo) start(p Plugin, fails bool) func(context.Context, *plugin.Scope) error {
	return func(_ context.Context, s *plugin.Scope) error {
		z.mu.Lock()
		defer z.mu.Unlock()
		z.next++
		own := fmt.Sprintf("%s#%d", p.Name, z.next)
		for _, k := range p.needs() {
			if !k.Provided(s) {
				z.wrong = append(z.wrong, own+" started without "+k.Name())
			}
		}
		held := map[string]string{}
		for _, k := range p.Holds {
			held[k.Name()], _ = k.(*plugin.Service[string]).Get(s)
		}
		if p.Exclusive {
			for other, q := range z.live {
				if q.Name == p.Name {
					z.wrong = append(z.wrong, own+" started while "+other+" ran")
				}
			}
		}
		z.live[own] = p
		err := s.Cleanup(func(context.Context) error { z.end(own, p, held); return nil })
		for _, k := range p.Gives {
			err = errors.Join(err, k.(*plugin.Service[string]).Provide(s, own))
		}
		if fails {
			err = errors.New("no luck")
		}
		return err
	}
}

func (z *zoo) end(own string, p Plugin, held map[string]string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.live, own)
	for _, k := range p.needs() {
		given := false
		for _, q := range z.live {
			given = given || q.Name != p.Name && q.gives(k)
		}
		if !given {
			z.wrong = append(z.wrong, own+" outlived all that give "+k.Name())
		}
	}
	for name, giver := range held {
		if _, there := z.live[giver]; !there {
			z.wrong = append(z.wrong, fmt.Sprintf("%s outlived %s, whose %s it held", own, giver, name))
		}
	}
}

// shelf draws plugins, most of them as they were before.
func (z *zoo) shelf(chance *rand.Rand, before Shelf) Shelf {
	all := keys(keyA, keyB, keyC, asFourth)
	var shelf Shelf
	for i := range 7 {
		if chance.IntN(6) == 0 {
			continue
		}
		p := Plugin{Name: fmt.Sprint(i)}
		for _, q := range before {
			if q.Name == p.Name {
				p = q
			}
		}
		if p.Start == nil || chance.IntN(4) == 0 {
			p = Plugin{Name: p.Name, Config: chance.IntN(1000), Exclusive: chance.IntN(4) == 0}
			for at, k := range all {
				switch draw := chance.IntN(12); {
				case draw < 5 && at >= i*4/7: // so that no two need each other
					p.Gives = append(p.Gives, k)
				case draw < 3 && at < i*4/7:
					p.Needs = append(p.Needs, k)
				case draw < 6 && at < i*4/7:
					p.Holds = append(p.Holds, k)
				}
			}
			p.Start = z.start(p, chance.IntN(6) == 0)
		}
		shelf = append(shelf, p)
	}
	chance.Shuffle(len(shelf), func(i, j int) { shelf[i], shelf[j] = shelf[j], shelf[i] })
	return shelf
}

var asFourth = plugin.NewService[string]("test.d")

func TestP2P4P6HoldForRandomShelves(t *testing.T) {
	for seed := range uint64(2000) {
		chance := rand.New(rand.NewPCG(seed, 7))
		z := &zoo{live: map[string]Plugin{}}
		shelf := z.shelf(chance, nil)
		h, err := Start(bg, Options{Plugins: shelf})
		must(t, err)
		for range 6 {
			shelf = z.shelf(chance, shelf)
			_ = h.Reload(bg, shelf)
			settled(h)
			z.mu.Lock()
			if len(z.live) != len(h.running) {
				z.wrong = append(z.wrong, fmt.Sprintf("%d instances live, the host has %d", len(z.live), len(h.running)))
			}
			for _, p := range shelf {
				ran := false
				for _, q := range z.live {
					ran = ran || q.Name == p.Name
				}
				if !ran && !told(h, p.Name) {
					z.wrong = append(z.wrong, p.Name+" doesn't run and isn't reported")
				}
			}
			z.mu.Unlock()
		}
		must(t, h.Shutdown(bg))
		if len(z.live) > 0 {
			z.wrong = append(z.wrong, fmt.Sprint("left: ", z.live))
		}
		if len(z.wrong) > 0 {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(z.wrong, "\n"))
		}
	}
}

func told(h *Host, name string) bool {
	c := &change{errs: h.Failures()}
	return c.told(name)
}

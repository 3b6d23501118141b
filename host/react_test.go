package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/model"
	"github.com/tack-agent/tack/model/modeltest"
	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/react"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/session/storetest"
)

// TestD2EveryMessageIsTakenOnceWhateverHappensToItsAgent has many send through
// one handle while the agent's appends meet faults, it is rested and closed,
// and its model is replaced.
func TestD2EveryMessageIsTakenOnceWhateverHappensToItsAgent(t *testing.T) {
	const senders, each = 4, 10
	rested, met := 0, 0
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			chance := rand.New(rand.NewPCG(seed, 0))
			kinds := []storetest.Kind{storetest.Fails, storetest.Lost, storetest.Unheard}
			var faults []storetest.Fault
			for at := 3; at < 100; at += 1 + chance.IntN(20) {
				faults = append(faults, storetest.Fault{At: at, Kind: kinds[chance.IntN(len(kinds))]})
			}
			store := session.NewMemory(nil)
			says := make([]modeltest.Turn, 1000)
			for i := range says {
				says[i] = modeltest.Says("yes")
			}
			script := modeltest.NewScript(says...)
			shelf := func(config int) Shelf {
				return Shelf{
					{Name: "react", Gives: keys(Driver), Start: func(_ context.Context, s *plugin.Scope) error { return Driver.Provide(s, react.New(react.Limits{})) }},
					{Name: "model", Config: config, Gives: keys(model.Source), Start: func(_ context.Context, s *plugin.Scope) error {
						return model.Source.Provide(s, func(context.Context, string) (model.Model, error) { return script, nil })
					}},
				}
			}
			faulty := storetest.NewFaulty(store, faults...)
			h := started(t, Options{Store: faulty, Plugins: shelf(0)})
			a := h.Agent("s")
			var wg sync.WaitGroup
			for n := range senders {
				wg.Go(func() {
					for i := range each {
						m := say(fmt.Sprintf("%d.%d", n, i))
						for {
							_, err := a.Followup(bg, m)
							if err == nil {
								break
							}
							if !errors.Is(err, agent.ErrUncertain) && !errors.Is(err, agent.ErrStorage) && !errors.Is(err, session.ErrUncertain) && !errors.Is(err, storetest.ErrFault) {
								t.Errorf("seed %d: %v", seed, err)
								return
							}
							time.Sleep(time.Millisecond)
						}
						time.Sleep(time.Duration(i) * time.Millisecond)
					}
				})
			}
			wg.Go(func() {
				for i := range 40 {
					time.Sleep(time.Millisecond)
					if done, _ := h.Rest(bg, "s"); done {
						rested++
					}
					if i%10 == 0 {
						_ = h.Close(bg, "s")
						must(t, h.Reload(bg, shelf(i)))
					}
				}
			})
			wg.Wait()
			for err := a.WaitIdle(bg); err != nil; err = a.WaitIdle(bg) {
				time.Sleep(time.Millisecond)
			}
			must(t, h.Shutdown(bg))
			for _, f := range faults {
				if f.At <= faulty.Appends() {
					met++
				}
			}
			taken, entered := map[string]int{}, map[string]int{}
			for e, err := range session.Events(bg, store, "s", 0) {
				must(t, err)
				switch f := e.Fact.(type) {
				case session.Accepted:
					taken[f.Message.ID]++
				case session.Entered:
					for _, m := range f.Messages {
						entered[m.ID]++
					}
				}
			}
			for n := range senders {
				for i := range each {
					if id := fmt.Sprintf("%d.%d", n, i); taken[id] != 1 || entered[id] != 1 {
						t.Errorf("D2: seed %d: message %s was accepted %d times and entered %d times, want once", seed, id, taken[id], entered[id])
					}
				}
			}
		})
	}
	if rested < 100 || met < 100 {
		t.Errorf("%d rests and %d faults in all seeds: too few to prove anything", rested, met)
	}
}

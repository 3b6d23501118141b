package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/tack-agent/tack/session"
)

// rolled is a test whose failure rapid makes small.
type rolled struct {
	testing.TB
	t *rapid.T
}

func (r rolled) Fatalf(format string, args ...any) { r.t.Fatalf(format, args...) }
func (r rolled) Helper()                           {}
func (r rolled) Context() context.Context          { return r.t.Context() }
func (r rolled) Cleanup(f func())                  { r.t.Cleanup(f) }

// IntN makes it a dice.
func (r rolled) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(r.t, "roll") }

func TestMemoryIsItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rolled{t, rt}
		newHistory(newTrial(&told{TB: r, what: "history"}, right()), r).play(30)
	})
}

// claimOp is an append of one record that claims, or a read of the head.
type claimOp struct {
	read  bool
	seq   session.Seq
	claim string
}

// claimAnswer is the head that was read, or what an append was answered.
type claimAnswer struct {
	head session.Seq
	gap  bool
	by   session.Seq // who has the claim
}

// oneLog is a session in which each thing is done at one moment.
func oneLog() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []string(nil) },
		Step: func(state, input, output any) (bool, any) {
			log, in, out := state.([]string), input.(claimOp), output.(claimAnswer)
			by := session.Seq(slices.Index(log, in.claim) + 1)
			switch next := session.Seq(len(log) + 1); {
			case in.read:
				return out.head == next-1, log
			case in.seq != next:
				return out.gap, log
			case by != 0:
				return out.by == by, log
			default:
				return out == claimAnswer{}, append(slices.Clone(log), in.claim)
			}
		},
		Equal: func(a, b any) bool { return slices.Equal(a.([]string), b.([]string)) },
	}
}

func TestConcurrentAppendsAreLinearizable(t *testing.T) {
	for range 20 {
		var mu sync.Mutex
		var history []porcupine.Operation
		s, lease := faulted(t)
		began := time.Now()
		var group sync.WaitGroup
		for client := range 4 {
			group.Go(func() {
				for i := range 12 {
					op := claimOp{read: i%3 == 0, seq: session.Seq(i/2 + 1), claim: fmt.Sprint("k", (i*7+client)%9)}
					call := time.Since(began).Nanoseconds()
					answer := do(t.Context(), s, lease, op)
					end := time.Since(began).Nanoseconds()
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: client, Input: op, Output: answer, Call: call, Return: end})
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if !porcupine.CheckOperations(oneLog(), history) {
			t.Fatalf("S1 S2 D7 concurrent appends happen one after the other: this history can't be ordered so: %+v", history)
		}
	}
}

func do(ctx context.Context, s session.Store, lease session.Lease, op claimOp) claimAnswer {
	if op.read {
		records, _ := s.Read(ctx, lease.Session, 0, 100)
		return claimAnswer{head: session.Seq(len(records))}
	}
	err := s.Append(ctx, session.Append{Lease: lease, Records: []session.Record{claiming(note(op.seq), op.claim)}})[0]
	var exists *session.ExistsError
	if errors.As(err, &exists) {
		return claimAnswer{by: exists.Seq}
	}
	return claimAnswer{gap: errors.Is(err, session.ErrGap)}
}

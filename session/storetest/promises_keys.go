package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tack-agent/tack/session"
)

var keys = []promise{
	{name: "a claim is had once, for ever", clause: "S1", check: claimedOnce},
	{name: "of many who claim at once one gets it", clause: "S1 D15", check: oneWinner},
	{name: "claims are a session's own", clause: "S1", check: claimsApart},
	{name: "refs find all their records in order", clause: "S1", check: found},
	{name: "an append that fails leaves nothing", clause: "D2", check: failed},
	{name: "an append of unknown outcome is there or not, never both", clause: "D2", check: uncertain},
}

func claimedOnce(t *trial) {
	l := t.own("s", "p")
	t.must("append", t.append(l, t.record(1, ""), t.record(2, "k")))
	err := t.append(l, t.record(3, "k"))
	var exists *session.ExistsError
	if !errors.As(err, &exists) || !errors.Is(err, session.ErrExists) {
		t.breaks("claiming again: got %v, want an ExistsError", err)
		return
	}
	t.want("who has the claim", fmt.Sprint(exists.Claim, " ", exists.Seq), "k 2")
	err = t.append(l, t.record(3, "x"), t.record(4, "x"))
	if !errors.As(err, &exists) || exists.Seq != 3 {
		t.breaks("claiming twice in one append: got %v, want an ExistsError with event 3", err)
	}
}

func oneWinner(t *trial) {
	const claimants = 64
	l := t.own("s", "p")
	var mu sync.Mutex
	won := 0
	var wg sync.WaitGroup
	for range claimants {
		wg.Go(func() {
			for seq := session.Seq(1); ; {
				err := t.append(l, t.record(seq, "k"))
				var gap *session.GapError
				if errors.As(err, &gap) {
					seq = gap.Want
					continue
				}
				if err == nil {
					mu.Lock()
					won++
					mu.Unlock()
				} else if !errors.Is(err, session.ErrExists) {
					t.breaks("got %v, want nil or ErrExists", err)
				}
				return
			}
		})
	}
	wg.Wait()
	t.want("winners", won, 1)
	t.want("the log", t.shape("s"), "1:k[] ")
}

func claimsApart(t *trial) {
	t.must("in one session", t.append(t.own("a", "p"), t.record(1, "k", "r")))
	t.must("in another", t.append(t.own("b", "p"), t.record(1, "k")))
	t.want("what r finds in b", t.seqs("b", "r"), "[]")
}

func found(t *trial) {
	l := t.own("s", "p")
	t.must("append", t.append(l, t.record(1, "", "a", "b"), t.record(2, "", "b", "b"), t.record(3, "")))
	t.must("append", t.append(l, t.record(4, "", "a"), t.record(5, "claim")))
	t.want("a", t.seqs("s", "a"), "[1 4]")
	t.want("b, which one record names twice", t.seqs("s", "b"), "[1 2]")
	t.want("a claim is no ref", t.seqs("s", "claim"), "[]")
	t.want("nothing", t.seqs("s", "c"), "[]")
}

// failed and uncertain put faults in front of the store: they test how callers
// get along with it afterwards.
func failed(t *trial) {
	l := t.own("s", "p")
	f := NewFaulty(t.store, Fault{At: 1, Kind: Fails})
	a := session.Append{Lease: l, Records: []session.Record{t.record(1, "k", "r")}}
	if err := f.Append(t.ctx, a)[0]; !errors.Is(err, ErrFault) {
		t.breaks("got %v, want the fault", err)
	}
	t.want("the log", t.shape("s"), "")
	t.must("the same again", f.Append(t.ctx, a)[0])
	t.want("the log", t.shape("s"), "1:k[r] ")
}

func uncertain(t *trial) {
	for _, kind := range []Kind{Lost, Unheard} {
		id := session.ID(fmt.Sprint("s", kind))
		f := NewFaulty(t.store, Fault{At: 1, Kind: kind})
		a := session.Append{Lease: t.own(id, "p"), Records: []session.Record{t.record(1, "k")}}
		if err := f.Append(t.ctx, a)[0]; !errors.Is(err, session.ErrUncertain) {
			t.breaks("got %v, want ErrUncertain", err)
		}
		a.Lease = t.own(id, "p")
		head := session.Seq(len(t.all(id)))
		a.Records = []session.Record{t.record(head+1, "k")}
		err := f.Append(t.ctx, a)[0]
		if written := head == 1; written != errors.Is(err, session.ErrExists) || !written && err != nil {
			t.breaks("with %d records there, the same claim again: got %v", head, err)
		}
		t.want("the log in the end", t.shape(id), "1:k[] ")
	}
}

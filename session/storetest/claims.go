package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tack-agent/tack/session"
)

func claimPromises() []promise {
	return []promise{
		{"S1 a claim is one event's for ever", claimsForEver},
		{"S1 a claim can be had once in an append", claimsInOneAppend},
		{"S1 a claim is its session's own", claimsPerSession},
		{"S1 of 64 that claim at once one wins", claimsRace},
		{"S1 a record is found by each of its refs, in order", refsInOrder},
		{"S1 claims and refs don't mix", claimsAreNoRefs},
	}
}

func claimsForEver(t *trial) {
	lease := t.own("a", "p")
	t.must(lease, claiming(note(1), "message/1"), note(2), claiming(note(3), "message/10"))
	t.wantExists(t.try(lease, claiming(note(4), "message/1")), "message/1", 1)
	t.wantExists(t.try(lease, note(4), claiming(note(5), "message/10")), "message/10", 3)
	t.must(lease, notes(4, 40)...)
	t.wantExists(t.try(lease, claiming(note(41), "message/1")), "message/1", 1)
	if t.config.Reopen != nil {
		t.store = t.config.Reopen(t, t.store, t.clock)
		t.wantExists(t.try(t.own("a", "p"), claiming(note(41), "message/1")), "message/1", 1)
	}
}

func claimsInOneAppend(t *trial) {
	lease := t.own("a", "p")
	t.must(lease, note(1))
	t.wantExists(t.try(lease, note(2), claiming(note(3), "k"), note(4), claiming(note(5), "k")), "k", 3)
	t.holds("a", notes(1, 1), "S1 an append that claims twice writes nothing")
	t.must(lease, claiming(note(2), "k"))
}

func claimsPerSession(t *trial) {
	a, b := t.own("a", "p"), t.own("b", "p")
	t.must(a, claiming(note(1), "k"))
	t.must(b, note(1), claiming(note(2), "k"))
	t.wantExists(t.try(a, claiming(note(2), "k")), "k", 1)
	t.wantExists(t.try(b, claiming(note(3), "k")), "k", 2)
}

func claimsRace(t *trial) {
	const rivals = 64
	lease := t.own("a", "p")
	var group sync.WaitGroup
	answers := make([]error, rivals)
	for i := range rivals {
		group.Go(func() { answers[i] = rival(t, lease, i) })
	}
	group.Wait()

	won := 0
	for _, err := range answers {
		if err == nil {
			won++
		} else if !errors.Is(err, session.ErrExists) {
			t.Fatalf("S1 who loses a claim is told so: got %v", err)
		}
	}
	if got := t.read("a"); won != 1 || len(got) != 1 || got[0].Claim != "k" {
		t.Fatalf("S1 one of %d that claim at once wins: got %d that were told so, and %d records", rivals, won, len(got))
	}
}

// rival tries for the claim until it has it or another has.
func rival(t *trial, lease session.Lease, i int) error {
	for seq := session.Seq(1); ; seq++ {
		r := claiming(note(seq), "k")
		r.Data = fmt.Appendf(nil, `{"rival":%d}`, i)
		err := t.store.Append(t.ctx, session.Append{Lease: lease, Records: []session.Record{r}})[0]
		if !errors.Is(err, session.ErrGap) {
			return err
		}
	}
}

func refsInOrder(t *trial) {
	lease := t.own("a", "p")
	t.must(lease,
		referring(note(1), "x"), referring(note(2), "x", "y"), note(3), referring(note(4), "y", "y"), referring(note(5), "y", "x"))
	var more []session.Record
	for seq := session.Seq(6); seq <= 60; seq++ {
		more = append(more, referring(note(seq), fmt.Sprintf("z%d", seq%2)))
	}
	t.must(lease, more...)
	t.finds("a", "x", 1, 2, 5)
	t.finds("a", "y", 2, 4, 5)
	t.finds("a", "z")
	t.finds("b", "x")
	var even []session.Seq
	for seq := session.Seq(6); seq <= 60; seq += 2 {
		even = append(even, seq)
	}
	t.finds("a", "z0", even...)
	found, err := t.store.Find(t.ctx, "a", "x")
	t.no(err, "find")
	t.same(found, []session.Record{referring(note(1), "x"), referring(note(2), "x", "y"), referring(note(5), "y", "x")},
		"S1 find returns whole records")
}

func claimsAreNoRefs(t *trial) {
	lease := t.own("a", "p")
	t.must(lease, claiming(note(1), "claimed"), referring(note(2), "referred"))
	t.finds("a", "claimed")
	t.must(lease, claiming(note(3), "referred"))
	t.finds("a", "referred", 2)
	t.wantExists(t.try(lease, claiming(note(4), "claimed")), "claimed", 1)
	t.finds("a", "")
}

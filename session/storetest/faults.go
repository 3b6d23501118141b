package storetest

import (
	"errors"
	"fmt"

	"github.com/tack-agent/tack/session"
)

func faultPromises() []promise {
	return []promise{
		{"D2 an append that fails changes nothing", failed},
		{"D2 an uncertain append that was written is found, and its claim is taken", uncertainWritten},
		{"D2 an uncertain append that was lost can be repeated", uncertainLost},
		{"D1 what is durable survives a loss of power", powerLost},
		{"S2 a loss of power leaves a log whole", powerLostTail},
	}
}

func isUncertain(err error) bool { return errors.Is(err, session.ErrUncertain) }

// faulty puts a fault in the way of the trial's second append.
func (t *trial) faulty(kind Kind) session.Lease {
	t.Helper()
	f := Fault{At: 2, Kind: kind}
	if t.config.Fault != nil {
		t.store = t.config.Fault(t, t.clock, f)
	} else {
		t.store = NewFaulty(t.store, f)
	}
	lease := t.own("a", "p")
	t.must(lease, note(1))
	return lease
}

func failed(t *trial) {
	lease := t.faulty(Fails)
	err := t.try(lease, claiming(referring(note(2), "r"), "k"))
	if err == nil || isUncertain(err) {
		t.Fatalf("D2 an append that can't be written is a definite error: got %v", err)
	}
	t.holds("a", notes(1, 1), "D2 an append that failed wrote nothing")
	t.finds("a", "r")
	t.must(lease, claiming(note(2), "k"))
}

func uncertainWritten(t *trial) { t.uncertain(Unheard) }

func uncertainLost(t *trial) { t.uncertain(Lost) }

// uncertain takes the way out of an uncertain append: own the session anew,
// read, repeat. Whatever became of the first, one of the two is in the log.
func (t *trial) uncertain(kind Kind) {
	t.Helper()
	lease := t.faulty(kind)
	first, second := claiming(referring(note(2), "r"), "k"), claiming(referring(note(2), "r"), "k")
	second.Data = []byte(`{"second":true}`)
	if err := t.try(lease, first); !isUncertain(err) {
		t.Fatalf("D2 an append whose outcome is unknown is ErrUncertain: got %v", err)
	}
	lease = t.own("a", "p")
	log := t.read("a")
	second.Seq = lease.Head + 1
	if session.Seq(len(log)) != lease.Head {
		t.Fatalf("D2 a fresh lease knows the head: got %d with %d records", lease.Head, len(log))
	}
	err := t.try(lease, second)
	switch {
	case len(log) == 1:
		t.no(err, "D2 an append that was lost can be repeated")
		t.holds("a", []session.Record{note(1), second}, "D2 the repeated append alone is in the log")
	case len(log) == 2:
		t.wantExists(err, "k", 2)
		t.holds("a", []session.Record{note(1), first}, "D2 the first append alone is in the log")
	default:
		t.Fatalf("D2 an uncertain append is in the log whole or not at all: got %d records, want 1 or 2", len(log))
	}
	t.finds("a", "r", 2)
	t.must(lease, note(3))
}

func (t *trial) losePower() {
	t.Helper()
	if t.config.LosePower == nil {
		t.Skip("the store can't lose power: Config.LosePower is nil")
	}
	t.store = t.config.LosePower(t, t.store, t.clock)
}

func powerLost(t *trial) {
	want := map[session.ID][]session.Record{}
	for i := range 4 {
		id := session.ID(fmt.Sprintf("s%d", i))
		lease := t.own(id, "p")
		want[id] = []session.Record{written(note(1)), written(claiming(referring(note(2), "r"), "k")), note(3)}
		t.must(lease, want[id][:1]...)
		t.must(lease, want[id][1])
		t.put(id, "blob")
		t.must(lease, want[id][2])
	}
	t.fork("fork", "s0", 2)
	t.losePower()
	for id, records := range want {
		t.holds(id, records, "D1 a durable record survives a loss of power, with all before it")
		t.finds(id, "r", 2)
		t.blob(id, []byte("blob"))
		t.wantExists(t.try(t.own(id, "p"), claiming(note(4), "k")), "k", 2)
	}
	t.holds("fork", append(t.read("s0")[:2], forked(2)), "D1 a durable fork survives a loss of power")
}

func powerLostTail(t *trial) {
	lease := t.own("a", "p")
	all := []session.Record{
		note(1), written(claiming(referring(note(2), "r", "r2"), "k2")), written(claiming(referring(note(3), "r", "r3"), "k3")),
	}
	t.must(lease, all[0])
	t.must(lease, all[1])
	t.must(lease, all[2])
	t.no(t.store.Save(t.ctx, lease, session.Snapshot{Fold: "f", Version: 1, Seq: 3}), "save")
	t.losePower()

	lease = t.own("a", "p")
	head := lease.Head
	if head < 1 || head > 3 {
		t.Fatalf("S2 a loss of power leaves what was synced, and nothing that wasn't written: got head %d, want 1 to 3", head)
	}
	t.holds("a", all[:head], "S2 a loss of power leaves the beginning of a log")
	for seq := session.Seq(2); seq <= 3; seq++ {
		claim, ref := fmt.Sprintf("k%d", seq), fmt.Sprintf("r%d", seq)
		if seq <= head {
			t.finds("a", ref, seq)
			t.wantExists(t.try(lease, claiming(note(head+1), claim)), claim, seq)
			continue
		}
		t.finds("a", ref)
		t.must(lease, claiming(note(lease.Head+1), claim))
		lease.Head++
	}
	if snap, err := t.store.Snapshot(t.ctx, "a", "f"); err == nil && snap.Seq > head {
		t.Fatalf("S5 no snapshot is ahead of its log: got one of event %d, the log ended at %d", snap.Seq, head)
	}
}

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tack-agent/tack/session"
)

// promises are all that a store must do, by theme.
func promises() []promise { return slices.Concat(logs, keys, leases, belongings, life) }

var logs = []promise{
	{name: "records come back as they were", clause: "S2", check: unchanged},
	{name: "sequences are consecutive", clause: "S2", check: consecutive},
	{name: "what is refused changes nothing", clause: "S2 D2", check: atomic},
	{name: "sessions of one append stand for themselves", clause: "F5", check: isolated},
	{name: "concurrent appends of a session make one order", clause: "S2 D7", check: oneOrder},
	{name: "reading goes by pages", clause: "I2", check: paged},
	{name: "no session is an empty one", clause: "S5", check: empty},
	{name: "waiting ends with the next record", clause: "I2 D13", check: wakes},
	{name: "waiting ends with the context", clause: "D4", check: waitEnds},
	{name: "a context that has ended writes nothing", clause: "D4", check: endedContext},
	{name: "an append of nothing is none", clause: "S2", check: nothing},
	{name: "big records and odd names", clause: "S2", check: odd},
}

// unchanged: data, time, type, version and keys.
func unchanged(t *trial) {
	l := t.own("s", "p")
	want := session.Record{
		Seq: 1, Time: t.clock.time().Add(123456 * time.Microsecond), Type: "test/odd", Version: 7, Need: session.Durable,
		Data: []byte(`{"a":"<&>\u2028é","b":12345678901234567890.1,"a":2}`), Claim: "k", Refs: []string{"x", "y/ z"},
	}
	t.must("append", t.append(l, want))
	got := t.all("s")[0]
	if !got.Time.Equal(want.Time) || got.Type != want.Type || got.Version != want.Version || !bytes.Equal(got.Data, want.Data) || got.Claim != want.Claim || !slices.Equal(got.Refs, want.Refs) {
		t.breaks("got %+v, want %+v", got, want)
	}
}

func consecutive(t *trial) {
	l := t.own("s", "p")
	t.must("append", t.append(l, t.record(1, ""), t.record(2, "")))
	for _, wrong := range [][]session.Record{{t.record(2, "")}, {t.record(4, "")}, {t.record(3, ""), t.record(3, "")}, {t.record(3, ""), t.record(5, "")}} {
		var gap *session.GapError
		if err := t.append(l, wrong...); !errors.As(err, &gap) || !errors.Is(err, session.ErrGap) {
			t.breaks("appending from %d behind 2: got %v, want a GapError", wrong[0].Seq, err)
		}
	}
	t.want("the log", t.shape("s"), "1:[] 2:[] ")
	t.must("append the next", t.append(l, t.record(3, "")))
}

func atomic(t *trial) {
	l := t.own("s", "p")
	t.must("append", t.append(l, t.record(1, "taken", "r")))
	before := t.shape("s")
	refused := [][]session.Record{
		{t.record(2, "new", "r"), t.record(3, "taken")},
		{t.record(2, "twice"), t.record(3, "twice")},
		{t.record(2, "new", "r"), t.record(9, "")},
	}
	for _, records := range refused {
		if err := t.append(l, records...); err == nil {
			t.breaks("an append with a bad second record was accepted")
		}
		t.want("the log after a refusal", t.shape("s"), before)
		t.want("what r finds", t.seqs("s", "r"), "[1]")
	}
	t.must("the claims of refused records are free", t.append(l, t.record(2, "new"), t.record(3, "twice")))
}

func isolated(t *trial) {
	a, b, c := t.own("a", "p"), t.own("b", "p"), t.own("c", "p")
	t.must("append", t.append(b, t.record(1, "taken")))
	errs := t.store.Append(t.ctx,
		session.Append{Lease: a, Records: []session.Record{t.record(1, "taken")}},
		session.Append{Lease: b, Records: []session.Record{t.record(2, "taken")}},
		session.Append{Lease: c, Records: []session.Record{t.record(1, "x"), t.record(2, "y")}},
	)
	if len(errs) != 3 {
		t.breaks("3 appends got %d errors", len(errs))
		return
	}
	t.must("the first", errs[0])
	if !errors.Is(errs[1], session.ErrExists) {
		t.breaks("the second: got %v, want ErrExists", errs[1])
	}
	t.must("the third", errs[2])
	t.want("the logs", t.shape("a")+"| "+t.shape("b")+"| "+t.shape("c"), "1:taken[] | 1:taken[] | 1:x[] 2:y[] ")
}

func oneOrder(t *trial) {
	const writers = 16
	l := t.own("s", "p")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for seq := session.Seq(1); ; {
				err := t.append(l, t.record(seq, fmt.Sprint("w", w)))
				var gap *session.GapError
				if !errors.As(err, &gap) {
					if err != nil {
						t.breaks("writer %d: %v", w, err)
					}
					return
				}
				seq = gap.Want
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i, r := range t.all("s") {
		t.want("the sequence", r.Seq, i+1)
		seen[r.Claim] = true
	}
	t.want("writers in the log", len(seen), writers)
}

func paged(t *trial) {
	l := t.own("s", "p")
	for seq := session.Seq(1); seq <= 10; seq++ {
		t.must("append", t.append(l, t.record(seq, "")))
	}
	for _, c := range []struct {
		after session.Seq
		limit int
		want  string
	}{{0, 3, "[1 2 3]"}, {3, 3, "[4 5 6]"}, {9, 3, "[10]"}, {10, 3, "[]"}, {99, 3, "[]"}, {0, 0, "[]"}} {
		got, err := t.store.Read(t.ctx, "s", c.after, c.limit)
		t.must("read", err)
		var seqs []session.Seq
		for _, r := range got {
			seqs = append(seqs, r.Seq)
		}
		t.want(fmt.Sprintf("%d after %d", c.limit, c.after), seqs, c.want)
	}
}

func empty(t *trial) {
	got, err := t.store.Read(t.ctx, "nobody", 0, 5)
	t.must("read", err)
	t.want("records of no session", len(got), 0)
	t.want("what a key finds in it", t.seqs("nobody", "r"), "[]")
	list, err := t.store.List(t.ctx)
	t.must("list", err)
	t.want("sessions", len(list), 0)
}

func wakes(t *trial) {
	l := t.own("s", "p")
	for seq := session.Seq(1); seq <= 50; seq++ {
		done := make(chan error, 3)
		for range cap(done) {
			go func() { done <- t.store.Wait(t.ctx, "s", seq-1) }()
		}
		t.must("append", t.append(l, t.record(seq, "")))
		for range cap(done) {
			t.must("wait", <-done)
		}
	}
	t.must("a wait for what is there", t.store.Wait(t.ctx, "s", 10))
}

func waitEnds(t *trial) {
	ctx, cancel := context.WithCancel(t.ctx)
	done := make(chan error, 1)
	go func() { done <- t.store.Wait(ctx, "s", 0) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.breaks("got %v, want the context's error", err)
	}
}

func endedContext(t *trial) {
	l := t.own("s", "p")
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	err := t.store.Append(ctx, session.Append{Lease: l, Records: []session.Record{t.record(1, "k")}})[0]
	if !errors.Is(err, context.Canceled) || errors.Is(err, session.ErrUncertain) {
		t.breaks("got %v, want the context's error and no doubt", err)
	}
	t.want("the log", t.shape("s"), "")
}

func nothing(t *trial) {
	l := t.own("s", "p")
	t.must("append nothing", t.append(l))
	t.want("appends of none", len(t.store.Append(t.ctx)), 0)
	t.want("the log", t.shape("s"), "")
}

func odd(t *trial) {
	big := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	for _, id := range []session.ID{"ünï/cødé 雪", session.ID(strings.Repeat("i", 300)), "../../etc", "a'b\";--"} {
		l := t.own(id, "p")
		r := t.record(1, "claim "+string(id), "ref '"+string(id))
		r.Data = big
		t.must("append", t.append(l, r))
		t.want("found by an odd key", t.seqs(id, "ref '"+string(id)), "[1]")
		if got := t.all(id); len(got) != 1 || !bytes.Equal(got[0].Data, big) {
			t.breaks("a big record of session %q came back otherwise", id)
		}
	}
}

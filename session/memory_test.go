package session

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/chat"
)

// What a Memory promises as a Store is tested by storetest; here is the rest.

func TestMemoryWaitsWithoutPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := owned(t)
		ctx, cancel := context.WithCancel(t.Context())
		var woken, ended atomic.Int32
		for i := range 4 {
			id := []ID{"s", "none"}[i%2]
			go func() {
				if err := m.Wait(ctx, id, 1); err == nil {
					woken.Add(1)
				} else if errors.Is(err, context.Canceled) {
					ended.Add(1)
				}
			}()
		}
		began := time.Now()
		synctest.Wait() // all are durably blocked: on nothing but the channel
		appendFacts(t, m, l, 0, turns(1, 1)...)
		synctest.Wait()
		if n := woken.Load(); n != 0 {
			t.Errorf("I2: %d waits for an event above 1 were woken by event 1", n)
		}
		appendFacts(t, m, l, 1, turns(2, 1)...)
		synctest.Wait()
		if n := woken.Load(); n != 2 {
			t.Errorf("I2: event 2 woke %d waits, want 2", n)
		}
		cancel()
		synctest.Wait()
		if n := ended.Load(); n != 2 || !time.Now().Equal(began) {
			t.Errorf("D4: %d waits ended with their context after %v, want 2 at once", n, time.Since(began))
		}
		if _, kept := m.disk.sessions["none"]; kept {
			t.Error("a session that was only waited for is kept")
		}
	})
}

func TestMemoryFollowersEndWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := owned(t)
		appendFacts(t, m, l, 0, turns(1, 3)...)
		var end error
		go func() {
			for _, err := range Follow(t.Context(), m, "s", 0) {
				end = err
			}
		}()
		synctest.Wait()
		next := m.Reopen()
		synctest.Wait()
		if !errors.Is(end, ErrClosed) {
			t.Errorf("C11: a follower of a closed store ends with %v, want ErrClosed", end)
		}
		if got := len(readAll(t, next)); got != 3 {
			t.Errorf("the next handle has %d events, want 3", got)
		}
	})
}

func TestMemoryForgetsWhatIsEmpty(t *testing.T) {
	ctx := context.Background()
	m, l := owned(t)
	if err := m.Release(ctx, l); err != nil {
		t.Fatal(err)
	}
	if n := len(m.disk.sessions); n != 0 {
		t.Errorf("%d sessions are kept of which nothing was, want none", n)
	}
}

func TestMemoryLosesPowerWhereItIsTold(t *testing.T) {
	ctx := context.Background()
	for keep := range 4 {
		m, l := owned(t)
		for seq := Seq(1); seq <= 5; seq++ {
			r := Record{Seq: seq, Type: "test/noted", Version: 1, Claim: "k" + strconv.Itoa(int(seq)), Refs: []string{"r"}}
			if seq == 2 {
				r.Need = Durable
			}
			if _, err := m.Put(ctx, "s", fmt.Append(nil, seq)); err != nil {
				t.Fatal(err)
			}
			if err := m.Append(ctx, Append{Lease: l, Records: []Record{r}})[0]; err != nil {
				t.Fatal(err)
			}
		}
		var asked []string
		m = m.LosePower(func(id ID, written int) int {
			asked = append(asked, fmt.Sprint(id, written))
			return keep
		})
		if want := "[s3]"; fmt.Sprint(asked) != want {
			t.Errorf("asked for %v, want %s", asked, want)
		}
		head := 2 + keep
		found, _ := m.Find(ctx, "s", "r")
		blobs := 0
		for seq := Seq(1); seq <= 5; seq++ {
			if _, err := m.Blob(ctx, "s", chat.BlobOf(fmt.Append(nil, seq)).Digest); err == nil {
				blobs++
			}
		}
		if got, _ := m.Read(ctx, "s", 0, 9); len(got) != head || len(found) != head || blobs != head {
			t.Errorf("keeping %d: %d records, %d found, %d blobs; want %d", keep, len(got), len(found), blobs, head)
		}
		lease, err := m.Acquire(ctx, "s", "p")
		if err != nil || int(lease.Head) != head {
			t.Fatalf("keeping %d: acquired at %d, %v; want %d", keep, lease.Head, err, head)
		}
		for seq := head + 1; seq <= 5; seq++ { // lost claims are free, and the chunk is nobody's else
			r := Record{Seq: Seq(seq), Type: "test/noted", Version: 1, Claim: "k" + strconv.Itoa(seq)}
			if err := m.Append(ctx, Append{Lease: lease, Records: []Record{r}})[0]; err != nil {
				t.Errorf("keeping %d: event %d again: %v", keep, seq, err)
			}
		}
	}
}

func TestMemoryReadersKeepWhatTheyReadAcrossALossOfPower(t *testing.T) {
	ctx := context.Background()
	m, l := owned(t)
	note := func(seq Seq, data string) Append {
		return Append{Lease: l, Records: []Record{{Seq: seq, Type: "test/noted", Version: 1, Data: []byte(data)}}}
	}
	if err := m.Append(ctx, note(1, `"lost"`))[0]; err != nil {
		t.Fatal(err)
	}
	read, _ := m.Read(ctx, "s", 0, 1)
	m = m.LosePower(nil)
	if err := m.Append(ctx, note(1, `"other"`))[0]; err != nil {
		t.Fatal(err)
	}
	if got := string(read[0].Data); got != `"lost"` {
		t.Errorf("I2: what was read turned into %s", got)
	}
}

func TestAnIdleSessionCostsLittle(t *testing.T) {
	const sessions, most = 20_000, 1024 // bytes each, records left out
	ctx := context.Background()
	m := NewMemory(nil)
	if err := m.Beat(ctx, Process{ID: "p"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	before := heap()
	for i := range sessions {
		l, err := m.Acquire(ctx, ID(strconv.Itoa(i)), "p")
		if err != nil {
			t.Fatal(err)
		}
		r := Record{Seq: 1, Type: "parent", Version: 1}
		if err := m.Append(ctx, Append{Lease: l, Records: []Record{r}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	if got := (heap() - before) / sessions; got > most {
		t.Errorf("an idle session with one record takes %d bytes, want at most %d", got, most)
	}
	runtime.KeepAlive(m)
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

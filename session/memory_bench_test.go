package session

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"
)

func BenchmarkMemoryAppend(b *testing.B) {
	for _, sessions := range []int{1, 1000} {
		b.Run(fmt.Sprintf("%d sessions", sessions), func(b *testing.B) { benchmarkAppend(b, sessions) })
	}
}

// benchmarkAppend appends three records, of which one claims its key, and
// begins sessions anew once they have 3,000.
func benchmarkAppend(b *testing.B, sessions int) {
	ctx := context.Background()
	m := NewMemory(nil)
	if err := m.Beat(ctx, Process{ID: "p"}, time.Hour); err != nil {
		b.Fatal(err)
	}
	leases := make([]Lease, sessions)
	for i := range leases {
		leases[i], _ = m.Acquire(ctx, ID("s"+strconv.Itoa(i)), "p")
	}
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "message/0190b6ac-0000-7000-8000-" + fmt.Sprintf("%012d", i)
	}
	at, now, data := make([]int, sessions), time.Now(), []byte(`{}`)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n := i % sessions
		if at[n] == len(keys) {
			_ = m.Remove(ctx, leases[n])
			leases[n], _ = m.Acquire(ctx, leases[n].Session, "p")
			at[n] = 0
		}
		seq, ref := Seq(3*at[n]), keys[at[n]:at[n]+1]
		at[n]++
		errs := m.Append(ctx, Append{Lease: leases[n], Records: []Record{
			{Seq: seq + 1, Time: now, Type: "accepted", Version: 1, Data: data, Claim: ref[0], Refs: ref, Need: Durable},
			{Seq: seq + 2, Time: now, Type: "turn.started", Version: 1, Data: data},
			{Seq: seq + 3, Time: now, Type: "entered", Version: 1, Data: data, Refs: ref},
		}})
		if errs[0] != nil {
			b.Fatal(errs[0])
		}
	}
}

package storetest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tack-agent/tack/session"
)

func appendPromises() []promise {
	return []promise{
		{"S2 what is appended reads back as it was", readsBack},
		{"S2 a refused append changes nothing", refusedChangesNothing},
		{"S2 sequences are consecutive from 1", consecutive},
		{"S2 data is kept byte for byte", bytesKept},
		{"S2 a record of a megabyte", bigRecord},
		{"S2 a thousand records in one append", manyRecords},
		{"S2 an append without records only checks the lease", emptyAppend},
		{"S2 a void lease is refused before a gap, a gap before a claim", orderOfRefusals},
		{"L11 times are kept to the microsecond", timesKept},
		{"F5 of many appends in one call, a refused one touches no other", isolation},
		{"F5 appends of one call happen in order", sameSessionTwice},
		{"F5 sessions and keys are told apart whatever their ids", oddIDs},
		{"D4 a context that has ended appends nothing", endedContext},
	}
}

func readsBack(t *trial) {
	lease := t.own("a", "p")
	if lease.Head != 0 {
		t.Fatalf("the head of an empty session: got %d, want 0", lease.Head)
	}
	records := []session.Record{
		claiming(referring(note(1), "message/1"), "message/1"),
		written(note(2)),
		referring(note(3), "message/1", "question/7"),
	}
	t.must(lease, records[0])
	t.must(lease, records[1], records[2])
	t.holds("a", records, "S2 what is appended reads back")
	t.holds("b", nil, "no session is an empty one")
	if again := t.own("a", "p"); again.Head != 3 {
		t.Fatalf("a lease knows the session's head: got %d, want 3", again.Head)
	}
}

func refusedChangesNothing(t *trial) {
	lease := t.own("a", "p")
	kept := []session.Record{claiming(referring(note(1), "r"), "taken")}
	t.must(lease, kept...)
	fresh := claiming(referring(note(2), "r", "fresh"), "free")
	for _, refused := range []struct {
		why     string
		records []session.Record
	}{
		{"its last record has a claim that is taken", []session.Record{fresh, claiming(note(3), "taken")}},
		{"two of its records claim the same", []session.Record{fresh, claiming(note(3), "free")}},
		{"its last record leaves a gap", []session.Record{fresh, note(4)}},
		{"its last record comes again", []session.Record{fresh, note(2)}},
	} {
		if t.try(lease, refused.records...) == nil {
			t.Fatalf("S2 an append is refused when %s: got no error", refused.why)
		}
		t.holds("a", kept, "S2 a refused append leaves no record, here because "+refused.why)
		t.finds("a", "r", 1)
		t.finds("a", "fresh")
	}
	t.must(lease, fresh) // neither the claim nor the sequence was used up
	t.finds("a", "r", 1, 2)
}

func consecutive(t *trial) {
	lease := t.own("a", "p")
	t.wantGap(t.try(lease, note(2)), "a", 2, 1)
	t.wantGap(t.try(lease, note(0)), "a", 0, 1)
	t.must(lease, notes(1, 3)...)
	t.wantGap(t.try(lease, note(3)), "a", 3, 4)
	t.wantGap(t.try(lease, note(5)), "a", 5, 4)
	t.wantGap(t.try(lease, note(4), note(5), note(7)), "a", 7, 6)
	t.wantGap(t.try(lease, note(4), note(4)), "a", 4, 5)
	t.holds("a", notes(1, 3), "S2 a gap changes nothing")
	t.must(lease, note(4))
}

func bytesKept(t *trial) {
	lease := t.own("a", "p")
	var records []session.Record
	for i, data := range []string{
		`{}`, `null`, `"text"`, `{"n":1.0e+02,"big":12345678901234567890}`,
		`{"b":1,"a":2,"a":3}`, `"<&>\u2028\u0000 漢字 🙂 \ud83d"`, "\"\u2028\"", `[1,  2]`,
	} {
		r := note(session.Seq(i + 1))
		r.Data, r.Version = []byte(data), i+1
		records = append(records, r)
	}
	t.must(lease, records...)
	t.holds("a", records, "S2 data is kept byte for byte")
}

func bigRecord(t *trial) {
	lease := t.own("a", "p")
	big := note(1)
	big.Data = fmt.Appendf(nil, `"%s"`, bytes.Repeat([]byte("0123456789abcdef"), 1<<16))
	t.must(lease, big, note(2))
	t.holds("a", []session.Record{big, note(2)}, "S2 a record of a megabyte")
}

func manyRecords(t *trial) {
	lease := t.own("a", "p")
	var records []session.Record
	for seq := session.Seq(1); seq <= 1000; seq++ {
		key := fmt.Sprintf("key/%d", seq)
		records = append(records, claiming(referring(note(seq), key), key))
	}
	t.must(lease, records...)
	t.holds("a", records, "S2 a thousand records in one append")
	t.finds("a", "key/1", 1)
	t.finds("a", "key/1000", 1000)
}

func emptyAppend(t *trial) {
	old := t.own("a", "p")
	t.must(old)
	t.holds("a", nil, "an append without records adds none")
	list, err := t.store.List(t.ctx)
	t.no(err, "list")
	if len(list) != 0 {
		t.Fatalf("a session without a record isn't listed: got %v", list)
	}
	t.own("a", "p")
	t.wantNotOwner(t.try(old), "a", "p")
	if errs := t.store.Append(t.ctx); len(errs) != 0 {
		t.Fatalf("no appends have no answers: got %v", errs)
	}
}

func orderOfRefusals(t *trial) {
	old := t.own("a", "p")
	t.must(old, claiming(note(1), "k"))
	now := t.own("a", "p")
	t.wantNotOwner(t.try(old, claiming(note(1), "k")), "a", "p")
	t.wantGap(t.try(now, claiming(note(1), "k")), "a", 1, 2)
	t.wantGap(t.try(now, claiming(note(2), "k"), note(4)), "a", 4, 3)
	t.wantExists(t.try(now, claiming(note(2), "k")), "k", 1)
}

func timesKept(t *trial) {
	lease := t.own("a", "p")
	var records []session.Record
	for i, at := range []time.Time{
		time.Date(2026, 1, 2, 3, 4, 5, 123_456_789, time.UTC),
		time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.UTC),
		time.Date(2026, 7, 1, 12, 0, 0, 1000, time.FixedZone("east", 5*3600+1800)),
		time.Date(1969, 7, 20, 20, 17, 40, 0, time.UTC),
		time.Date(2100, 1, 1, 0, 0, 0, 0, time.FixedZone("west", -8*3600)),
		time.Now(),
	} {
		r := note(session.Seq(i + 1))
		r.Time = at
		records = append(records, r)
	}
	t.must(lease, records...)
	t.holds("a", records, "L11 times are kept, and order is the sequence alone")
}

func isolation(t *trial) {
	const sessions = 8
	var appends []session.Append
	for i := range sessions {
		id := session.ID(fmt.Sprintf("s%d", i))
		lease := t.own(id, "p")
		t.must(lease, claiming(note(1), "k"))
		appends = append(appends, session.Append{Lease: lease, Records: notes(2, 3)})
	}
	appends[1].Records = []session.Record{note(2), claiming(note(3), "k")}
	appends[3].Records = []session.Record{note(2), note(9)}
	t.own("s5", "p") // its lease in the call is void now

	errs := t.tryAll(appends...)
	t.wantExists(errs[1], "k", 1)
	t.wantGap(errs[3], "s3", 9, 3)
	t.wantNotOwner(errs[5], "s5", "p")
	for i, err := range errs {
		id, want := appends[i].Lease.Session, append([]session.Record{claiming(note(1), "k")}, notes(2, 3)...)
		if i == 1 || i == 3 || i == 5 {
			want = want[:1]
		} else if err != nil {
			t.Fatalf("F5 one session's refusal isn't another's: session %s: %v", id, err)
		}
		t.holds(id, want, "F5 a refused append is left out, the others are written")
	}
}

func sameSessionTwice(t *trial) {
	a, b := t.own("a", "p"), t.own("b", "p")
	errs := t.tryAll(
		session.Append{Lease: a, Records: []session.Record{claiming(note(1), "k")}},
		session.Append{Lease: b, Records: notes(1, 1)},
		session.Append{Lease: a, Records: []session.Record{claiming(note(2), "k")}},
		session.Append{Lease: a, Records: notes(2, 2)},
	)
	for _, i := range []int{0, 1, 3} {
		t.no(errs[i], fmt.Sprintf("F5 appends of one call happen in order: append %d", i))
	}
	t.wantExists(errs[2], "k", 1)
	t.holds("a", []session.Record{claiming(note(1), "k"), note(2)}, "F5 appends of one call happen in order")
}

func oddIDs(t *trial) {
	odd := []string{
		"a", "A", "a ", " a", "é", "e\u0301", "漢字🙂", "a/b", "a//b", "../a", ".", "..", "CON", "a:b", "a%2Fb", "a\\b",
		"a*", "a?", "%", "_", "'; drop table records; --", "\"", "a\nb", "-", strings.Repeat("long", 64), strings.Repeat("long", 64) + "er",
	}
	want := map[string][]session.Record{}
	for i, id := range odd {
		lease := t.own(session.ID(id), "p")
		for n, key := range odd[:i+1] {
			want[id] = append(want[id], claiming(referring(note(session.Seq(n+1)), key), key))
		}
		t.must(lease, want[id]...)
	}
	for _, id := range odd {
		t.holds(session.ID(id), want[id], "F5 sessions are told apart whatever their ids")
		for n := range want[id] {
			t.finds(session.ID(id), odd[n], session.Seq(n+1))
		}
	}
}

func endedContext(t *trial) {
	lease, other := t.own("a", "p"), t.own("b", "p")
	ended, cancel := context.WithCancel(t.ctx)
	cancel()
	errs := t.store.Append(ended,
		session.Append{Lease: lease, Records: notes(1, 1)}, session.Append{Lease: other, Records: notes(1, 1)})
	if len(errs) != 2 {
		t.Fatalf("append returns an answer for each append: got %d for 2", len(errs))
	}
	for _, err := range errs {
		t.wantIs(err, context.Canceled, "D4 a context that ended before the append answers its error")
		if isUncertain(err) {
			t.Fatalf("D4 an append that wasn't issued is not uncertain: got %v", err)
		}
	}
	t.holds("a", nil, "D4 a context that ended before the append writes nothing")
	t.holds("b", nil, "D4 a context that ended before the append writes nothing")
	t.must(lease, note(1))
}

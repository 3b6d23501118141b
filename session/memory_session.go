package session

import (
	"iter"
	"slices"
	"sort"
)

// memorySession is one session of a Memory, guarded by its mutex. Maps and the
// channel are made on first use: an idle session costs little.
type memorySession struct {
	log    memoryLog
	keys   map[string]memoryKey
	synced Seq            // the last record that a loss of power leaves
	floor  Seq            // shared with the parent of a fork, which is kept whole or not at all
	forgot map[string]Seq // keys that the records up to one don't have here, though they say so

	owner *memoryProcess // nil: free
	token uint64

	wake    chan struct{} // closed by the next append
	waiters int           // on wake

	snapshots map[string]Snapshot
	blobs     map[string]memoryBlob
}

// memoryKey is what a session knows of a key.
type memoryKey struct {
	claim Seq // the record that has it for a claim
	first Seq // the first that has it for a ref: most have few
	more  []Seq
}

func (k memoryKey) refs() iter.Seq[Seq] {
	return func(yield func(Seq) bool) {
		if k.first != 0 && !yield(k.first) {
			return
		}
		for _, seq := range k.more {
			if !yield(seq) {
				return
			}
		}
	}
}

// refer adds a record to those that have the ref; once is enough.
func (k *memoryKey) refer(seq Seq) {
	switch {
	case k.first == 0:
		k.first = seq
	case k.first == seq, len(k.more) > 0 && k.more[len(k.more)-1] == seq:
	default:
		k.more = append(k.more, seq)
	}
}

// cut is what is left of k in a log that ends at head.
func (k memoryKey) cut(head Seq) memoryKey {
	if k.claim > head {
		k.claim = 0
	}
	if k.first > head {
		k.first = 0
	}
	n := sort.Search(len(k.more), func(i int) bool { return k.more[i] > head })
	k.more = slices.Clip(k.more[:n])
	return k
}

// add appends records, or refuses them and changes nothing.
func (s *memorySession) add(id ID, records []Record) error {
	for i := range records {
		if want := s.log.head + 1 + Seq(i); records[i].Seq != want {
			return &GapError{Session: id, Got: records[i].Seq, Want: want}
		}
	}
	if err := s.claim(records); err != nil {
		return err
	}
	durable := false
	for i := range records {
		for _, ref := range records[i].Refs {
			s.refer(ref, records[i].Seq)
		}
		durable = durable || records[i].Need == Durable
	}
	s.log.add(records)
	if durable {
		s.synced = s.log.head
	}
	if len(records) > 0 {
		s.rouse()
	}
	return nil
}

// claim takes the claims of all records or of none.
func (s *memorySession) claim(records []Record) error {
	for i := range records {
		r := &records[i]
		if r.Claim == "" {
			continue
		}
		k := s.keys[r.Claim]
		if k.claim != 0 {
			s.unclaim(records[:i])
			return &ExistsError{Claim: r.Claim, Seq: k.claim}
		}
		k.claim = r.Seq
		s.setKey(r.Claim, k)
	}
	return nil
}

func (s *memorySession) unclaim(records []Record) {
	for _, r := range records {
		if r.Claim == "" {
			continue
		}
		k := s.keys[r.Claim]
		if k.claim = 0; k.first == 0 {
			delete(s.keys, r.Claim)
		} else {
			s.keys[r.Claim] = k
		}
	}
}

func (s *memorySession) refer(ref string, seq Seq) {
	k := s.keys[ref]
	k.refer(seq)
	s.setKey(ref, k)
}

func (s *memorySession) setKey(name string, k memoryKey) {
	if s.keys == nil {
		s.keys = make(map[string]memoryKey)
	}
	s.keys[name] = k
}

// attend returns a channel that the next append closes.
func (s *memorySession) attend() chan struct{} {
	if s.wake == nil {
		s.wake = make(chan struct{})
	}
	s.waiters++
	return s.wake
}

// unattend takes back an attend.
func (s *memorySession) unattend() {
	if s.waiters--; s.waiters == 0 {
		s.wake = nil
	}
}

func (s *memorySession) rouse() {
	if s.wake != nil {
		close(s.wake)
		s.wake, s.waiters = nil, 0
	}
}

// memoryLog is records in chunks that are never moved nor changed, so that
// readers and forks share them.
type memoryLog struct {
	chunks [][]Record // each begins after the end of the one before
	head   Seq
}

// Chunks grow with their log, so that a short one is small.
const (
	smallChunk = 4
	bigChunk   = 256
)

func (l *memoryLog) add(records []Record) {
	for len(records) > 0 {
		last := l.room(len(records))
		n := min(len(records), cap(*last)-len(*last))
		for _, r := range records[:n] {
			r.Time, r.Need = r.Time.Round(0).UTC(), 0
			*last = append(*last, r)
		}
		l.head, records = records[n-1].Seq, records[n:]
	}
}

// room returns the last chunk, or a new one if that is full.
func (l *memoryLog) room(wanted int) *[]Record {
	size := smallChunk
	if n := len(l.chunks); n > 0 {
		last := &l.chunks[n-1]
		if len(*last) < cap(*last) {
			return last
		}
		size = 2 * len(*last)
	}
	size = min(max(size, wanted), bigChunk)
	l.chunks = append(l.chunks, make([]Record, 0, size))
	return &l.chunks[len(l.chunks)-1]
}

// after returns up to limit records above seq. They are not to be changed.
func (l *memoryLog) after(seq Seq, limit int) []Record {
	if seq >= l.head || limit <= 0 {
		return nil
	}
	limit = int(min(uint64(limit), uint64(l.head-seq)))
	at := l.chunkOf(seq + 1)
	chunk := l.chunks[at]
	from := int(seq + 1 - chunk[0].Seq)
	if to := from + limit; to <= len(chunk) {
		return chunk[from:to:to]
	}
	page := make([]Record, 0, limit)
	page = append(page, chunk[from:]...)
	for at++; len(page) < limit; at++ {
		chunk = l.chunks[at]
		page = append(page, chunk[:min(len(chunk), limit-len(page))]...)
	}
	return page
}

// chunkOf is the place of the chunk that has a record.
func (l *memoryLog) chunkOf(seq Seq) int {
	if last := len(l.chunks) - 1; l.chunks[last][0].Seq <= seq {
		return last // readers are at the head as a rule
	}
	return sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i][0].Seq > seq }) - 1
}

// prefix is the log up to head; it grows apart from l.
func (l *memoryLog) prefix(head Seq) memoryLog {
	if head == 0 {
		return memoryLog{}
	}
	n := l.chunkOf(head) + 1
	p := memoryLog{chunks: slices.Clone(l.chunks[:n]), head: head}
	last := &p.chunks[n-1]
	*last = slices.Clip((*last)[:head-(*last)[0].Seq+1])
	return p
}

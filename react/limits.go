package react

import "github.com/tack-agent/tack/session"

// Limits bound what an agent takes on. The zero value of a field means its
// default.
type Limits struct {
	Injects  Room  // waiting injects; default 1,024 and 16 MiB
	Waking   Room  // waiting steers and followups; default 1,024 and 16 MiB
	Message  int64 // bytes in one message; default 8 MiB
	Attempts int   // requests for one step, retries and reopenings included; default 10
	Beside   int   // calls that run at the same time; default 10
}

// Room is a limit on waiting messages. A quarter of it is kept for people.
type Room struct {
	Count int
	Bytes int64
}

const mebibyte = 1 << 20

// orDefaults fills in what is zero.
func (l Limits) orDefaults() Limits {
	room := Room{Count: 1024, Bytes: 16 * mebibyte}
	l.Injects = l.Injects.or(room)
	l.Waking = l.Waking.or(room)
	if l.Message == 0 {
		l.Message = 8 * mebibyte
	}
	if l.Attempts == 0 {
		l.Attempts = 10
	}
	if l.Beside == 0 {
		l.Beside = 10
	}
	return l
}

func (r Room) or(d Room) Room {
	if r.Count == 0 {
		r.Count = d.Count
	}
	if r.Bytes == 0 {
		r.Bytes = d.Bytes
	}
	return r
}

// takes says whether one more message of size bytes fits beside what is used.
func (r Room) takes(used session.Room, size int64, person bool) bool {
	if used.Count >= r.Count || used.Bytes+size > r.Bytes {
		return false
	}
	return person || used.OtherCount < r.Count-r.Count/4 && used.OtherBytes+size <= r.Bytes-r.Bytes/4
}

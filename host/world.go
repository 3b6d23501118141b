package host

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/tack-agent/tack/agent"
)

// RealWorld has the system's clock and ids that are unique for ever and sort
// by the time they were made: UUIDs of version 7 (RFC 9562, section 5.7).
func RealWorld() agent.World {
	return agent.World{Now: time.Now, NewID: func() string { return newID(time.Now()) }}
}

// newID has the milliseconds in 48 bits, their fraction in 12 (method 3 of
// section 6.2), and 62 random bits.
func newID(now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[8:]) // never fails
	ns := now.UnixNano()
	ms, fraction := ns/1e6, (ns%1e6)<<12/1e6
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = 0x70 | byte(fraction>>8)
	b[7] = byte(fraction)
	b[8] = 0x80 | b[8]&0x3f
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

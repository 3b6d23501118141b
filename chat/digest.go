package chat

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

// Digest identifies what a message says: its role, source and parts, not its
// id and not its Meta. Bytes kept as a blob count like the same bytes inline.
type Digest [sha256.Size]byte

// digestDomain keeps these digests apart from all others; a change of what is
// hashed changes it.
const digestDomain = "tack message 1"

// Digest is the digest of m.
func (m Message) Digest() Digest {
	h := sha256.New()
	write(h, digestDomain)
	write(h, string(m.Role))
	write(h, string(m.Source.Kind))
	write(h, m.Source.Name)
	writeCount(h, len(m.Parts))
	for _, p := range m.Parts {
		write(h, string(p.Kind))
		write(h, p.Text)
		write(h, p.Media)
		write(h, p.Name)
		write(h, p.content())
	}
	var d Digest
	h.Sum(d[:0])
	return d
}

// content names the bytes of a part, wherever they are kept.
func (p Part) content() string {
	switch {
	case p.Blob != nil:
		return p.Blob.Digest
	case p.Kind == PartText:
		return ""
	default:
		return BlobOf(p.Data).Digest
	}
}

// write adds s behind its length, so that no two lists of strings read alike.
func write(h hash.Hash, s string) {
	writeCount(h, len(s))
	h.Write([]byte(s))
}

func writeCount(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText is the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("digest: %d characters, want %d", len(text), hex.EncodedLen(len(d)))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	return nil
}

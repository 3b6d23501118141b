package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// PartKind says what a part holds.
type PartKind string

const (
	PartText  PartKind = "text"
	PartImage PartKind = "image"
	PartFile  PartKind = "file"
)

// Part is a piece of a message or of a tool's result.
//
// Text parts have Text and nothing else. Images and files have a media type
// and their bytes as they were when the message was accepted: inline in Data,
// or in the session's store under Blob, never both.
type Part struct {
	Kind  PartKind `json:"kind"`
	Text  string   `json:"text,omitempty"`
	Media string   `json:"media,omitempty"` // IANA media type: image/png
	Name  string   `json:"name,omitempty"`  // the file's name, for people and the model
	Data  []byte   `json:"data,omitempty"`
	Blob  *Blob    `json:"blob,omitempty"`
}

// Blob names bytes by what they are.
type Blob struct {
	Digest string `json:"digest"` // "sha256:" and 64 lower-case hexadecimal digits
	Size   int64  `json:"size"`   // in bytes
}

const digestScheme = "sha256:"

// BlobOf names data.
func BlobOf(data []byte) Blob {
	sum := sha256.Sum256(data)
	return Blob{Digest: digestScheme + hex.EncodeToString(sum[:]), Size: int64(len(data))}
}

// maxBlob keeps the sum of a message's sizes from overflowing.
const maxBlob = 1 << 40

// Valid says whether b has the form of a blob's name: the digest as above, the
// size at most 1 TiB.
func (b Blob) Valid() bool {
	digits, found := strings.CutPrefix(b.Digest, digestScheme)
	return found && len(digits) == 2*sha256.Size && strings.Trim(digits, "0123456789abcdef") == "" &&
		0 <= b.Size && b.Size <= maxBlob
}

// Text is a part holding s.
func Text(s string) Part { return Part{Kind: PartText, Text: s} }

// Image is a part holding a picture of the given media type.
func Image(media string, data []byte) Part {
	return Part{Kind: PartImage, Media: media, Data: data}
}

// File is a part holding a file's bytes under its name.
func File(name, media string, data []byte) Part {
	return Part{Kind: PartFile, Name: name, Media: media, Data: data}
}

// Size is the number of bytes p stands for.
func (p Part) Size() int64 {
	n := int64(len(p.Text) + len(p.Media) + len(p.Name) + len(p.Data))
	if p.Blob != nil {
		n += p.Blob.Size
	}
	return n
}

// PartsSize is the sum of the sizes of valid parts, in bytes.
func PartsSize(parts []Part) int64 {
	var n int64
	for _, p := range parts {
		n += p.Size()
	}
	return n
}

// CloneParts shares nothing with parts.
func CloneParts(parts []Part) []Part {
	if parts == nil {
		return nil
	}
	out := make([]Part, len(parts))
	for i, p := range parts {
		p.Data = bytes.Clone(p.Data)
		if p.Blob != nil {
			blob := *p.Blob
			p.Blob = &blob
		}
		out[i] = p
	}
	return out
}

// PlainText joins the text parts with line breaks and leaves the rest out.
func PlainText(parts []Part) string {
	var lines []string
	for _, p := range parts {
		if p.Kind == PartText {
			lines = append(lines, p.Text)
		}
	}
	return strings.Join(lines, "\n")
}

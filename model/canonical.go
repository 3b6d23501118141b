package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tack-agent/tack/chat"
)

// Extends says whether r goes on where before was: same session, same epoch,
// and the items of before come first.
func (r *Request) Extends(before *Request) bool {
	if r.Session != before.Session || r.Epoch != before.Epoch || len(r.Items) < len(before.Items) {
		return false
	}
	for i, it := range before.Items {
		if it != r.Items[i] && !it.equal(r.Items[i]) {
			return false
		}
	}
	return true
}

// equal compares what the items hold; != between items compares where it is.
func (it Item) equal(other Item) bool {
	a, errA := encode(it.canonical())
	b, errB := encode(other.canonical())
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Canonical is the request as JSON, the same for all requests that ask the
// same: bytes are named by their digest, wherever they are kept, and Meta,
// which the model isn't shown, is left out, like all that isn't asked. Whoever
// rebuilds a request from the log gets these bytes again.
func (r *Request) Canonical() ([]byte, error) {
	c := *r
	c.Items = make([]Item, len(r.Items))
	for i, it := range r.Items {
		c.Items[i] = it.canonical()
	}
	out, err := encode(c)
	if err != nil {
		return nil, fmt.Errorf("encode a request to %s: %w", r.Model, err)
	}
	return out, nil
}

// Digest names the canonical form: "sha256:" and 64 hexadecimal digits.
func (r *Request) Digest() (string, error) {
	c, err := r.Canonical()
	if err != nil {
		return "", err
	}
	return chat.BlobOf(c).Digest, nil
}

func (it Item) canonical() Item {
	switch {
	case it.Message != nil:
		m := *it.Message
		m.Meta, m.Parts = nil, named(m.Parts)
		it.Message = &m
	case it.Result != nil:
		res := *it.Result
		res.Parts = named(res.Parts)
		it.Result = &res
	}
	return it
}

// named puts names in the place of bytes.
func named(parts []chat.Part) []chat.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if p.Kind != chat.PartText && p.Blob == nil {
			blob := chat.BlobOf(p.Data)
			out[i].Data, out[i].Blob = nil, &blob
		}
	}
	return out
}

// encode leaves raw JSON as it is, but for white space.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

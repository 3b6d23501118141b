package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tack-agent/tack/chat"
)

// Request is all that a model is asked with one call of Ask. It is immutable
// from then on, with all that it holds.
type Request struct {
	// What is asked. The canonical form has these.
	Model      string          `json:"model"`
	Parameters Parameters      `json:"parameters,omitzero"`
	System     string          `json:"system,omitempty"`
	Tools      []Tool          `json:"tools,omitempty"`  // in an order that stays
	Format     json.RawMessage `json:"format,omitempty"` // the JSON schema of the answer; nil: free text
	Items      []Item          `json:"items"`

	// What helps to ask it cheaply. It changes nothing of what is asked.

	// Session and Epoch say what came before: within one session and epoch,
	// the Items of each request begin with those of the request before. So an
	// adapter can keep what it made of them, and Session may serve as a
	// provider's cache key. It is opaque. Without a Session, nothing is known.
	Session string `json:"-"`
	Epoch   int    `json:"-"`
	// Cache says what to expect of the requests that follow.
	Cache Cache `json:"-"`
	// Blobs reads the bytes of a part that are kept as a blob. Nil: there are
	// no blobs. Read parts with Bytes.
	Blobs func(context.Context, chat.Blob) ([]byte, error) `json:"-"`
}

// Cache helps an adapter decide what the provider is to keep. The zero value
// is a conversation that goes on soon.
type Cache struct {
	Once bool          // no request will begin like this one: keeping it is money lost
	Idle time.Duration // how long until the next request, as a guess; 0: soon
}

// Tool is what the model is told of a tool.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // of the arguments, an object; nil: none
}

// Item is one thing the model is shown; exactly one of its fields is set.
type Item struct {
	Message *chat.Message `json:"message,omitempty"`
	Answer  *chat.Answer  `json:"answer,omitempty"`
	Result  *chat.Result  `json:"result,omitempty"`
}

// Size is the size of the request as an [Estimate] counts: the bytes of text
// that the model is shown.
func (r *Request) Size() int64 {
	n := int64(len(r.System) + len(r.Format))
	for _, t := range r.Tools {
		n += int64(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	for _, it := range r.Items {
		n += it.Size()
	}
	return n
}

// pictureSize is what a picture counts like, in bytes of text: about as many
// tokens as most providers take for one.
const pictureSize = 5_000

// Size is what the item counts in Request.Size.
func (it Item) Size() int64 {
	var n int64
	switch {
	case it.Message != nil:
		n = partsSize(it.Message.Parts)
	case it.Result != nil:
		n = partsSize(it.Result.Parts) + int64(len(it.Result.Name))
	case it.Answer != nil:
		for _, b := range it.Answer.Blocks {
			n += int64(len(b.Text))
			if b.Call != nil {
				n += int64(len(b.Call.Name) + len(b.Call.Arguments))
			}
		}
	}
	return n
}

func partsSize(parts []chat.Part) int64 {
	var n int64
	for _, p := range parts {
		if p.Kind == chat.PartImage {
			n += pictureSize
		} else {
			n += p.Size()
		}
	}
	return n
}

// Bytes reads what p holds, inline or as a blob.
func (r *Request) Bytes(ctx context.Context, p chat.Part) ([]byte, error) {
	switch {
	case p.Kind == chat.PartText:
		return []byte(p.Text), nil
	case p.Blob == nil:
		return p.Data, nil
	case r.Blobs == nil:
		return nil, fmt.Errorf("read blob %s: the request has no blobs", p.Blob.Digest)
	}
	data, err := r.Blobs(ctx, *p.Blob)
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", p.Blob.Digest, err)
	}
	return data, nil
}

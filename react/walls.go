package react

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
	"github.com/tack-agent/tack/session"
)

// What comes from outside is checked and copied here. Inside, it is trusted.

// big is from how many bytes on a part is kept as a blob.
const big = 64 << 10

// set puts big parts in the store, before the fact that names them, and makes
// sure that blobs which are named are there.
func (d *driver) set(ctx context.Context, what string, parts []chat.Part) error {
	for i, p := range parts {
		switch {
		case p.Blob != nil:
			if err := d.has(ctx, *p.Blob); err != nil {
				return fmt.Errorf("%s: parts[%d].blob: %w", what, i, err)
			}
		case len(p.Data) >= big:
			blob, err := d.store.Put(ctx, d.id, p.Data)
			if err != nil {
				return fmt.Errorf("%s: keep parts[%d]: %w: %w", what, i, agent.ErrStorage, err)
			}
			parts[i].Data, parts[i].Blob = nil, &blob
		}
	}
	return nil
}

// has says whether the session has a blob of that name and size.
func (d *driver) has(ctx context.Context, b chat.Blob) error {
	data, err := d.store.Blob(ctx, d.id, b.Digest)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return fmt.Errorf("%w: the session has no bytes under %s: send them as data", agent.ErrInvalid, b.Digest)
	case err != nil:
		return err
	case int64(len(data)) != b.Size:
		return fmt.Errorf("%w: %s has %d bytes, not %d", agent.ErrInvalid, b.Digest, len(data), b.Size)
	default:
		return nil
	}
}

// settings checks settings and copies them.
func settings(c session.Configured) (session.Configured, error) {
	if _, err := model.ParseParameters(c.Parameters); err != nil {
		return c, fmt.Errorf("configure: parameters: %w: %w", agent.ErrInvalid, err)
	}
	for name, l := range map[string]session.Limit{"turn": c.Budget.Turn, "session": c.Budget.Session, "tree": c.Budget.Tree} {
		if l.Steps < 0 || l.Tokens < 0 || l.Cost < 0 || l.Wall < 0 {
			return c, fmt.Errorf("configure: budget.%s: %w: below zero; zero is no limit", name, agent.ErrInvalid)
		}
	}
	var err error
	if c.Parameters, err = compact(c.Parameters); err != nil {
		return c, fmt.Errorf("configure: parameters: %w: %w", agent.ErrInvalid, err)
	}
	c.Tools = slices.Clone(c.Tools)
	return c, nil
}

// replacement checks a replacement and copies it. Its messages get ids if they
// have none.
func (d *driver) replacement(ctx context.Context, r session.Replaced) (session.Replaced, error) {
	if r.Spent.Steps < 0 || r.Spent.Tokens < 0 || r.Spent.Cost < 0 {
		return r, fmt.Errorf("replace: spent: %w: below zero", agent.ErrInvalid)
	}
	r.Messages = slices.Clone(r.Messages)
	for i, m := range r.Messages {
		m, err := agent.Ready("replace", m, d.world.NewID)
		if err == nil {
			err = d.set(ctx, fmt.Sprintf("replace: messages[%d]", i), m.Parts)
		}
		if err != nil {
			return r, err
		}
		r.Messages[i] = m
	}
	return r, nil
}

// compact is JSON as it is kept: without white space around its tokens, copied.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

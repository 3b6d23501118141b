package react

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
	"github.com/tack-agent/tack/prompt"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

// rendered is what stands before the conversation in a request, and the header
// that names it.
type rendered struct {
	header  session.Header
	system  string
	tools   []model.Tool
	format  json.RawMessage
	offered []*tool.Tool // what the tools were made of
}

// unchanged says, without asking anybody, that the header is as the log has it:
// no section makes the system text anew, and the tools are the same. The caller
// has the owner's role.
func (d *driver) unchanged() bool {
	d.mu.Lock()
	r := d.rendered
	d.mu.Unlock()
	return r.header == d.m.Header && !prompt.Any(d.scope) && tool.Same(r.offered, d.offered(d.m.settings()))
}

// offered lists the tools that the settings let the model see.
func (d *driver) offered(s session.Configured) []*tool.Tool {
	all := tool.List(d.scope)
	if s.Tools == nil {
		return all
	}
	var some []*tool.Tool
	for _, t := range all {
		if slices.Contains(s.Tools, t.Name()) {
			some = append(some, t)
		}
	}
	return some
}

// render makes what stands before the conversation, keeps its parts as blobs,
// and returns the header if the log has another.
func (d *driver) render(ctx context.Context, in prompt.Input, look peek) (*session.Header, error) {
	r := rendered{offered: d.offered(look.settings)}
	var err error
	if r.system, err = prompt.Render(ctx, d.scope, in); err != nil {
		return nil, err
	}
	for _, t := range r.offered {
		r.tools = append(r.tools, model.Tool{Name: t.Name(), Description: t.Description(), Schema: t.Schema()})
	}
	if r.system != "" {
		if r.header.System, err = d.store.Put(ctx, d.id, []byte(r.system)); err != nil {
			return nil, fmt.Errorf("keep the system text: %w", err)
		}
	}
	if len(r.tools) > 0 {
		data, err := json.Marshal(r.tools)
		if err != nil {
			return nil, fmt.Errorf("encode the tools: %w", err)
		}
		if r.header.Tools, err = d.store.Put(ctx, d.id, data); err != nil {
			return nil, fmt.Errorf("keep the tools: %w", err)
		}
	}
	d.mu.Lock()
	d.rendered = r
	d.mu.Unlock()
	return &r.header, nil
}

// read is what a header of the log names, from memory or from the store.
func (d *driver) read(ctx context.Context, h session.Header) (rendered, error) {
	d.mu.Lock()
	r := d.rendered
	d.mu.Unlock()
	if r.header == h {
		return r, nil
	}
	r = rendered{header: h}
	system, err := d.bytes(ctx, h.System)
	if err != nil {
		return r, fmt.Errorf("read the system text: %w", err)
	}
	r.system = string(system)
	tools, err := d.bytes(ctx, h.Tools)
	if err == nil && tools != nil {
		err = json.Unmarshal(tools, &r.tools)
	}
	if err != nil {
		return r, fmt.Errorf("read the tools: %w", err)
	}
	if r.format, err = d.bytes(ctx, h.Format); err != nil {
		return r, fmt.Errorf("read the answer's format: %w", err)
	}
	return r, nil
}

// bytes are those of a blob; none for none.
func (d *driver) bytes(ctx context.Context, b chat.Blob) ([]byte, error) {
	if b == (chat.Blob{}) {
		return nil, nil
	}
	return d.store.Blob(ctx, d.id, b.Digest)
}

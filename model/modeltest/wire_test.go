package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

// An adapter that speaks HTTP proves that the kit fits one.
func TestAnAdapterOverHTTPKeepsAllPromises(t *testing.T) {
	Run(t, Config{New: func(t T, turns ...Turn) Subject {
		p := &provider{turns: turns}
		server := httptest.NewServer(p)
		client := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(server.Close)
		t.Cleanup(client.CloseIdleConnections)
		w := wire{client, server.URL}
		return Subject{Model: Func(w.ask), Sent: p.sent}
	}})
}

// line is what the provider sends, one after the other.
type line struct {
	Delta   *model.Delta   `json:"delta,omitempty"`
	Failure *model.Failure `json:"failure,omitempty"`
	Finish  chat.Finish    `json:"finish,omitempty"`
}

// provider plays turns, one for each request.
type provider struct {
	turns  []Turn
	mu     sync.Mutex
	bodies []string
}

func (p *provider) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.bodies...)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.mu.Lock()
	turn := p.turns[len(p.bodies)]
	p.bodies = append(p.bodies, string(body))
	p.mu.Unlock()

	out := json.NewEncoder(w)
	for _, d := range turn.Deltas() {
		_ = out.Encode(line{Delta: &d})
		w.(http.Flusher).Flush()
	}
	switch {
	case turn.End == EndsIdle:
		<-r.Context().Done()
	case turn.End == EndsBroken:
		panic(http.ErrAbortHandler)
	case turn.Failure != nil:
		_ = out.Encode(line{Failure: turn.Failure})
	default:
		_ = out.Encode(line{Finish: turn.Finish()})
	}
}

// wire is the smallest adapter: it sends the canonical form.
type wire struct {
	client *http.Client
	url    string
}

func (w wire) ask(ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
	body, err := w.encode(ctx, r)
	if err != nil {
		return "", err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	answer, err := w.client.Do(post)
	if err != nil {
		return "", broken(ctx, err)
	}
	defer answer.Body.Close()
	for in := json.NewDecoder(answer.Body); ; {
		var l line
		if err := in.Decode(&l); err != nil {
			return "", broken(ctx, err)
		}
		switch {
		case l.Failure != nil:
			return "", l.Failure
		case l.Delta != nil:
			tell(*l.Delta)
		default:
			return l.Finish, nil
		}
	}
}

// broken is what became of a line that went dead.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("read the answer: %w", ctx.Err())
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read the answer: %w", err)
}

func (w wire) encode(ctx context.Context, r *model.Request) ([]byte, error) {
	for _, it := range r.Items {
		for _, p := range parts(it) {
			if _, err := r.Bytes(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	return r.Canonical()
}

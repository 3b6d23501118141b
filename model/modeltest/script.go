// Package modeltest holds a scripted model, and the kit that proves an adapter.
//
// [Script] is a model for the tests of whoever asks one. [Run] checks every
// promise of model.Model on an adapter, with a provider that plays [Turn]s.
package modeltest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

// Rule decides what the model does with a request; n counts the requests from
// 0. It may be called by several goroutines at the same time.
type Rule func(r *model.Request, n int) Turn

// Script is a model that does what it is told to. Its time is that of package
// time, so it runs under testing/synctest. The fields are to be set before it
// is first asked.
//
// It wants requests to be valid and their blobs to be there; else it fails
// them as a provider would.
type Script struct {
	Rule    Rule
	About   model.Info
	Keep    int  // how many of the last requests it remembers; 0: all
	Trusts  bool // looks at no request: costs nothing that grows with it
	mu      sync.Mutex
	asked   int
	seen    []*model.Request
	late    []func(model.Delta)
	release chan struct{}
}

// NewScript is a model that plays the turns, one for each request. Asked once
// more, it fails.
func NewScript(turns ...Turn) *Script {
	return &Script{
		Rule: func(_ *model.Request, n int) Turn {
			if n < len(turns) {
				return turns[n]
			}
			return Fails(model.Failure{
				Kind: model.FailureInvalid,
				Text: fmt.Sprintf("the script has %d turns and was asked for turn %d", len(turns), n+1),
				Fix:  "write more turns, or find out why the model is asked that often",
			})
		},
		About: model.Info{
			ContextWindow: 200_000, MaxOutput: 32_000,
			Images: model.Able, Files: model.Able, Tools: model.Able,
			ParallelCalls: model.Able, Reasoning: model.Able, Format: model.Able,
		},
	}
}

// Name says that this is no real model.
func (s *Script) Name() string { return "scripted" }

// Info is About.
func (s *Script) Info() model.Info { return s.About }

// Requests lists the requests it was shown, in the order they came. They are
// not to be changed.
func (s *Script) Requests() []*model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Asked is how often it was asked.
func (s *Script) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Release lets all turns that end deaf go on, also those to come, and tells
// one delta more for each that ended late. A test that uses either calls it.
func (s *Script) Release() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	select {
	case <-s.released():
	default:
		close(s.release)
	}
	s.mu.Unlock()
	for _, tell := range late {
		tell(model.Text(0, "late"))
	}
}

// released is the channel that Release closes. The caller holds s.mu.
func (s *Script) released() chan struct{} {
	if s.release == nil {
		s.release = make(chan struct{})
	}
	return s.release
}

// Ask plays the turn that the rule has for r.
func (s *Script) Ask(ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("ask the script: %w", err)
	}
	n := s.remember(r)
	if !s.Trusts {
		if err := read(ctx, r); err != nil {
			return "", &model.Failure{Kind: model.FailureInvalid, Err: err}
		}
	}
	turn := s.Rule(r, n)
	if err := s.stream(ctx, turn, tell); err != nil {
		return "", fmt.Errorf("play turn %d of the script: %w", n+1, err)
	}
	return s.end(ctx, turn, tell)
}

// remember notes r as it is now: what it holds doesn't change any more.
func (s *Script) remember(r *model.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *r
	kept.Items = slices.Clip(r.Items)
	if s.Keep > 0 && len(s.seen) >= s.Keep {
		s.seen = append(s.seen[:0], s.seen[len(s.seen)-s.Keep+1:]...)
	}
	s.seen = append(s.seen, &kept)
	s.asked++
	return s.asked - 1
}

// read looks at all of r, as a provider does.
func read(ctx context.Context, r *model.Request) error {
	if err := r.Validate(); err != nil {
		return err
	}
	for _, it := range r.Items {
		for _, p := range parts(it) {
			if p.Blob == nil {
				continue
			}
			if _, err := r.Bytes(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func parts(it model.Item) []chat.Part {
	switch {
	case it.Message != nil:
		return it.Message.Parts
	case it.Result != nil:
		return it.Result.Parts
	default:
		return nil
	}
}

func (s *Script) stream(ctx context.Context, turn Turn, tell func(model.Delta)) error {
	if err := wait(ctx, turn.Wait); err != nil {
		return err
	}
	for i, d := range turn.Deltas() {
		if i > 0 {
			if err := wait(ctx, turn.Pause); err != nil {
				return err
			}
		}
		tell(d)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Script) end(ctx context.Context, turn Turn, tell func(model.Delta)) (chat.Finish, error) {
	switch turn.End {
	case EndsWhole:
	case EndsBroken:
		return "", &model.Failure{Kind: model.FailureBroken, Text: "the script ended the turn without a finish"}
	case EndsIdle:
		<-ctx.Done()
		return "", fmt.Errorf("wait for the script: %w", ctx.Err())
	case EndsDeaf:
		s.mu.Lock()
		released := s.released()
		s.mu.Unlock()
		<-released
		tell(model.Text(len(turn.Answer.Blocks), "deaf"))
	case EndsLate:
		s.mu.Lock()
		s.late = append(s.late, tell)
		s.mu.Unlock()
	}
	if turn.Failure != nil {
		return "", turn.Failure
	}
	return turn.Finish(), nil
}

// Func is a model made of its Ask, for fakes.
type Func func(ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error)

// Name says that this is no real model.
func (f Func) Name() string { return "fake" }

// Info is unknown.
func (f Func) Info() model.Info { return model.Info{} }

// Ask calls f.
func (f Func) Ask(ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
	return f(ctx, r, tell)
}

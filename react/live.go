package react

import (
	"context"
	"iter"
	"sync"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
)

// live is the answer being made, for those who watch. The model writes and
// never waits; each watcher reads on from where it is.
type live struct {
	mu      sync.Mutex
	attempt agent.Delta // its turn, step and attempt; zero: none is under way
	blocks  []liveBlock
	count   int           // attempts so far
	changed chan struct{} // closed when there is more; nil: nobody waits
	over    bool
}

// liveBlock is what was told of one block of the answer.
type liveBlock struct {
	kind chat.BlockKind
	call string
	text []byte
}

// begin starts an attempt and returns its number.
func (l *live) begin(turn, step, attempt int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempt = agent.Delta{Turn: turn, Step: step, Attempt: attempt}
	l.blocks, l.count = l.blocks[:0], l.count+1
	return l.count
}

// tell adds a delta to an attempt; one that is over is not listened to.
func (l *live) tell(attempt int, d model.Delta) {
	kind, shown := shown[d.Kind]
	if !shown {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if attempt != l.count || l.attempt == (agent.Delta{}) || d.Block < 0 || d.Block > len(l.blocks) {
		return
	}
	if d.Block == len(l.blocks) {
		l.blocks = append(l.blocks, liveBlock{kind: kind, call: d.Name})
	}
	b := &l.blocks[d.Block]
	b.text = append(b.text, d.Text...)
	l.wake()
}

// shown are the kinds of deltas that readers see, and of which block they are.
var shown = map[model.DeltaKind]chat.BlockKind{
	model.DeltaText:      chat.BlockText,
	model.DeltaReasoning: chat.BlockReasoning,
	model.DeltaCall:      chat.BlockCall,
	model.DeltaArguments: chat.BlockCall,
}

// finish ends an attempt: nothing of it is told any more.
func (l *live) finish(attempt int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if attempt == l.count {
		l.attempt, l.blocks = agent.Delta{}, nil
	}
}

// close ends all watching.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.wake()
}

// wake rouses the watchers. The caller holds mu.
func (l *live) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Watch yields the deltas of answers as they are made.
func (d *driver) Watch(ctx context.Context) iter.Seq[agent.Delta] {
	return func(yield func(agent.Delta) bool) {
		var w watcher
		for ctx.Err() == nil {
			delta, more, wait := d.live.next(&w)
			switch {
			case more:
				if !yield(delta) {
					return
				}
			case wait == nil:
				return
			default:
				select {
				case <-wait:
				case <-ctx.Done():
				}
			}
		}
	}
}

// watcher is how far one reader has read.
type watcher struct {
	count int   // the attempt it is at
	read  []int // bytes of each block
}

// next is what comes after what w has read, as far as it goes, or a channel
// that is closed when there may be more; nil: there never will be.
func (l *live) next(w *watcher) (d agent.Delta, more bool, wait <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.count != l.count {
		*w = watcher{count: l.count}
	}
	for i, b := range l.blocks {
		if len(w.read) <= i {
			w.read = append(w.read, 0)
		} else if w.read[i] == len(b.text) {
			continue
		}
		d = l.attempt
		d.Block, d.Kind, d.Call, d.Offset, d.Text = i, b.kind, b.call, w.read[i], string(b.text[w.read[i]:])
		w.read[i] = len(b.text)
		return d, true, nil
	}
	if l.over {
		return d, false, nil
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return d, false, l.changed
}

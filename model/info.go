package model

import "github.com/tack-agent/tack/chat"

// Ability says whether a model can do something. What nobody knows stays
// unknown, which is the zero value.
type Ability string

const (
	Unknown Ability = ""
	Able    Ability = "yes"
	Unable  Ability = "no"
)

// Info says what a model can do and costs, as far as it is known.
type Info struct {
	ContextWindow int64 `json:"context_window,omitempty"` // tokens in and out together; 0: unknown
	MaxOutput     int64 `json:"max_output,omitempty"`     // tokens of one answer; 0: unknown

	Images        Ability `json:"images,omitempty"`         // takes pictures
	Files         Ability `json:"files,omitempty"`          // takes files
	Tools         Ability `json:"tools,omitempty"`          // makes calls
	ParallelCalls Ability `json:"parallel_calls,omitempty"` // makes several in one answer
	Reasoning     Ability `json:"reasoning,omitempty"`      // thinks before it answers
	Format        Ability `json:"format,omitempty"`         // keeps to a schema for its answer

	Prices *Prices `json:"prices,omitempty"` // nil: unknown
}

// Prices are in millionths of a US dollar per million tokens: 3,000,000 is
// three dollars. A price of nil is unknown; of 0, free.
type Prices struct {
	Input      *int64 `json:"input,omitempty"` // what the cache had no part in
	CacheRead  *int64 `json:"cache_read,omitempty"`
	CacheWrite *int64 `json:"cache_write,omitempty"`
	Output     *int64 `json:"output,omitempty"`
}

const priced = 1_000_000 // tokens that a price is for

// Cost is what u costs, in millionths of a US dollar, rounded up. It is not
// known if anything was used whose price isn't.
func (i Info) Cost(u chat.Usage) (cost int64, known bool) {
	p := i.Prices
	if p == nil {
		return 0, u == (chat.Usage{})
	}
	var sum int64
	for _, share := range []struct {
		tokens int64
		price  *int64
	}{
		{max(0, u.Input-u.CacheRead-u.CacheWrite), p.Input},
		{u.CacheRead, p.CacheRead},
		{u.CacheWrite, p.CacheWrite},
		{u.Output, p.Output},
	} {
		switch {
		case share.tokens == 0:
		case share.price == nil:
			return 0, false
		default:
			sum += share.tokens * *share.price
		}
	}
	return (sum + priced - 1) / priced, true
}

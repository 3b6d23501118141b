package model

import "math"

const (
	defaultRatio = 4.0   // bytes per token of English text and code
	leastRatio   = 0.5   // what lies outside is no measure of text
	mostRatio    = 32.0  //
	learning     = 0.25  // weight of the newest observation
	leastSample  = 1_000 // bytes; smaller requests are mostly the provider's own overhead
)

// Estimate guesses how many tokens a text has from its size in bytes, and
// learns from what the provider counted. It is a value, to be kept for each
// model; the zero value guesses four bytes per token.
type Estimate struct {
	BytesPerToken float64 `json:"bytes_per_token,omitempty"` // 0: nothing was learnt yet
}

// Tokens guesses how many tokens that many bytes are, rounded up.
func (e Estimate) Tokens(bytes int64) int64 {
	ratio := e.BytesPerToken
	if !(ratio >= leastRatio && ratio <= mostRatio) {
		ratio = defaultRatio
	}
	return int64(math.Ceil(float64(max(0, bytes)) / ratio))
}

// Learn is the estimate after a request of that many bytes, as [Request.Size]
// counts, was counted as that many tokens (chat.Usage.Input). The newest
// observation weighs a quarter. What can't be a measure of text changes nothing.
func (e Estimate) Learn(bytes, tokens int64) Estimate {
	if bytes < leastSample || tokens <= 0 {
		return e
	}
	ratio := float64(bytes) / float64(tokens)
	switch {
	case ratio < leastRatio || ratio > mostRatio:
		return e
	case e.BytesPerToken == 0:
		e.BytesPerToken = ratio
	default:
		e.BytesPerToken += learning * (ratio - e.BytesPerToken)
	}
	return e
}

package model

import (
	"math"
	"testing"

	"github.com/tack-agent/tack/chat"
)

func price(n int64) *int64 { return &n }

func TestACostIsKnownOrNot(t *testing.T) {
	all := &Prices{Input: price(3_000_000), CacheRead: price(300_000), CacheWrite: price(3_750_000), Output: price(15_000_000)}
	some := &Prices{Input: price(3_000_000), Output: price(15_000_000)}
	free := &Prices{Input: price(0), Output: price(0)}
	for _, c := range []struct {
		what   string
		prices *Prices
		usage  chat.Usage
		cost   int64
		known  bool
	}{
		{"a million each", all, chat.Usage{Input: 1_000_000, Output: 1_000_000}, 18_000_000, true},
		{"a share cached", all, chat.Usage{Input: 1_000, CacheRead: 800, CacheWrite: 100, Output: 10}, 300 + 240 + 375 + 150, true},
		{"reasoning is output", all, chat.Usage{Output: 10, Reasoning: 8}, 150, true},
		{"rounded up", all, chat.Usage{CacheRead: 1}, 1, true},
		{"more cached than sent", all, chat.Usage{Input: 10, CacheRead: 20}, 6, true},
		{"nothing cached", some, chat.Usage{Input: 1_000, Output: 10}, 3_150, true},
		{"cached at an unknown price", some, chat.Usage{Input: 1_000, CacheRead: 1}, 0, false},
		{"free", free, chat.Usage{Input: 1_000, Output: 10}, 0, true},
		{"no prices", nil, chat.Usage{Input: 1}, 0, false},
		{"no prices, nothing used", nil, chat.Usage{}, 0, true},
	} {
		cost, known := Info{Prices: c.prices}.Cost(c.usage)
		if cost != c.cost || known != c.known {
			t.Errorf("%s: got %d, %v, want %d, %v", c.what, cost, known, c.cost, c.known)
		}
	}
}

func TestAnEstimateLearns(t *testing.T) {
	var e Estimate
	if got := e.Tokens(4_001); got != 1_001 {
		t.Errorf("knowing nothing, got %d tokens, want four bytes each, rounded up", got)
	}
	e = e.Learn(30_000, 10_000)
	if got := e.Tokens(3_000); got != 1_000 {
		t.Errorf("after one observation of 3 bytes a token, got %d tokens for 3000 bytes", got)
	}
	for range 30 {
		e = e.Learn(20_000, 10_000)
	}
	if math.Abs(e.BytesPerToken-2) > 0.01 {
		t.Errorf("after many of 2, got %v bytes a token", e.BytesPerToken)
	}
	before := e
	for _, odd := range [][2]int64{{999, 10}, {10_000, 0}, {10_000, 1}, {10_000, 1_000_000}, {-5, 5}} {
		if e = e.Learn(odd[0], odd[1]); e != before {
			t.Errorf("%d bytes as %d tokens taught it %+v", odd[0], odd[1], e)
		}
	}
	for _, spoilt := range []float64{math.NaN(), math.Inf(1), -1, 1e9} {
		if got := (Estimate{BytesPerToken: spoilt}).Tokens(400); got != 100 {
			t.Errorf("with %v bytes a token, got %d, want the default", spoilt, got)
		}
	}
}

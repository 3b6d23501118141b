package tool_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/tool"
)

func BenchmarkExecuteWithoutArgumentsAndHooks(b *testing.B) {
	p := newPlace(b, tool.New("now", "d", func(context.Context, struct{}) (string, error) { return "noon", nil }))
	j := p.job("now", "")
	b.ReportAllocs()
	for b.Loop() {
		if out := tool.Execute(b.Context(), j); out.Result.Code != chat.CodeOK {
			b.Fatal(out)
		}
	}
}

func BenchmarkExecuteWithArguments(b *testing.B) {
	p := newPlace(b, reader())
	j := p.job("read", `{"path":"a.go","limit":10}`)
	b.ReportAllocs()
	for b.Loop() {
		tool.Execute(b.Context(), j)
	}
}

func BenchmarkFindAmongThirty(b *testing.B) {
	p := newPlace(b)
	for i := range 30 {
		p.add(saying("tool"+strconv.Itoa(i), nil))
	}
	b.ReportAllocs()
	for b.Loop() {
		tool.Find(p.scope, "tool3")
	}
}

func TestAnInstantCallIsCheap(t *testing.T) {
	p := newPlace(t, tool.New("now", "d", func(context.Context, struct{}) (string, error) { return "noon", nil }))
	j := p.job("now", "")
	if n := testing.AllocsPerRun(100, func() { tool.Execute(context.Background(), j) }); n > 10 {
		t.Errorf("a call that needs nothing costs %.0f allocations, want no more than 10", n)
	}
}

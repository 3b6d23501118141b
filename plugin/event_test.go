package plugin_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tack-agent/tack/plugin"
)

func TestI2APanickingListenerBreaksNobody(t *testing.T) {
	var out bytes.Buffer
	s, e := plugin.NewScope("host", slog.New(slog.NewTextHandler(&out, nil))), plugin.NewEvent[int]("e")
	var heard []int
	listen := func(_ context.Context, n int) { heard = append(heard, n) }
	ok(t, e.On(s, listen))
	ok(t, e.On(s, func(context.Context, int) { panic("oh no") }))
	ok(t, e.On(s, listen))
	e.Tell(t.Context(), s, 7)
	same(t, heard, []int{7, 7}, "the other listeners hear it")
	for _, want := range []string{"oh no", "scope=host", "event e of "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log doesn't tell %q: %s", want, out.String())
		}
	}
	ok(t, s.Close(t.Context()))
}

func TestP3WhatAnAgentTellsIsHeardByItAndAbove(t *testing.T) {
	host, e := root(t), plugin.NewEvent[string]("e")
	a, b := child(t, host, "a"), child(t, host, "b")
	var heard []string
	for _, l := range []struct {
		s    *plugin.Scope
		name string
	}{{a, "a1"}, {host, "h1"}, {b, "b1"}, {a, "a2"}, {host, "h2"}} {
		ok(t, e.On(l.s, func(_ context.Context, what string) { heard = append(heard, l.name+" "+what) }))
	}
	e.Tell(t.Context(), a, "x")
	e.Tell(t.Context(), host, "y")
	same(t, heard, []string{"h1 x", "h2 x", "a1 x", "a2 x", "h1 y", "h2 y"}, "the root's first, in order")
	ok(t, a.Close(t.Context()))
	heard = nil
	e.Tell(t.Context(), a, "z")
	same(t, heard, []string{"h1 z", "h2 z"}, "a closed scope hears nothing")
}

func TestListenersMayRegisterAndTell(t *testing.T) {
	s, e := root(t), plugin.NewEvent[int]("e")
	var heard []int
	ok(t, e.On(s, func(ctx context.Context, n int) {
		heard = append(heard, n)
		if n < 2 {
			ok(t, e.On(s, func(_ context.Context, m int) { heard = append(heard, 10+m) }))
			e.Tell(ctx, s, n+1)
		}
	}))
	e.Tell(t.Context(), s, 1)
	same(t, heard, []int{1, 2, 12}, "the new one hears what is told from then on")
}

func TestCloseWaitsForAListenerThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := plugin.NewScope("host", nil), plugin.NewEvent[int]("e")
		p, heard := child(t, s, "p"), 0
		ok(t, e.On(p, func(context.Context, int) { time.Sleep(time.Hour); heard++ }))
		ok(t, e.On(p, func(context.Context, int) { t.Error("a listener that is undone is called") }))
		go e.Tell(t.Context(), p, 1)
		synctest.Wait()
		ok(t, p.Close(t.Context()))
		same(t, heard, 1, "what ran has ended")
		ok(t, s.Close(t.Context()))
	})
}

package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEveryErrorHasAKind(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind FailureKind
	}{
		{context.Canceled, FailureCancelled},
		{context.DeadlineExceeded, FailureTimeout},
		{os.ErrDeadlineExceeded, FailureTimeout},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, FailureNetwork},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, FailureTimeout},
		{&net.DNSError{Err: "no such host", Name: "example.org"}, FailureNetwork},
		{&net.DNSError{Err: "slow", IsTimeout: true}, FailureTimeout},
		{syscall.ECONNRESET, FailureNetwork},
		{net.ErrClosed, FailureNetwork},
		{io.ErrUnexpectedEOF, FailureBroken},
		{io.EOF, FailureBroken},
		{errors.New("odd"), FailureUnknown},
		{&Failure{Kind: FailureQuota}, FailureQuota},
		{&Failure{Kind: FailureNetwork, Err: context.Canceled}, FailureCancelled},
		{&Failure{Err: io.EOF}, FailureBroken},
		{&Failure{Text: "odd"}, FailureUnknown},
	} {
		wrapped := fmt.Errorf("ask: %w", c.err)
		f := FailureOf(wrapped)
		if f.Kind != c.kind {
			t.Errorf("%v: got %q, want %q", c.err, f.Kind, c.kind)
		}
		if FailureOf(f) != f && f.Kind != FailureCancelled {
			t.Errorf("%v: a failure is made of a failure", c.err)
		}
	}
	if FailureOf(nil) != nil {
		t.Error("nothing went wrong, but there is a failure")
	}
}

func TestEveryKindSaysWhatToDo(t *testing.T) {
	retried := map[FailureKind]bool{
		FailureRateLimit: true, FailureOverloaded: true, FailureServer: true,
		FailureNetwork: true, FailureTimeout: true, FailureBroken: true,
	}
	for kind := range policies {
		f := &Failure{Kind: kind}
		if kind.Fix() == "" || f.Retryable() != retried[kind] {
			t.Errorf("%s: tried again: %v, want %v; fix %q", kind, f.Retryable(), retried[kind], kind.Fix())
		}
		if f.Final = true; f.Retryable() {
			t.Errorf("%s is tried again although the provider rules it out", kind)
		}
	}
	if FailureKind("novel").Retryable() {
		t.Error("a kind that nobody knows is tried again")
	}
}

func TestAFailureTellsPeopleTheFix(t *testing.T) {
	for _, c := range []struct {
		f    Failure
		want string
	}{
		{Failure{Kind: FailureAuth, Status: 401, Text: "invalid key"}, "auth (status 401): invalid key: check the key and what it may use"},
		{Failure{Kind: FailureAuth, Text: "no key", Fix: "set EXAMPLE_KEY"}, "auth: no key: set EXAMPLE_KEY"},
		{Failure{Kind: FailureNetwork, Err: errors.New("connection refused")}, "network: connection refused: check the connection, the proxy and the provider's address"},
		{Failure{Kind: "novel"}, "novel"},
	} {
		if got := c.f.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestAStatusHasAKind(t *testing.T) {
	for status, want := range map[int]FailureKind{
		400: FailureInvalid, 401: FailureAuth, 402: FailureQuota, 403: FailureAuth, 404: FailureInvalid, 408: FailureTimeout,
		413: FailureTooLong, 418: FailureInvalid, 429: FailureRateLimit, 500: FailureServer, 502: FailureServer,
		503: FailureOverloaded, 529: FailureOverloaded, 200: FailureUnknown, 0: FailureUnknown,
	} {
		if got := KindOfStatus(status); got != want {
			t.Errorf("%d: got %q, want %q", status, got, want)
		}
	}
}

func TestAFailureIsData(t *testing.T) {
	f := Failure{Kind: FailureRateLimit, Status: 429, Text: "slow down", RetryAfter: time.Second, Final: true}
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back Failure
	if err := json.Unmarshal(raw, &back); err != nil || back != f {
		t.Errorf("got %+v, %v from %s, want %+v", back, err, raw, f)
	}
	if strings.Contains(string(raw), "Err") {
		t.Errorf("the cause is in %s", raw)
	}
}

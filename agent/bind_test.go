package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

var (
	_ agent.Agent     = (*agent.Fake)(nil)
	_ agent.Recipient = agent.Verbs(nil)
)

// D18: a recipient handed to a plugin or a peer speaks for it alone.
func TestD18ABoundRecipientSpeaksForOneSender(t *testing.T) {
	var verb session.Verb
	var got chat.Message
	r := agent.Bind(agent.Verbs(func(_ context.Context, v session.Verb, m chat.Message) (agent.Receipt, error) {
		verb, got = v, m
		return agent.Receipt{ID: m.ID, Verb: v}, nil
	}), chat.Plugin("clock"))
	for _, v := range []session.Verb{session.Followup, session.Steer, session.Inject} {
		for _, from := range []chat.Source{{}, chat.Plugin("clock")} {
			receipt, err := agent.Deliver(context.Background(), r, v, chat.Say("noon").As("m").From(from))
			if err != nil || verb != v || got.Source != chat.Plugin("clock") || receipt.Verb != v {
				t.Errorf("%s from %+v: %+v, %v; delivered as %s from %+v", v, from, receipt, err, verb, got.Source)
			}
		}
		verb = ""
		for _, from := range []chat.Source{chat.User(), chat.Plugin("other"), chat.Agent("clock")} {
			_, err := agent.Deliver(context.Background(), r, v, chat.Say("noon").From(from))
			if !errors.Is(err, agent.ErrInvalid) || !strings.Contains(err.Error(), "source") || verb != "" {
				t.Errorf("%s from %+v: %v, delivered as %q; want %v that names the source", v, from, err, verb, agent.ErrInvalid)
			}
		}
	}
}

func TestDeliverKnowsThreeVerbs(t *testing.T) {
	_, err := agent.Deliver(context.Background(), agent.Verbs(nil), "shout", chat.Say("m"))
	if !errors.Is(err, agent.ErrInvalid) || !strings.Contains(err.Error(), "shout") {
		t.Errorf("a fourth verb: %v, want %v that names it", err, agent.ErrInvalid)
	}
}

func TestReadyFillsInChecksAndCopies(t *testing.T) {
	mint := func() string { return "minted" }
	parts := []chat.Part{chat.File("f", "text/plain", []byte("as it was"))}
	meta := map[string]string{"k": "as it was"}
	m, err := agent.Ready(session.Steer, chat.Message{Parts: parts, Meta: meta}, mint)
	if err != nil || m.ID != "minted" || m.Role != chat.RoleUser || m.Source != chat.User() {
		t.Fatalf("Ready: %+v, %v; want id, role and source filled in", m, err)
	}
	parts[0].Data[0], meta["k"] = 'X', "changed"
	if string(m.Parts[0].Data) != "as it was" || m.Meta["k"] != "as it was" {
		t.Errorf("the message changed with what the caller handed over: %+v", m)
	}
	given := chat.Say("m").As("mine").From(chat.Host("h"))
	given.Role = chat.RoleSystem
	if m, err = agent.Ready(session.Steer, given, mint); err != nil || m.ID != "mine" || m.Role != chat.RoleSystem || m.Source != chat.Host("h") {
		t.Errorf("Ready: %+v, %v; want what was given", m, err)
	}
	_, err = agent.Ready(session.Steer, chat.Message{Parts: []chat.Part{chat.Text("")}}, mint)
	var field *chat.FieldError
	if !errors.Is(err, agent.ErrInvalid) || !errors.As(err, &field) || field.Field != "parts[0].text" {
		t.Errorf("Ready of an empty part: %v, want %v that names the field", err, agent.ErrInvalid)
	}
}

func TestAnUncertainErrorNamesTheMessageAndItsCause(t *testing.T) {
	err := error(&agent.UncertainError{ID: "m", Err: context.DeadlineExceeded})
	if !errors.Is(err, agent.ErrUncertain) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "message m") {
		t.Errorf("%v: want it to be both errors and name the message", err)
	}
}

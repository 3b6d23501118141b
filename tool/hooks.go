package tool

import (
	"context"
	"fmt"

	"github.com/tack-agent/tack/plugin"
	"github.com/tack-agent/tack/session"
)

// The hooks a call passes, in this order. Their inputs and answers are data; a
// hook may be asked again about the same call after a crash.
var (
	// Decide asks what becomes of a call. The innermost answer allows it. A hook
	// that breaks denies it.
	Decide = plugin.NewHook[Proposed, Decision]("tool.decide")
	// Running stands around the body; the innermost answer is the body's. What
	// runs is what was decided: a hook can look at the arguments but not change
	// them. It may answer without having the body run.
	Running = plugin.NewHook[Proposed, Answer]("tool.run")
	// After may replace or extend what a call that ran has to say; the innermost
	// answer is what it says. If a hook breaks the answer is withheld, as the
	// hook may be there to keep something from the model.
	After = plugin.NewHook[Finished, Answer]("tool.after")

	guarding = plugin.NewHook[Proposed, []denial]("tool.guard")
)

// Proposed is a call as it would run.
type Proposed struct {
	// Key is the same when a hook is asked again about the same call.
	Key       string        `json:"key"`
	Session   session.ID    `json:"session"`
	Call      string        `json:"call"` // the provider's id
	Tool      string        `json:"tool"`
	Arguments string        `json:"arguments"` // a JSON object that fits the tool's schema
	Trait     session.Trait `json:"trait,omitzero"`
}

// Verdict is what becomes of a call.
type Verdict string

const (
	VerdictAllow Verdict = "allow"
	VerdictDeny  Verdict = "deny"
	VerdictAsk   Verdict = "ask" // a person decides
)

// Decision says what becomes of a call.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	// Arguments are those it runs with; empty: as the model wrote them. Hooks
	// further out see them and may change them again.
	Arguments string `json:"arguments,omitempty"`
	// Reason is for the model if the call is denied.
	Reason string `json:"reason,omitempty"`
	// Text and Options are for the person who is asked.
	Text    string   `json:"text,omitempty"`
	Options []string `json:"options,omitempty"`
}

// Allow lets the call run, with the arguments in p.
func (p Proposed) Allow() Decision {
	return Decision{Verdict: VerdictAllow, Arguments: p.Arguments}
}

// Deny keeps it from running; the model is told the reason.
func (p Proposed) Deny(reason string) Decision {
	return Decision{Verdict: VerdictDeny, Arguments: p.Arguments, Reason: reason}
}

// Ask lets a person decide whether it runs, with the arguments in p. The
// options are for the text of the reply.
func (p Proposed) Ask(text string, options ...string) Decision {
	return Decision{Verdict: VerdictAsk, Arguments: p.Arguments, Text: text, Options: options}
}

// Finished is a call that ran, and what it says.
type Finished struct {
	Proposed
	Answer Answer `json:"answer"`
}

// Denial says that a call must not run.
type Denial struct {
	Deny   bool   `json:"deny,omitempty"`
	Reason string `json:"reason,omitempty"` // for the model
}

type denial struct {
	Guard  string `json:"guard"`
	Reason string `json:"reason,omitempty"`
}

// Guard has a guard stand before every call that can be seen from the scope.
// Guards can only deny, and every one is asked: just before the call runs, and
// before a person is bothered with it. A guard that breaks denies.
func Guard(scope *plugin.Scope, name string, guard func(context.Context, Proposed) (Denial, error)) error {
	return guarding.Wrap(scope, name, func(ctx context.Context, p Proposed, next func(context.Context, Proposed) ([]denial, error)) ([]denial, error) {
		d := consult(ctx, scope, name, guard, p)
		others, err := next(ctx, p)
		if err != nil || !d.Deny {
			return others, err
		}
		return append([]denial{{Guard: name, Reason: d.Reason}}, others...), nil
	})
}

// consult asks one guard; breaking is a denial.
func consult(
	ctx context.Context, scope *plugin.Scope, name string, guard func(context.Context, Proposed) (Denial, error), p Proposed,
) (d Denial) {
	defer func() {
		if r := recover(); r != nil {
			logPanic(ctx, scope, "guard "+name, r)
			d = Denial{Deny: true, Reason: fmt.Sprintf("it is broken: it panicked (%v)", r)}
		}
	}()
	d, err := guard(ctx, p)
	if err != nil {
		return Denial{Deny: true, Reason: "it couldn't tell: " + err.Error()}
	}
	return d
}

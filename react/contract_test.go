package react

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/agent/agenttest"
	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/model"
	"github.com/tack-agent/tack/session"
	"github.com/tack-agent/tack/tool"
)

func TestTheDriverKeepsTheContract(t *testing.T) {
	agenttest.Run(t, agenttest.Config{
		New: func(_ testing.TB, w *agenttest.World) agenttest.Subject {
			p := &prompter{Driver: New(Limits{}), world: w, running: map[session.ID]*driver{}}
			p.begun = sync.NewCond(&p.mu)
			return agenttest.Subject{Driver: p, Pose: p.pose, Configure: p.configure, Replace: p.replace}
		},
		Lacks: map[agenttest.Ability]string{agenttest.Children: "children are not spawned yet"},
	})
}

// prompter gives a driver the models and tools of the kit's world.
type prompter struct {
	agent.Driver
	world   *agenttest.World
	mu      sync.Mutex
	running map[session.ID]*driver
	begun   *sync.Cond // there is one more
}

func (p *prompter) Drive(ctx context.Context, s agent.Start) (agent.Running, error) {
	scope, err := s.Scope.Child("kit")
	if err != nil {
		return nil, err
	}
	s.Scope = scope
	errs := []error{
		model.Source.Provide(scope, func(context.Context, string) (model.Model, error) { return kitModel{p.world}, nil }),
		model.Failed.Wrap(scope, "retry", func(_ context.Context, in model.FailedInput, _ func(context.Context, model.FailedInput) (model.FailedAnswer, error)) (model.FailedAnswer, error) {
			return model.FailedAnswer{Again: in.Failure.Retryable() && in.Attempt < 4, After: time.Second}, nil
		}),
	}
	for _, t := range p.world.Tools {
		errs = append(errs, tool.Add(scope, kitTool(t)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	a, err := p.Driver.Drive(ctx, s)
	if err == nil {
		p.mu.Lock()
		p.running[a.ID()] = a.(*driver)
		p.begun.Broadcast()
		p.mu.Unlock()
	}
	return a, err
}

// pose asks a question under the kit's id.
func (p *prompter) pose(ctx context.Context, q session.Question) (session.Reply, error) {
	info := tool.From(ctx)
	place := strings.TrimPrefix(info.Key(), string(info.Session())+"/")
	if _, err := fmt.Sscanf(place, "%d.%d", &q.Answer, &q.Index); err != nil {
		return session.Reply{}, err
	}
	return p.driver(info).question(ctx, q)
}

// driver is the one whose tool asks; its Drive may not have returned yet.
func (p *prompter) driver(info *tool.Info) *driver {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.running[info.Session()] == nil || p.running[info.Session()].scope != info.Scope() {
		p.begun.Wait()
	}
	return p.running[info.Session()]
}

func (p *prompter) configure(ctx context.Context, a agent.Running, c session.Configured) error {
	return a.(*driver).Configure(ctx, c)
}

func (p *prompter) replace(ctx context.Context, a agent.Running, r session.Replaced) error {
	return a.(*driver).Replace(ctx, r)
}

func kitTool(t agenttest.Tool) *tool.Tool {
	return tool.Make(tool.Spec{
		Name: t.Name, Description: "the kit's", Schema: json.RawMessage(`{"type":"object"}`),
		Traits: func(json.RawMessage) session.Trait {
			return session.Trait{Beside: t.Beside, Repeatable: t.Repeatable}
		},
		Run: func(ctx context.Context, arguments json.RawMessage) (tool.Answer, error) {
			parts, code := t.Run(ctx, string(arguments))
			return tool.Answer{Parts: parts, Code: code, Concludes: t.Concludes}, nil
		},
	})
}

// kitModel is the kit's model as one of ours.
type kitModel struct{ world *agenttest.World }

func (kitModel) Name() string     { return "kit" }
func (kitModel) Info() model.Info { return model.Info{} }

func (m kitModel) Ask(ctx context.Context, r *model.Request, tell func(model.Delta)) (chat.Finish, error) {
	shown := make([]agenttest.Shown, 0, len(r.Items))
	for _, it := range r.Items {
		shown = append(shown, agenttest.Shown{Message: it.Message, Answer: it.Answer, Result: it.Result})
	}
	answer, err := m.world.Ask(ctx, shown, func(p agenttest.Piece) { tell(deltaOf(p)) })
	var failure *agenttest.Failure
	if errors.As(err, &failure) {
		f := &model.Failure{Kind: model.FailureInvalid, Text: failure.Text}
		switch {
		case failure.TooLong:
			f.Kind = model.FailureTooLong
		case failure.Passing:
			f.Kind = model.FailureOverloaded
		}
		return "", f
	}
	for i, b := range answer.Blocks {
		if b.Provider != nil {
			tell(model.Provider(i, b.Provider))
		}
	}
	tell(model.Usage(answer.Usage))
	return answer.Finish, err
}

func deltaOf(p agenttest.Piece) model.Delta {
	switch {
	case p.Call != nil:
		d := model.Call(p.Block, p.Call.ID, p.Call.Name)
		d.Text = p.Text
		return d
	case p.Kind == chat.BlockCall:
		return model.Arguments(p.Block, p.Text)
	case p.Kind == chat.BlockReasoning:
		return model.Reasoning(p.Block, p.Text)
	default:
		return model.Text(p.Block, p.Text)
	}
}

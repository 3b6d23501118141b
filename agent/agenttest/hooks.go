package agenttest

import (
	"context"
	"log/slog"

	"github.com/tack-agent/tack/agent"
	"github.com/tack-agent/tack/plugin"
)

type (
	entering    = func(context.Context, agent.EnteringInput) (agent.EnteringAnswer, error)
	maintenance = func(context.Context, agent.MaintenanceInput) (agent.MaintenanceAnswer, error)
	stopping    = func(context.Context, agent.StoppingInput) (agent.StoppingAnswer, error)
)

// theHook is what the kit's hooks are called.
const theHook = "gatekeeper"

// entering has a hook in all processes to come. It is given what the hooks
// further in say: that all enter.
func (c *trial) entering(ask func(ctx context.Context, in agent.EnteringInput, all agent.EnteringAnswer) (agent.EnteringAnswer, error)) {
	c.hooks = append(c.hooks, func(s *plugin.Scope) error {
		return agent.Entering.Wrap(s, theHook, func(ctx context.Context, in agent.EnteringInput, next entering) (agent.EnteringAnswer, error) {
			all, err := next(ctx, in)
			if err == nil {
				err = c.bears()
			}
			if err != nil {
				return all, err
			}
			return ask(ctx, in, all)
		})
	})
}

func (c *trial) maintenance(ask maintenance) {
	c.hooks = append(c.hooks, func(s *plugin.Scope) error {
		return agent.Maintenance.Wrap(s, theHook, func(ctx context.Context, in agent.MaintenanceInput, _ maintenance) (agent.MaintenanceAnswer, error) {
			if err := c.bears(); err != nil {
				return agent.MaintenanceAnswer{}, err
			}
			return ask(ctx, in)
		})
	})
}

func (c *trial) stopping(ask stopping) {
	c.hooks = append(c.hooks, func(s *plugin.Scope) error {
		return agent.Stopping.Wrap(s, theHook, func(ctx context.Context, in agent.StoppingInput, _ stopping) (agent.StoppingAnswer, error) {
			if err := c.bears(); err != nil {
				return agent.StoppingAnswer{}, err
			}
			return ask(ctx, in)
		})
	})
}

// bears counts what is asked of hooks. A driver that asks in a circle is left
// waiting, so that the case notices.
func (c *trial) bears() error {
	c.mu.Lock()
	c.consulted++
	tired := c.consulted > tooOften
	c.mu.Unlock()
	if tired {
		<-c.over
		return errOver
	}
	return nil
}

// rules answers for one message; the others enter as they were to.
func rules(all agent.EnteringAnswer, r agent.Ruling) agent.EnteringAnswer {
	for i := range all.Rulings {
		if all.Rulings[i].ID == r.ID {
			r.Hook = theHook
			all.Rulings[i] = r
		}
	}
	return all
}

func newScope(name string) *plugin.Scope {
	return plugin.NewScope(name, slog.New(slog.DiscardHandler))
}

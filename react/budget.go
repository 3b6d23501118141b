package react

import (
	"time"

	"github.com/tack-agent/tack/session"
)

// spend counts use against the turn and the session.
func (m *machine) spend(s session.Spent) {
	m.Spent = m.Spent.Add(s)
	if m.Turn.open() {
		m.Turn.Spent = m.Turn.Spent.Add(s)
	}
}

// exhausted says that nothing is left for another request.
func (m *machine) exhausted() bool {
	b := m.settings().Budget
	return m.Turn.open() && reached(m.Turn.Spent, b.Turn.Spent) ||
		reached(m.Spent, b.Session.Spent) ||
		reached(m.Spent.Add(m.Children), b.Tree.Spent)
}

// spentUp says that nothing is left for asking again in the same step, after
// also spending more: retries aren't steps.
func (m *machine) spentUp(more session.Spent) bool {
	b := m.settings().Budget
	return used(m.Turn.Spent.Add(more), b.Turn.Spent) ||
		used(m.Spent.Add(more), b.Session.Spent) ||
		used(m.Spent.Add(m.Children).Add(more), b.Tree.Spent)
}

func used(spent, limit session.Spent) bool {
	limit.Steps = 0
	return reached(spent, limit)
}

func reached(spent, limit session.Spent) bool {
	return limit.Steps > 0 && spent.Steps >= limit.Steps ||
		limit.Tokens > 0 && spent.Tokens >= limit.Tokens ||
		limit.Cost > 0 && spent.Cost >= limit.Cost
}

// deadline is when the open turn's time is up; zero if it has no limit.
func (m *machine) deadline() time.Time {
	wall := m.settings().Budget.Turn.Wall
	if !m.Turn.open() || wall <= 0 {
		return time.Time{}
	}
	return m.Turn.At.Add(wall)
}

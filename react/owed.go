package react

// owed is what the world must do now. It depends on the state alone.
func (m *machine) owed() work {
	var w work
	t := &m.Turn
	if !t.open() {
		return w
	}
	if t.stopping() {
		w.halt = m.halting()
		return w
	}
	if until := m.deadline(); !until.IsZero() {
		w.alarm = waiting{cause: t.Alarm, until: until}
	}
	switch t.Phase {
	case atBoundary:
		if m.ending() {
			w.end = ending{cause: t.Cause, turn: m.Turns}
		} else {
			w.consult = consultation{
				cause: t.Cause, turn: m.Turns, step: t.Step + 1,
				batch: m.batch(), results: t.Results, maintained: t.Maintained,
			}
		}
	case atModel:
		w.ask = asking{cause: t.Cause, turn: m.Turns, step: t.Step, attempt: t.Attempt, settings: orNone(t.Settings)}
	case atPause:
		w.wait = waiting{cause: t.Cause, until: t.Until}
	case atCalls:
		w.calls = m.scheduled()
	case atRest:
	}
	return w
}

// halting is what may still be in flight of a stopped turn.
func (m *machine) halting() halting {
	t := &m.Turn
	h := halting{cause: t.Stop.Seq}
	if !t.inFlight() {
		return halting{}
	}
	switch t.Phase {
	case atModel:
		h.ask = t.Cause
	case atCalls:
		for i, c := range t.Calls {
			if !c.Done {
				h.calls = append(h.calls, m.calling(i))
			}
		}
	default: // nothing is in flight
	}
	return h
}

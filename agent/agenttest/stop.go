package agenttest

func stopClauses() []clause     { return nil }
func changeClauses() []clause   { return nil }
func failureClauses() []clause  { return nil }
func questionClauses() []clause { return nil }
func recordClauses() []clause   { return nil }
func seeingClauses() []clause   { return nil }

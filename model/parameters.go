package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Effort says how hard a model is to think. Adapters take the nearest that
// their provider knows; other words are passed on as they are.
type Effort string

const (
	EffortNone   Effort = "none"
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
)

// CallChoice says whether the model may make calls. The tools stay in the
// request either way, so that its beginning stays the same.
type CallChoice string

const (
	CallsFree     CallChoice = ""         // as the model sees fit
	CallsNone     CallChoice = "none"     // no calls
	CallsRequired CallChoice = "required" // at least one
)

// Parameters are the knobs of a request. What is zero is left to the provider.
type Parameters struct {
	MaxOutput   int64      `json:"max_output,omitempty"`  // tokens
	Temperature *float64   `json:"temperature,omitempty"` // from 0
	Effort      Effort     `json:"effort,omitempty"`
	Calls       CallChoice `json:"calls,omitempty"`
	// Provider is an object with what only one provider knows. Its adapter
	// puts the members into what it sends.
	Provider json.RawMessage `json:"provider,omitempty"`
}

// ParseParameters reads the JSON of parameters, strictly. Empty means all zero.
func ParseParameters(raw json.RawMessage) (Parameters, error) {
	var p Parameters
	if len(raw) == 0 {
		return p, nil
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields()
	if err := in.Decode(&p); err != nil {
		return Parameters{}, fmt.Errorf("parse parameters (max_output, temperature, effort, calls; all else under provider): %w", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return Parameters{}, errors.New("parse parameters: something follows the object")
	}
	if string(p.Provider) == "null" {
		p.Provider = nil
	}
	return p, p.Validate()
}

// Validate checks p. The error names the first parameter that is wrong.
func (p Parameters) Validate() error {
	var object map[string]json.RawMessage
	switch t := p.Temperature; {
	case p.MaxOutput < 0:
		return wrong("max_output", "%d is below 0", p.MaxOutput)
	case t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0) || *t < 0):
		return wrong("temperature", "%v is not a number from 0", *t)
	case p.Calls != CallsFree && p.Calls != CallsNone && p.Calls != CallsRequired:
		return wrong("calls", "%q is neither %q nor %q", p.Calls, CallsNone, CallsRequired)
	case p.Provider != nil && (json.Unmarshal(p.Provider, &object) != nil || object == nil):
		return wrong("provider", "not a JSON object")
	}
	return nil
}

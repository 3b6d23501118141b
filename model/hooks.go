package model

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tack-agent/tack/plugin"
)

// Source finds a model by its name: PROVIDER/MODEL, or empty for the default.
// The error of a name that nobody knows names those that are near.
var Source = plugin.NewService[func(ctx context.Context, name string) (Model, error)]("model.source")

// Asking asks how a request is to be put. The innermost answer is the question:
// as it is. Hooks may change the model, its parameters and the format for this
// one request; the messages are what the log says.
var Asking = plugin.NewHook[AskingInput, Asked]("model.request")

// AskingInput is a request about to be put.
type AskingInput struct {
	Key     string `json:"key"` // the same when asked again for the same request
	Session string `json:"session"`
	Turn    int    `json:"turn"`
	Step    int    `json:"step"`
	Attempt int    `json:"attempt"`
	Asked
}

// Asked is what hooks may change of a request.
type Asked struct {
	Model      string          `json:"model"`
	Parameters Parameters      `json:"parameters,omitzero"`
	Format     json.RawMessage `json:"format,omitempty"`
}

// Failed asks what to do about a failure. The innermost answer gives up.
var Failed = plugin.NewHook[FailedInput, FailedAnswer]("model.failed")

// FailedInput is a request that got no answer.
type FailedInput struct {
	Key     string  `json:"key"`
	Session string  `json:"session"`
	Turn    int     `json:"turn"`
	Step    int     `json:"step"`
	Attempt int     `json:"attempt"` // which of the step it was, from 1
	Failure Failure `json:"failure"`
}

// FailedAnswer says whether the step asks again, and after how long.
type FailedAnswer struct {
	Again bool          `json:"again,omitempty"`
	After time.Duration `json:"after,omitempty"` // nanoseconds; 0: at once
}

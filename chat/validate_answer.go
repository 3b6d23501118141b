package chat

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxDepth is how deeply provider data may nest. A decoder gives up at 10,000
// levels, counted from the outermost value around it; an encoder doesn't.
const maxDepth = 1000

// Validate checks an answer as an adapter must hand it over. The error is a
// *FieldError for the first field that is wrong.
func (a Answer) Validate() error {
	if err := validateName("model", a.Model); err != nil {
		return err
	}
	calls := map[string]bool{}
	for i, b := range a.Blocks {
		err := b.validate(calls)
		if err == nil && a.Interrupted && b.Kind == BlockCall {
			err = fieldError("kind", "a call in an interrupted answer: leave it out")
		}
		if err != nil {
			return err.within("blocks", i)
		}
	}
	if err := a.validateFinish(); err != nil {
		return err
	}
	if err := a.Usage.validate(); err != nil {
		return err
	}
	return asError(validateProvider(a.Provider))
}

func (a Answer) validateFinish() *FieldError {
	switch a.Finish {
	case FinishStop, FinishCalls, FinishMaxTokens, FinishRefused:
		if a.Interrupted {
			return fieldError("finish", "%q in an interrupted answer: leave it empty", a.Finish)
		}
	case "":
		if !a.Interrupted {
			return fieldError("finish", "empty: say why the model stopped, or that it was interrupted")
		}
	default:
		return fieldError("finish", "%q: use %q, %q, %q or %q",
			clip(a.Finish), FinishStop, FinishCalls, FinishMaxTokens, FinishRefused)
	}
	return nil
}

// validate adds the block's call to calls, by its id.
func (b Block) validate(calls map[string]bool) *FieldError {
	switch b.Kind {
	case BlockText, BlockReasoning:
		if !utf8.ValidString(b.Text) {
			return fieldError("text", "not valid UTF-8: put U+FFFD in its place")
		}
		if b.Call != nil {
			return fieldError("call", "set on a block of kind %q: give it a block of its own", b.Kind)
		}
	case BlockCall:
		if b.Text != "" {
			return fieldError("text", "set on a call: give it a block of its own")
		}
		if err := b.Call.validate(calls); err != nil {
			return err
		}
	default:
		return fieldError("kind", "%q: use %q, %q or %q", clip(b.Kind), BlockText, BlockReasoning, BlockCall)
	}
	return validateProvider(b.Provider)
}

func (c *Call) validate(seen map[string]bool) *FieldError {
	switch {
	case c == nil:
		return fieldError("call", "missing: a block of kind %q has one", BlockCall)
	case c.ID == "":
		return fieldError("call.id", "empty: mint one if the provider has none")
	case !utf8.ValidString(c.ID):
		return fieldError("call.id", "%q: use valid UTF-8", clip(c.ID))
	case seen[c.ID]:
		return fieldError("call.id", "%q names an earlier call too: ids are unique in an answer", clip(c.ID))
	case !utf8.ValidString(c.Name):
		return fieldError("call.name", "%q: use valid UTF-8", clip(c.Name))
	case !utf8.ValidString(c.Arguments):
		return fieldError("call.arguments", "not valid UTF-8: put U+FFFD in its place")
	}
	seen[c.ID] = true
	return nil
}

func (u Usage) validate() *FieldError {
	for _, count := range []struct {
		field string
		n     int64
	}{
		{"input", u.Input},
		{"cache_read", u.CacheRead},
		{"cache_write", u.CacheWrite},
		{"output", u.Output},
		{"reasoning", u.Reasoning},
	} {
		if count.n < 0 {
			return fieldError("usage."+count.field, "%d: use 0 for what isn't known", count.n)
		}
	}
	return nil
}

// validateProvider demands compact JSON, so that encoding leaves it unchanged.
func validateProvider(raw json.RawMessage) *FieldError {
	if len(raw) == 0 {
		return nil
	}
	var compact bytes.Buffer
	switch err := json.Compact(&compact, raw); {
	case err != nil:
		return fieldError("provider", "%v: use JSON", err)
	case !bytes.Equal(compact.Bytes(), raw):
		return fieldError("provider", "white space around tokens: compact it")
	case !utf8.Valid(raw):
		return fieldError("provider", "not valid UTF-8: use JSON, which is")
	case depth(raw) > maxDepth:
		return fieldError("provider", "nested %d deep: at most %d", depth(raw), maxDepth)
	}
	return nil
}

// depth is how deeply raw nests, which is JSON.
func depth(raw []byte) int {
	deepest, level, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// Validate checks a result as whoever ran the call must hand it over: what a
// tool printed is text only if it is valid UTF-8. A result may have no parts.
// The error is a *FieldError for the first field that is wrong.
func (r Result) Validate() error {
	switch {
	case r.Call == "":
		return fieldError("call", "empty: use the id of the call")
	case !utf8.ValidString(r.Call):
		return fieldError("call", "%q: use valid UTF-8", clip(r.Call))
	case !utf8.ValidString(r.Name):
		return fieldError("name", "%q: use valid UTF-8", clip(r.Name))
	}
	if err := validateEach(r.Parts); err != nil {
		return err
	}
	switch r.Code {
	case CodeOK, CodeError, CodeUnknown, CodeArguments, CodeDenied, CodeTimeout,
		CodePanicked, CodeAborted, CodeNotStarted, CodeOutcome:
	default:
		return fieldError("code", "%q: use %q for a failure that has no code of its own", clip(r.Code), CodeError)
	}
	return asError(validateBlob("whole", r.Whole))
}

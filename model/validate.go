package model

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tack-agent/tack/chat"
)

// Validate checks that r can be asked: every call is followed by its results,
// in order, before anything else. The error is a *chat.FieldError for the
// first field that is wrong.
func (r *Request) Validate() error {
	if r.Model == "" {
		return wrong("model", "empty")
	}
	if err := within("parameters", r.Parameters.Validate()); err != nil {
		return err
	}
	if err := validateTools(r.Tools); err != nil {
		return err
	}
	if r.Format != nil && !json.Valid(r.Format) {
		return wrong("format", "not JSON")
	}
	return validateItems(r.Items)
}

func validateTools(tools []Tool) error {
	seen := make(map[string]bool, len(tools))
	for i, t := range tools {
		at := fmt.Sprintf("tools[%d].", i)
		switch {
		case t.Name == "":
			return wrong(at+"name", "empty")
		case seen[t.Name]:
			return wrong(at+"name", "%q names two tools", t.Name)
		case t.Schema != nil && !json.Valid(t.Schema):
			return wrong(at+"schema", "not JSON")
		}
		seen[t.Name] = true
	}
	return nil
}

func validateItems(items []Item) error {
	if len(items) == 0 {
		return wrong("items", "empty: a request says something")
	}
	var owed []chat.Call // without their results yet
	for i, it := range items {
		at := fmt.Sprintf("items[%d]", i)
		if err := within(at, it.validate()); err != nil {
			return err
		}
		switch {
		case it.Result != nil && (len(owed) == 0 || owed[0].ID != it.Result.Call):
			return wrong(at+".result", "%q is not the call whose result is next", it.Result.Call)
		case it.Result != nil:
			owed = owed[1:]
		case len(owed) > 0:
			return wrong(at, "stands between the call %q and its result", owed[0].ID)
		case it.Answer != nil:
			owed = it.Answer.Calls()
		}
	}
	if len(owed) > 0 {
		return wrong("items", "the call %q has no result", owed[0].ID)
	}
	return nil
}

func (it Item) validate() error {
	switch {
	case it.Message != nil && it.Answer == nil && it.Result == nil:
		return within("message", it.Message.Validate())
	case it.Answer != nil && it.Message == nil && it.Result == nil:
		return within("answer", it.Answer.Validate())
	case it.Result != nil && it.Message == nil && it.Answer == nil:
		return nil
	default:
		return errNotOne
	}
}

var errNotOne = errors.New("not exactly one of message, answer and result is set")

func wrong(field, format string, args ...any) error {
	return &chat.FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// within names the field that an error is about from further outside.
func within(field string, err error) error {
	var inner *chat.FieldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inner):
		return &chat.FieldError{Field: field + "." + inner.Field, Problem: inner.Problem}
	default:
		return &chat.FieldError{Field: field, Problem: err.Error()}
	}
}

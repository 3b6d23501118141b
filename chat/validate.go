package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on the small fields of a message. How big a whole message may be is
// the agent's to say.
const (
	MaxID       = 256      // bytes in a message's id
	MaxName     = 1024     // bytes in a source's or file's name, or a media type
	MaxParts    = 1024     // parts in a message
	MaxMeta     = 64       // entries in Meta
	MaxMetaSize = 16 << 10 // bytes in Meta, keys and values together
)

// FieldError says which field of a value is wrong, and how.
type FieldError struct {
	Field   string // as in JSON: parts[2].media
	Problem string // what is wrong and what would be right
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Validate checks a message as it must be to be accepted. The error is a
// *FieldError for the first field that is wrong.
func (m Message) Validate() error {
	if err := validateID(m.ID); err != nil {
		return err
	}
	if m.Role != RoleUser && m.Role != RoleSystem {
		return fieldError("role", "%q is neither %q nor %q", m.Role, RoleUser, RoleSystem)
	}
	if err := m.Source.validate(); err != nil {
		return err
	}
	if err := ValidateParts(m.Parts); err != nil {
		return err
	}
	return validateMeta(m.Meta)
}

func validateID(id string) error {
	switch {
	case id == "":
		return fieldError("id", "empty")
	case len(id) > MaxID:
		return fieldError("id", "%d bytes, at most %d", len(id), MaxID)
	case !printable(id):
		return fieldError("id", "%q has a character that can't be printed, or a space", id)
	}
	return nil
}

func (s Source) validate() error {
	switch s.Kind {
	case SourceUser:
	case SourcePlugin, SourceAgent, SourceHost:
		if s.Name == "" {
			return fieldError("source.name", "empty, but a source of kind %q has a name", s.Kind)
		}
	default:
		return fieldError("source.kind", "%q is none of %q, %q, %q, %q",
			s.Kind, SourceUser, SourcePlugin, SourceAgent, SourceHost)
	}
	return asError(validateName("source.name", s.Name))
}

// ValidateParts checks the parts of a message: at least one, each whole.
func ValidateParts(parts []Part) error {
	if len(parts) == 0 {
		return fieldError("parts", "empty: a message says something")
	}
	if len(parts) > MaxParts {
		return fieldError("parts", "%d parts, at most %d", len(parts), MaxParts)
	}
	for i, p := range parts {
		if err := p.validate(); err != nil {
			err.Field = fmt.Sprintf("parts[%d].%s", i, err.Field)
			return err
		}
	}
	return nil
}

func (p Part) validate() *FieldError {
	switch p.Kind {
	case PartText:
		return p.validateText()
	case PartImage, PartFile:
		return p.validateBytes()
	default:
		return fieldError("kind", "%q is none of %q, %q, %q", p.Kind, PartText, PartImage, PartFile)
	}
}

func (p Part) validateText() *FieldError {
	switch {
	case p.Text == "":
		return fieldError("text", "empty")
	case !utf8.ValidString(p.Text):
		return fieldError("text", "not valid UTF-8: send bytes as a file part")
	case p.Data != nil || p.Blob != nil || p.Media != "" || p.Name != "":
		return fieldError("kind", "a text part has no data, blob, media or name")
	}
	return nil
}

func (p Part) validateBytes() *FieldError {
	if p.Text != "" {
		return fieldError("text", "set, but the part is of kind %q", p.Kind)
	}
	media, _, err := mime.ParseMediaType(p.Media)
	switch {
	case err != nil || len(p.Media) > MaxName:
		return fieldError("media", "%q is not a media type such as image/png", clip(p.Media))
	case p.Kind == PartImage && !strings.HasPrefix(media, "image/"):
		return fieldError("media", "%q is not a picture's: send it as a file part", media)
	case p.Kind == PartImage && len(p.Data) == 0 && p.Blob == nil:
		return fieldError("data", "empty: a picture has bytes")
	case p.Data != nil && p.Blob != nil:
		return fieldError("blob", "set beside data: one of them holds the bytes")
	case p.Blob != nil && !p.Blob.Valid():
		return fieldError("blob", "%q with %d bytes is not a blob's name", clip(p.Blob.Digest), p.Blob.Size)
	}
	return validateName("name", p.Name)
}

func validateMeta(meta map[string]string) error {
	if len(meta) > MaxMeta {
		return fieldError("meta", "%d entries, at most %d", len(meta), MaxMeta)
	}
	size := 0
	for k, v := range meta {
		if k == "" || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return fieldError("meta", "%q: an empty key, or not valid UTF-8", k)
		}
		size += len(k) + len(v)
	}
	if size > MaxMetaSize {
		return fieldError("meta", "%d bytes, at most %d", size, MaxMetaSize)
	}
	return nil
}

// Validate checks an answer as an adapter must hand it over. The error is a
// *FieldError for the first field that is wrong.
func (a Answer) Validate() error {
	switch a.Finish {
	case FinishStop, FinishCalls, FinishMaxTokens, FinishRefused:
	case "":
		if !a.Interrupted {
			return fieldError("finish", "empty, but the answer was not interrupted")
		}
	default:
		return fieldError("finish", "%q is none that is known", a.Finish)
	}
	seen := map[string]bool{}
	for i, b := range a.Blocks {
		if err := b.validate(seen); err != nil {
			err.Field = fmt.Sprintf("blocks[%d].%s", i, err.Field)
			return err
		}
	}
	if a.Interrupted && len(seen) > 0 {
		return fieldError("blocks", "a call in an interrupted answer")
	}
	return asError(validateProvider(a.Provider))
}

func (b Block) validate(calls map[string]bool) *FieldError {
	switch b.Kind {
	case BlockText, BlockReasoning:
		if b.Call != nil {
			return fieldError("call", "set, but the block is of kind %q", b.Kind)
		}
		if !utf8.ValidString(b.Text) {
			return fieldError("text", "not valid UTF-8")
		}
	case BlockCall:
		if err := b.Call.validate(calls); err != nil {
			return err
		}
	default:
		return fieldError("kind", "%q is none of %q, %q, %q", b.Kind, BlockText, BlockReasoning, BlockCall)
	}
	return validateProvider(b.Provider)
}

func (c *Call) validate(seen map[string]bool) *FieldError {
	switch {
	case c == nil:
		return fieldError("call", "missing")
	case c.ID == "" || !utf8.ValidString(c.ID):
		return fieldError("call.id", "empty, or not valid UTF-8")
	case seen[c.ID]:
		return fieldError("call.id", "%q names two calls of the answer", clip(c.ID))
	case !utf8.ValidString(c.Name):
		return fieldError("call.name", "not valid UTF-8")
	case !utf8.ValidString(c.Arguments):
		return fieldError("call.arguments", "not valid UTF-8")
	}
	seen[c.ID] = true
	return nil
}

// validateProvider demands compact JSON, so that encoding leaves it unchanged.
func validateProvider(raw json.RawMessage) *FieldError {
	if raw == nil {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return fieldError("provider", "not JSON: %v", err)
	}
	if !bytes.Equal(compact.Bytes(), raw) {
		return fieldError("provider", "JSON with white space around its tokens: compact it")
	}
	return nil
}

func validateName(field, name string) *FieldError {
	switch {
	case len(name) > MaxName:
		return fieldError(field, "%d bytes, at most %d", len(name), MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fieldError(field, "%q is not valid UTF-8, or has a control character", clip(name))
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
}

func fieldError(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// asError keeps a nil *FieldError from becoming an error.
func asError(err *FieldError) error {
	if err == nil {
		return nil
	}
	return err
}

// clip keeps a value quoted in an error readable.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

package chat

import (
	"maps"
	"mime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on the small fields of a message. How big a whole message may be is
// the agent's to say.
const (
	MaxID       = 256      // bytes in a message's id
	MaxName     = 1024     // bytes in a source's, file's or model's name, or a media type
	MaxParts    = 1024     // parts in a message or a result
	MaxMeta     = 64       // entries in Meta
	MaxMetaSize = 16 << 10 // bytes in Meta, keys and values together
)

// Validate checks a message as it must be to be accepted, its id included: who
// mints one does so first. The error is a *FieldError for the first field that
// is wrong.
func (m Message) Validate() error {
	if err := validateID(m.ID); err != nil {
		return err
	}
	if m.Role != RoleUser && m.Role != RoleSystem {
		return fieldError("role", "%q: use %q or %q", clip(m.Role), RoleUser, RoleSystem)
	}
	if err := m.Source.validate(); err != nil {
		return err
	}
	if err := ValidateParts(m.Parts); err != nil {
		return err
	}
	return asError(validateMeta(m.Meta))
}

func validateID(id string) *FieldError {
	switch {
	case id == "":
		return fieldError("id", "empty: give the message an id of its own")
	case len(id) > MaxID:
		return fieldError("id", "%d bytes: at most %d", len(id), MaxID)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unprintable):
		return fieldError("id", "%q: use characters that can be printed, and no spaces", clip(id))
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }

func (s Source) validate() *FieldError {
	switch s.Kind {
	case SourceUser:
	case SourcePlugin, SourceAgent, SourceHost:
		if s.Name == "" {
			return fieldError("source.name", "empty: a source of kind %q has a name", s.Kind)
		}
	default:
		return fieldError("source.kind", "%q: use %q, %q, %q or %q",
			clip(s.Kind), SourceUser, SourcePlugin, SourceAgent, SourceHost)
	}
	return validateName("source.name", s.Name)
}

// ValidateParts checks the parts of a message: at least one, each whole. The
// error is a *FieldError for the first field that is wrong.
func ValidateParts(parts []Part) error {
	if len(parts) == 0 {
		return fieldError("parts", "empty: a message has at least one part")
	}
	return asError(validateEach(parts))
}

func validateEach(parts []Part) *FieldError {
	if len(parts) > MaxParts {
		return fieldError("parts", "%d parts: at most %d", len(parts), MaxParts)
	}
	for i, p := range parts {
		if err := p.validate(); err != nil {
			return err.within("parts", i)
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
		return fieldError("kind", "%q: use %q, %q or %q", clip(p.Kind), PartText, PartImage, PartFile)
	}
}

func (p Part) validateText() *FieldError {
	switch {
	case p.Text == "":
		return fieldError("text", "empty: leave the part out")
	case !utf8.ValidString(p.Text):
		return fieldError("text", "not valid UTF-8: send bytes as a file part")
	case p.Media != "":
		return fieldError("media", notText)
	case p.Name != "":
		return fieldError("name", notText)
	case len(p.Data) > 0:
		return fieldError("data", notText)
	case p.Blob != nil:
		return fieldError("blob", notText)
	}
	return nil
}

const notText = "set on a text part: leave it out, or make it a file part"

func (p Part) validateBytes() *FieldError {
	if p.Text != "" {
		return fieldError("text", "set on a part of kind %q: send it as a text part", p.Kind)
	}
	if err := p.validateMedia(); err != nil {
		return err
	}
	if err := validateName("name", p.Name); err != nil {
		return err
	}
	switch {
	case p.Blob != nil && len(p.Data) > 0:
		return fieldError("blob", "set beside data: keep one of them")
	case p.Kind == PartImage && len(p.Data) == 0 && (p.Blob == nil || p.Blob.Size == 0):
		return fieldError("data", "empty: a picture has bytes, in data or as a blob")
	}
	return validateBlob("blob", p.Blob)
}

func validateBlob(field string, b *Blob) *FieldError {
	if b == nil || b.Valid() {
		return nil
	}
	return fieldError(field, "%q of %d bytes: name it as BlobOf does", clip(b.Digest), b.Size)
}

// validateMedia demands a type that can be compared as it stands, up to the
// first semicolon.
func (p Part) validateMedia() *FieldError {
	if err := validateName("media", p.Media); err != nil {
		return err
	}
	written, _, _ := strings.Cut(p.Media, ";")
	media, _, err := mime.ParseMediaType(p.Media)
	switch {
	case err != nil || !strings.Contains(media, "/") || strings.Contains(media, "*"):
		return fieldError("media", "%q: use a media type such as image/png", clip(p.Media))
	case written != media:
		return fieldError("media", "%q: write it as %q", clip(written), clip(media))
	case p.Kind == PartImage && !strings.HasPrefix(media, "image/"):
		return fieldError("media", "%q is not a picture's: send it as a file part", clip(media))
	}
	return nil
}

func validateMeta(meta map[string]string) *FieldError {
	if len(meta) > MaxMeta {
		return fieldError("meta", "%d entries: at most %d", len(meta), MaxMeta)
	}
	size := 0
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		switch v := meta[k]; {
		case k == "":
			return fieldError("meta", "an entry without a key: name it")
		case !utf8.ValidString(k) || !utf8.ValidString(v):
			return fieldError("meta", "the entry %q: use valid UTF-8", clip(k))
		default:
			size += len(k) + len(v)
		}
	}
	if size > MaxMetaSize {
		return fieldError("meta", "%d bytes: at most %d", size, MaxMetaSize)
	}
	return nil
}

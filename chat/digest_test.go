package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tack-agent/tack/chat"
)

// told is a message with one of everything that a digest sees.
func told() chat.Message {
	return chat.Message{
		ID: "m1", Role: chat.RoleUser, Source: chat.Plugin("clock"),
		Parts: []chat.Part{
			chat.Text("look at <this> & that, naïve"),
			chat.Image("image/png", []byte("\x89PNG")),
			chat.File("notes.txt", "text/plain", []byte("notes")),
		},
		Meta: map[string]string{"from": "editor"},
	}
}

// The digest is in logs and decides for ever what is a replay. If it has to
// change, so must digestDomain and the version of the facts that hold it.
func TestTheDigestOfAMessageIsTheSameForEver(t *testing.T) {
	for _, c := range []struct {
		name string
		m    chat.Message
		want string
	}{
		{"text", chat.Say("hello"), "7bbeb7d73c6df3aeb18c33af19b1d5022f3c12f5ff94f318ba7693d58377154d"},
		{"one of everything", told(), "bfeb5a2fc9ff7c06f88bcc4e17929bc8801bfad56eb83909df93d5558502b630"},
		{"a file without bytes", chat.Message{
			Role: chat.RoleSystem, Source: chat.Host("editor"), Parts: []chat.Part{chat.File("", "text/plain", nil)},
		}, "96c919cca9a7e9f04403b7cd8dcfbf3d0e60a642e76cecde40d92491d864fabe"},
	} {
		if got := c.m.Digest().String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheDigestIgnoresIDAndMeta(t *testing.T) {
	m := told()
	m.ID, m.Meta = "m2", map[string]string{"other": "meta"}
	if m.Digest() != told().Digest() {
		t.Error("got another digest, want the same: id and Meta are not what a message says")
	}
}

func TestTheDigestIsTheSameForBytesInlineAndAsABlob(t *testing.T) {
	for _, data := range [][]byte{[]byte("notes"), {}, nil} {
		inline := chat.Message{Parts: []chat.Part{chat.File("n", "text/plain", data)}}
		blob := chat.BlobOf(data)
		kept := inline.Clone()
		kept.Parts[0].Data, kept.Parts[0].Blob = nil, &blob
		if inline.Digest() != kept.Digest() {
			t.Errorf("%q: got %s inline and %s as a blob, want the same", data, inline.Digest(), kept.Digest())
		}
	}
}

func TestTheDigestTellsApartWhatIsSaid(t *testing.T) {
	parts := func(p ...chat.Part) chat.Message { return chat.Message{Parts: p} }
	change := func(change func(*chat.Message)) chat.Message {
		m := told()
		change(&m)
		return m
	}
	variants := map[string]chat.Message{
		"as told":     told(),
		"role":        change(func(m *chat.Message) { m.Role = chat.RoleSystem }),
		"source kind": change(func(m *chat.Message) { m.Source.Kind = chat.SourceAgent }),
		"source name": change(func(m *chat.Message) { m.Source.Name = "cloc" }),
		"order":       change(func(m *chat.Message) { m.Parts[0], m.Parts[1] = m.Parts[1], m.Parts[0] }),
		"one less":    change(func(m *chat.Message) { m.Parts = m.Parts[:2] }),
		"one twice":   change(func(m *chat.Message) { m.Parts = append(m.Parts, m.Parts[2]) }),
		"part kind":   change(func(m *chat.Message) { m.Parts[1].Kind = chat.PartFile }),
		"text":        change(func(m *chat.Message) { m.Parts[0].Text += " " }),
		"media":       change(func(m *chat.Message) { m.Parts[2].Media = "text/html" }),
		"name":        change(func(m *chat.Message) { m.Parts[2].Name = "notes" }),
		"data":        change(func(m *chat.Message) { m.Parts[2].Data = []byte("note") }),
		"no data":     change(func(m *chat.Message) { m.Parts[2].Data = nil }),

		"nothing":             {},
		"one of two":          parts(chat.Text("abc")),
		"cut after b":         parts(chat.Text("ab"), chat.Text("c")),
		"cut after a":         parts(chat.Text("a"), chat.Text("bc")),
		"cut before a":        parts(chat.Text(""), chat.Text("abc")),
		"media runs to name":  parts(chat.File("b", "a", nil)),
		"media takes it all":  parts(chat.File("", "ab", nil)),
		"name takes it all":   parts(chat.File("ab", "", nil)),
		"kind runs to source": {Role: "user", Source: chat.Source{Kind: "plugin", Name: "x"}},
		"kind takes it all":   {Role: "userplugin", Source: chat.Source{Name: "x"}},
	}
	seen := map[chat.Digest]string{}
	for name, m := range variants {
		if other, found := seen[m.Digest()]; found {
			t.Errorf("%q and %q: got the same digest, want two", name, other)
		}
		seen[m.Digest()] = name
	}
}

func TestTheDigestSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := messages.Draw(t, "message")
		if got := decoded[chat.Message](t, encoded(t, m)); got.Digest() != m.Digest() {
			t.Errorf("got %s, want %s: a replay read back must not look like a conflict", got.Digest(), m.Digest())
		}
	})
}

func TestADigestIsHexadecimalInJSON(t *testing.T) {
	d := told().Digest()
	text, err := json.Marshal(d)
	if want := `"` + d.String() + `"`; err != nil || string(text) != want {
		t.Fatalf("got %s, %v, want %s", text, err, want)
	}
	var back chat.Digest
	if err := json.Unmarshal(text, &back); err != nil || back != d {
		t.Errorf("got %s, %v, want %s", back, err, d)
	}
}

func TestADigestOfAnotherShapeIsRefused(t *testing.T) {
	whole := told().Digest().String()
	for _, text := range []string{"", whole[:63], whole + "0", whole + "00", "sha256:" + whole, strings.Repeat("g", 64)} {
		var d chat.Digest
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got no error, want one", text)
		}
	}
}

func TestABlobIsNamedByItsBytes(t *testing.T) {
	got := chat.BlobOf([]byte("hello"))
	want := chat.Blob{Digest: "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", Size: 5}
	if got != want || !got.Valid() {
		t.Errorf("got %+v, valid %t, want %+v", got, got.Valid(), want)
	}
}

func TestABlobOfAnotherFormIsNotValid(t *testing.T) {
	good := chat.BlobOf([]byte("hello"))
	digits := strings.TrimPrefix(good.Digest, "sha256:")
	for name, b := range map[string]chat.Blob{
		"zero":            {},
		"no scheme":       {Digest: digits},
		"another scheme":  {Digest: "sha512:" + digits},
		"scheme twice":    {Digest: "sha256:" + good.Digest},
		"upper case":      {Digest: "sha256:" + strings.ToUpper(digits)},
		"a digit short":   {Digest: good.Digest[:len(good.Digest)-1]},
		"a digit more":    {Digest: good.Digest + "0"},
		"no hexadecimal":  {Digest: "sha256:" + digits[:10] + "g" + digits[11:]},
		"a path":          {Digest: "sha256:" + digits[:10] + "/../" + digits[14:]},
		"a negative size": {Digest: good.Digest, Size: -1},
		"an absurd size":  {Digest: good.Digest, Size: 1 << 62},
	} {
		if b.Valid() {
			t.Errorf("%s: got valid, want not: %+v", name, b)
		}
	}
}

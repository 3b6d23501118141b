package house

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	notes     = "docs/decisions"
	noteLines = 40
)

var (
	noteName     = regexp.MustCompile(`^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md$`)
	noteHeadings = []string{"## Context", "## Choice", "## Given up"}
)

// decisionsAreNoted: decision notes are numbered without gaps, short, and all of one shape.
func decisionsAreNoted(t *tree) []finding {
	entries, _ := fs.ReadDir(t.fsys, notes) // no folder, no notes
	var found []finding
	next := 1
	for _, entry := range entries {
		where := path.Join(notes, entry.Name())
		match := noteName.FindStringSubmatch(entry.Name())
		if match == nil {
			found = append(found, finding{where, "not named like a decision note", "name it NNNN-title.md, lower case, words joined by hyphens"})
			continue
		}
		if want := fmt.Sprintf("%04d", next); match[1] != want {
			found = append(found, finding{where, "its number should be " + want, "number the notes from 0001 without gaps or twins"})
		}
		next++
		found = append(found, judgeNote(t, where)...)
	}
	return found
}

func judgeNote(t *tree, where string) []finding {
	text, err := fs.ReadFile(t.fsys, where)
	if err != nil {
		return []finding{{where, err.Error(), "make it a file that can be read"}}
	}
	var found []finding
	if n := bytes.Count(text, []byte("\n")); n > noteLines {
		found = append(found, finding{where, fmt.Sprintf("%d lines", n), fmt.Sprintf("say it in %d; a note records a choice, the code shows how", noteLines)})
	}
	var headings []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "## ") {
			headings = append(headings, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(headings, noteHeadings) {
		found = append(found, finding{
			where, "its headings are " + strings.Join(headings, ", "),
			"use these, in this order: " + strings.Join(noteHeadings, ", "),
		})
	}
	return found
}

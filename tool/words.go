package tool

import (
	"strings"
	"unicode/utf8"
)

// clip keeps a text that quotes others readable.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:runeStart(s, most)] + "…"
}

// tail is the last of a text, for saying where something is wrong.
func tail(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return "…" + s[runeEnd(s, len(s)-most):]
}

// runeStart is the last place at or before i where a character begins.
func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// runeEnd is the first place at or after i where a character begins, or the end.
func runeEnd(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}

// nearest is a hint at the known name that looks like the given one.
func nearest(name string, known []string) string {
	best, least := "", len(name)/3+1
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= least && (best == "" || d < least) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean \"" + best + "\"?"
}

// distance is how many bytes must be put in, taken out or changed to make b of
// a. Beyond 64 bytes nobody looks for a likeness.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var row [65]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}

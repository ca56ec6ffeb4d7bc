package gitmerge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"piworkflows/internal/ansi"
)

// maxText bounds one stream of a check and one error text, in characters. Two
// of them fit into the message of a condition together with what is said around
// them.
const maxText = 1500

// tail cleans a text for people and keeps its last limit characters, where the
// reason of a failure stands, from the beginning of a line if one is near.
func tail(text string, limit int) string {
	text = strings.TrimSpace(plain(text))
	over := utf8.RuneCountInString(text) - limit
	if over <= 0 {
		return text
	}
	runes := []rune(text)[over:]
	kept := string(runes)
	if line := strings.IndexByte(kept, '\n'); line >= 0 && line < len(kept)/2 {
		kept = kept[line+1:]
	}
	return "…\n" + kept
}

// plain removes what a terminal would obey.
func plain(text string) string {
	text = ansi.Strip(strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// joined puts the ends of both streams of a command one below the other.
func joined(stdout, stderr string) string {
	return strings.TrimSpace(tail(stdout, maxText) + "\n" + tail(stderr, maxText))
}

// paragraphs joins texts that are not empty.
func paragraphs(texts ...string) string {
	joined := ""
	for _, text := range texts {
		if joined != "" && text != "" {
			joined += "\n"
		}
		joined += text
	}
	return joined
}

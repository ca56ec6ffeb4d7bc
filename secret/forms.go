package secret

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"piworkflows/internal/canonical"
)

// shortest is the number of bytes from which on the beginning of a form counts as
// the form: texts are cut, and half a secret is too much.
const shortest = 16

// forms are the texts in which a value turns up: as it is, its longer lines by
// themselves, in base64, in a URL, and each of these within a JSON text.
func forms(value string) []string {
	list := []string{value}
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= shortest && !strings.HasPrefix(line, "-----") {
				list = append(list, line)
			}
		}
	}
	for _, plain := range list {
		list = append(list, inURL(plain)...)
		list = append(list, inBase64(plain)...)
	}
	for _, text := range list {
		list = append(list, inJSON(text)...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(form string) bool { return len(form) < MinBytes })
}

func inURL(value string) []string {
	query := url.QueryEscape(value)
	list := []string{query, url.PathEscape(value), url.UserPassword("", value).String()[1:], strings.ReplaceAll(query, "+", "%20")}
	for _, text := range list {
		list = append(list, lowerEscapes(text))
	}
	return list
}

// lowerEscapes writes the digits of escapes as some programs do.
func lowerEscapes(text string) string {
	parts := strings.Split(text, "%")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToLower(parts[i][:2]) + parts[i][2:]
	}
	return strings.Join(parts, "%")
}

// inBase64 returns what every encoding of a text has that contains the value, for
// the three places in which it can begin: a token is often encoded with a user's
// name before it.
func inBase64(value string) []string {
	var list []string
	for before := range 3 {
		text := strings.Repeat("\x00", before) + value
		// The first characters depend on what stands before, the last one may depend
		// on what follows.
		skipped, certain := (before*8+5)/6, len(text)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(text))
			list = append(list, encoded[skipped:], encoded[skipped:certain])
		}
	}
	return list
}

// inJSON returns a text as it stands within a string of JSON, and within one of a
// JSON text that is a string itself: as we write it, and as programs do that
// escape what means something in HTML.
func inJSON(text string) []string {
	once := escaped(text)
	return append(append(once, escaped(once[0])...), escaped(once[1])...)
}

var escapeHTML = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

func escaped(text string) []string {
	quoted, err := canonical.Marshal(strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil || len(quoted) < 2 {
		return []string{text, text} // never, as it is text
	}
	ours := string(quoted[1 : len(quoted)-1])
	html := escapeHTML.Replace(ours)
	return []string{ours, html, strings.ReplaceAll(ours, "/", `\/`), strings.ReplaceAll(html, "/", `\/`)}
}

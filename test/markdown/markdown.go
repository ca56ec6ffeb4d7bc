// Package markdown finds the code in our documents, so that tests can run it.
package markdown

import (
	"errors"
	"fmt"
	"strings"
)

// Fence is one fenced code block.
type Fence struct {
	// Info is what stands behind the opening fence, e.g. "console".
	Info string
	// Line is the number of the first line of code, from 1.
	Line int
	// Code are its lines, without the indentation of the opening fence.
	Code []string
}

// What a document can get wrong.
var (
	// ErrOpenFence says that a fence is never closed.
	ErrOpenFence = errors.New("code block is never closed")
	// ErrNoMark says that the markers around a block are missing or occur twice.
	ErrNoMark = errors.New("block must stand once between its markers")
)

// Fences returns the code blocks of a document in order. A fence is a line of
// three or more backticks; it ends at the next line with as many.
func Fences(document string) ([]Fence, error) {
	var fences []Fence
	lines := strings.Split(document, "\n")
	for i := 0; i < len(lines); i++ {
		ticks, indent := opening(lines[i])
		if ticks == "" {
			continue
		}
		f := Fence{Info: strings.TrimSpace(lines[i][len(indent)+len(ticks):]), Line: i + 2}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ticks; i++ {
			f.Code = append(f.Code, strings.TrimPrefix(lines[i], indent))
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: %w", f.Line-1, ErrOpenFence)
		}
		fences = append(fences, f)
	}
	return fences, nil
}

// Marked returns the code of the one block between <!-- group:name --> and the
// next <!-- /group -->.
func Marked(document, group, name string) (string, error) {
	start, end := "<!-- "+group+":"+name+" -->", "<!-- /"+group+" -->"
	_, rest, found := strings.Cut(document, start)
	inside, _, closed := strings.Cut(rest, end)
	if !found || !closed || strings.Contains(rest, start) {
		return "", fmt.Errorf("%s … %s: %w", start, end, ErrNoMark)
	}
	fences, err := Fences(inside)
	if err != nil {
		return "", fmt.Errorf("after %s: %w", start, err)
	}
	if len(fences) != 1 {
		return "", fmt.Errorf("%s holds %d code blocks: %w", start, len(fences), ErrNoMark)
	}
	return strings.Join(fences[0].Code, "\n") + "\n", nil
}

// opening returns the backticks and the indentation of a line that opens a
// fence; no backticks if it does not.
func opening(line string) (ticks, indent string) {
	text := strings.TrimLeft(line, " \t")
	count := len(text) - len(strings.TrimLeft(text, "`"))
	if count < 3 || strings.Contains(text[count:], "`") {
		return "", ""
	}
	return text[:count], line[:len(line)-len(text)]
}

package runbundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sort"

	"piworkflows/internal/durable"
)

const (
	// stepsInMemory is how many bytes of text stay in memory until they go to the
	// disk with one write.
	stepsInMemory = 64 << 10
	// stepsPerMark is how many bytes of text lie between two places in it that
	// are known: what is read, in one piece, to find a step.
	stepsPerMark = 16 << 10
)

// How steps stand in state.json. No value can contain the lines between them:
// it would be indented further.
const (
	stepBetween = ",\n"
	stepEnd     = "\n" + stepMargin + "}"
)

// stepLog is the text of the finished steps as state.json has it, in encoded
// form. It only grows, and but for its end it lies in a scratch file, so that
// the memory of a run does not grow with its steps.
type stepLog struct {
	fs    *durable.FS
	path  string // of the scratch file, to the hook
	count int
	size  int64
	marks []mark
	file  *durable.Scratch // nil until the end of the text was too long
	tail  []byte           // what is not in the file
	block block
}

// mark says where a step begins.
type mark struct {
	step   int
	offset int64
}

// block is a piece of the file that was read for one step and serves the steps
// beside it, which are the likely next ones.
type block struct {
	offset int64
	text   []byte
}

// append adds a step in encoded form.
func (l *stepLog) append(s Step) error {
	tail := l.tail
	if l.count > 0 {
		tail = append(tail, stepBetween...)
	}
	begin := l.size + int64(len(tail)-len(l.tail))
	tail, err := appendStep(tail, s)
	if err != nil {
		return fmt.Errorf("step of node %s: %w", s.NodeID, err)
	}
	if len(l.marks) == 0 || begin-l.marks[len(l.marks)-1].offset >= stepsPerMark {
		l.marks = append(l.marks, mark{l.count, begin})
	}
	l.size += int64(len(tail) - len(l.tail))
	l.tail = tail
	l.count++
	if len(l.tail) >= stepsInMemory {
		l.spill()
	}
	return nil
}

// spill moves the end of the text to the file. If it cannot it stays in memory
// until the next time: a run does not end for want of a scratch file.
func (l *stepLog) spill() {
	if l.file == nil {
		file, err := l.fs.Scratch(l.path)
		if err != nil {
			return
		}
		l.file = file
	}
	if l.file.Append(l.tail) != nil {
		return
	}
	if l.tail = l.tail[:0]; cap(l.tail) > 2*stepsInMemory {
		l.tail = nil // a long output made it large
	}
}

// spilled returns how many bytes were written to the file.
func (l *stepLog) spilled() int64 { return l.size - int64(len(l.tail)) }

// writeTo writes the whole text.
func (l *stepLog) writeTo(w io.Writer) error {
	if l.file != nil {
		if _, err := io.Copy(w, io.NewSectionReader(l.file, 0, l.file.Size())); err != nil {
			return fmt.Errorf("copy the steps: %w", err)
		}
	}
	_, err := w.Write(l.tail)
	return err //nolint:wrapcheck // the writer's error says enough
}

// step returns a step in encoded form.
func (l *stepLog) step(i int) (Step, error) {
	if i < 0 || i >= l.count {
		return Step{}, fmt.Errorf("there is no step %d of %d", i, l.count)
	}
	m := sort.Search(len(l.marks), func(m int) bool { return l.marks[m].step > i }) - 1
	end := l.size
	if m+1 < len(l.marks) {
		end = l.marks[m+1].offset
	}
	text, err := l.text(l.marks[m].offset, end)
	if err != nil {
		return Step{}, fmt.Errorf("read step %d back: %w", i, err)
	}
	for range i - l.marks[m].step {
		_, text, _ = bytes.Cut(text, []byte(stepEnd+stepBetween))
	}
	text, _, _ = bytes.Cut(text, []byte(stepEnd+stepBetween))
	var s Step
	if err := json.Unmarshal(closed(text), &s); err != nil {
		return s, fmt.Errorf("read step %d back: %w", i, err)
	}
	s.normalise()
	return s, nil
}

// closed returns the text of one step, whose end was cut off unless it is the
// last one.
func closed(text []byte) []byte {
	if bytes.HasSuffix(text, []byte(stepEnd)) {
		return text
	}
	return append(bytes.Clone(text), stepEnd...)
}

// text returns a piece of the text.
func (l *stepLog) text(from, to int64) ([]byte, error) {
	inFile := l.spilled()
	if from >= inFile {
		return l.tail[from-inFile : to-inFile], nil
	}
	if l.block.offset == from && int64(len(l.block.text)) == to-from {
		return l.block.text, nil
	}
	text := make([]byte, to-from)
	n, err := l.file.ReadAt(text[:min(to, inFile)-from], from)
	if err != nil {
		return nil, err
	}
	copy(text[n:], l.tail[:max(to-inFile, 0)])
	l.block = block{from, text}
	return text, nil
}

func (l *stepLog) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

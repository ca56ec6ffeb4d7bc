package procgroup

import (
	"os"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	readSize = 32 << 10
	// maxDrained is how much may still be in a pipe when its group has ended:
	// the largest pipe that Linux gives without privilege. More than that comes
	// from a process that escaped.
	maxDrained    = 1 << 20
	byteOrderMark = '\uFEFF'
)

// output is what both streams of a command share.
type output struct {
	mu       sync.Mutex
	listener func(stream string, chunk []byte)
	ended    <-chan struct{} // the group has ended
}

func (o *output) tell(stream string, chunk []byte) {
	if o.listener == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listener(stream, chunk)
}

// stream reads one output of a command to its end.
type stream struct {
	name    string
	pipe    *os.File
	output  *output
	decoder decoder
}

func newStream(name string, pipe *os.File, output *output, limit int) *stream {
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	return &stream{name: name, pipe: pipe, output: output, decoder: decoder{left: limit}}
}

// read returns when the stream is closed by all who could write to it, or when
// the group has ended and it stays silent.
func (s *stream) read() {
	defer s.pipe.Close()
	buffer := make([]byte, readSize)
	for left := maxDrained; left > 0; {
		n, err := s.pipe.Read(buffer)
		if n > 0 {
			s.output.tell(s.name, buffer[:n])
			s.decoder.write(buffer[:n])
		}
		if err != nil {
			return
		}
		if closed(s.output.ended) {
			left -= n
			s.expectEnd() // anew, because the listener may be slow
		}
	}
}

// expectEnd makes read return after some silence.
func (s *stream) expectEnd() {
	_ = s.pipe.SetReadDeadline(now().Add(drainWait)) // fails if read has returned
}

// text returns what was kept. Only after read has returned.
func (s *stream) text() (text string, truncated bool) {
	return s.decoder.finish(), s.decoder.truncated
}

// decoder turns bytes that come in chunks into a limited number of characters.
type decoder struct {
	kept      strings.Builder
	left      int // characters
	rest      []byte
	begun     bool
	truncated bool
}

func (d *decoder) write(chunk []byte) {
	if d.truncated {
		return
	}
	if len(d.rest) > 0 {
		chunk = append(d.rest, chunk...)
		d.rest = nil
	}
	for len(chunk) > 0 && !d.truncated {
		if !utf8.FullRune(chunk) {
			d.rest = append(d.rest, chunk...)
			return
		}
		char, size := utf8.DecodeRune(chunk)
		chunk = chunk[size:]
		d.add(char)
	}
}

func (d *decoder) add(char rune) {
	first := !d.begun
	d.begun = true
	switch {
	case first && char == byteOrderMark:
	case d.left == 0:
		d.truncated = true
	default:
		d.left--
		d.kept.WriteRune(char)
	}
}

// finish decodes what is left of a character that never became whole, and
// returns the text with the marker if it was truncated.
func (d *decoder) finish() string {
	for range d.rest {
		if !d.truncated {
			d.add(utf8.RuneError)
		}
	}
	d.rest = nil
	if d.truncated {
		return d.kept.String() + TruncationMarker
	}
	return d.kept.String()
}

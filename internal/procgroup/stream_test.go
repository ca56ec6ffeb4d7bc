package procgroup

import (
	"strings"
	"testing"
)

func TestDecoder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, bytes, want string
		limit             int
		truncated         bool
	}{
		{"empty", "", "", 5, false},
		{"characters, not bytes, count", "é€😀", "é€😀", 3, false},
		{"one too many", "é€😀x", "é€😀" + TruncationMarker, 3, true},
		{"far too many", strings.Repeat("ab", 1000), "aba" + TruncationMarker, 3, true},
		{"byte order mark", "\ufeffab", "ab", 2, false},
		{"only the first byte order mark", "\ufeff\ufeffa", "\ufeffa", 2, false},
		{"byte order mark inside", "a\ufeff", "a\ufeff", 2, false},
		{"invalid bytes", "a\xff\xc3(\xed\xa0\x80", "a\ufffd\ufffd(\ufffd\ufffd\ufffd", 9, false},
		{"unfinished character", "a\xf0\x9f\x98", "a\ufffd\ufffd\ufffd", 9, false},
		{"unfinished character at the limit", "a\xf0\x9f", "a\ufffd" + TruncationMarker, 2, true},
		{"genuine marker text", "a" + TruncationMarker, "a" + TruncationMarker, 100, false},
		{"genuine marker text, then more", TruncationMarker + "a", TruncationMarker + "a", 100, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(test.bytes)+1; size++ {
				d := decoder{left: test.limit}
				for _, chunk := range chunks(test.bytes, size) {
					d.write([]byte(chunk))
				}
				if got := d.finish(); got != test.want || d.truncated != test.truncated {
					t.Errorf("in chunks of %d: %q, truncated %v; want %q", size, got, d.truncated, test.want)
				}
			}
		})
	}
}

// A chunk belongs to the reader, which uses its memory again.
func TestDecoderKeepsNoChunk(t *testing.T) {
	t.Parallel()
	d := decoder{left: 10}
	chunk := []byte("a\xe2\x82")
	d.write(chunk)
	copy(chunk, "xyz")
	d.write([]byte("\xac"))
	if got := d.finish(); got != "a€" {
		t.Errorf("decoded %q, want a€", got)
	}
}

func chunks(text string, size int) (parts []string) {
	for len(text) > size {
		parts = append(parts, text[:size])
		text = text[size:]
	}
	return append(parts, text)
}

package secret

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask stands where a secret was.
const Mask = "[redacted]"

// maxKnown bounds the values that are known: the one that was added the longest
// ago gives way. One that is renewed each hour is known for ten days.
const maxKnown = 256

// process is the redactor of this process.
var process redactor

// redactor replaces the secrets that it knows; the zero one knows none. It is safe
// for concurrent use, and nearly free as long as it knows none.
type redactor struct {
	mu     sync.Mutex
	values []value // in the order in which they came
	known  atomic.Pointer[needles]
}

// value is a secret with its forms.
type value struct {
	plain string
	forms []string
}

// add makes a value known.
func (r *redactor) add(plain string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.values, func(v value) bool { return v.plain == plain }) {
		return
	}
	r.values = append(r.values, value{plain, forms(plain)})
	if len(r.values) > maxKnown {
		r.values = slices.Clone(r.values[1:])
	}
	r.known.Store(newNeedles(r.values))
}

// text returns a text with each secret masked.
func (r *redactor) text(s string) string {
	n := r.known.Load()
	if n == nil {
		return s
	}
	start, end := n.find(s, 0)
	if start < 0 {
		return s
	}
	var out strings.Builder
	from := 0
	for start >= 0 {
		out.WriteString(s[from:start])
		out.WriteString(Mask)
		from = end
		start, end = n.find(s, from)
	}
	out.WriteString(s[from:])
	return out.String()
}

// begun returns how many bytes at the end of a text may be the beginning of a
// secret that goes on after it.
func (r *redactor) begun(s string) int {
	n := r.known.Load()
	if n == nil {
		return 0
	}
	for start := max(0, len(s)-n.longest+1); start < len(s); start++ {
		for _, needle := range n.byFirst[s[start]] {
			if len(needle) > len(s)-start && needle[:len(s)-start] == s[start:] {
				return len(s) - start
			}
		}
	}
	return 0
}

// needles are all forms of all values, by their first byte.
type needles struct {
	byFirst [256][]string
	longest int
}

func newNeedles(values []value) *needles {
	n := &needles{}
	for _, v := range values {
		for _, form := range v.forms {
			n.longest = max(n.longest, len(form))
			n.byFirst[form[0]] = append(n.byFirst[form[0]], form)
		}
	}
	return n
}

// find returns the first place, from an offset on, where a form begins, and where
// it, or as much of it as there is, ends; -1 if there is none.
func (n *needles) find(s string, from int) (start, end int) {
	for start = from; start < len(s); start++ {
		for _, needle := range n.byFirst[s[start]] {
			if length := common(s[start:], needle); length >= min(len(needle), shortest) {
				end = max(end, start+length)
			}
		}
		if end > 0 {
			return start, end
		}
	}
	return -1, -1
}

// common returns the length of the beginning that two texts share.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

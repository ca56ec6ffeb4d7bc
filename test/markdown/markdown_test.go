package markdown_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/test/markdown"
)

const document = `# Title
~~~console
$ ls
file
~~~
text with ~~~ inside a line
* item

  ~~~~go
  func f() {
  ~~~
  }
  ~~~~
~~~
plain
~~~
`

// md writes a document with ~ for each backtick.
func md(text string) string { return strings.ReplaceAll(text, "~", "`") }

func TestFences(t *testing.T) {
	t.Parallel()
	got, err := markdown.Fences(md(document))
	if err != nil {
		t.Fatal(err)
	}
	want := []markdown.Fence{
		{Info: "console", Line: 3, Code: []string{"$ ls", "file"}},
		{Info: "go", Line: 10, Code: []string{"func f() {", "```", "}"}},
		{Info: "", Line: 15, Code: []string{"plain"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFencesRefusesAnOpenFence(t *testing.T) {
	t.Parallel()
	_, err := markdown.Fences(md("text\n~~~go\nfunc\n"))
	if !errors.Is(err, markdown.ErrOpenFence) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	got, err := markdown.Marked(md("~~~go\nother\n~~~\n<!-- lib:a.go -->\nwords\n~~~go\none\n\ntwo\n~~~\n<!-- /lib -->\n"), "lib", "a.go")
	if err != nil || got != "one\n\ntwo\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestMarkedRefuses(t *testing.T) {
	t.Parallel()
	const start, end, code = "<!-- lib:a.go -->\n", "<!-- /lib -->\n", "~~~go\none\n~~~\n"
	tests := []struct {
		name, document string
		want           error
	}{
		{"no markers", code, markdown.ErrNoMark},
		{"no end", start + code, markdown.ErrNoMark},
		{"no block", start + end, markdown.ErrNoMark},
		{"two blocks", start + code + code + end, markdown.ErrNoMark},
		{"twice", start + code + end + start + code + end, markdown.ErrNoMark},
		{"open block", start + "~~~go\n" + end, markdown.ErrOpenFence},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := markdown.Marked(md(test.document), "lib", "a.go"); !errors.Is(err, test.want) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

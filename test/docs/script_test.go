package docs

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// md writes a document with ~ for each backtick.
func md(text string) string { return strings.ReplaceAll(text, "~", "`") }

func TestSteps(t *testing.T) {
	t.Parallel()
	document := md(`text
~~~console
$ ls
a
b

$ cat <<END \
  | sort
> one
> END
> is output
one
$ false
$ echo $?
1
~~~
~~~go
price := "$ 5"
~~~
~~~console-norun
$ make test
~~~
~~~console
$ pwd
~~~
~~~go file=main.go
package main

func main() { println("$ 5") }
~~~
`)
	got, err := Steps(document, map[string]string{"make test": "reason"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{Line: 3, Command: "ls", Output: []string{"a", "b", ""}},
		{Line: 7, Command: "cat <<END \\\n  | sort\none\nEND\nis output", Output: []string{"one"}},
		{Line: 13, Command: "false", MayFail: true},
		{Line: 14, Command: "echo $?", Output: []string{"1"}},
		{Line: 24, Command: "pwd"},
		{Line: 27, Command: "cat >main.go <<'END-OF-THE-FILE'\npackage main\n\nfunc main() { println(\"$ 5\") }\nEND-OF-THE-FILE"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOutputMayLookLikeAContinuation(t *testing.T) {
	t.Parallel()
	steps, err := Steps(md("~~~console\n$ cat mail\nHi\n> quoted\n~~~\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Hi", "> quoted"}, steps[0].Output); diff != "" {
		t.Error(diff)
	}
}

func TestStepsRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, document, at string
		want               error
	}{
		{"output first", "~~~console\nls\n~~~\n", "line 2", errNoCommand},
		{"a command in a text block", "~~~text\nSo:\n$ ls\n~~~\n", "line 3", errHidden},
		{"a command in a bare block", "~~~\n$ ls\n~~~\n", "line 2", errHidden},
		{"a block of sh", "~~~sh\nls\n~~~\n", "line 2", errHidden},
		{"a console of another kind", "~~~console-later\n$ ls\n~~~\n", "line 2", errHidden},
		{"norun without a reason", "~~~console-norun\n$ make test\n$ ls\n~~~\n", "line 3", errNotListed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Steps(md(test.document), map[string]string{"make test": "reason"})
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.at+":") {
				t.Errorf("got %v, want %s: %v", err, test.at, test.want)
			}
		})
	}
}

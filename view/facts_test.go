package view

import (
	"encoding/json"
	"strings"
	"testing"

	"piworkflows/internal/golden"
)

func TestFactsAlignTheirValues(t *testing.T) {
	t.Parallel()
	got := Facts([][2]string{
		{"ready", "true"}, {"a longer name", ""}, {"message", "one two three four five\nsix"}, {"id", strings.Repeat("x", 30)},
	}, Style{Width: 24})
	golden.Check(t, "facts.txt", got)
}

func TestBlockFoldsAndIndents(t *testing.T) {
	t.Parallel()
	if got := Block("spec", "", Style{}); got != "" {
		t.Errorf("a block of nothing = %q", got)
	}
	got := Block("spec", Document(json.RawMessage(`{"a":[1,2],"text":"words that are longer than the line"}`)), Style{Width: 30})
	golden.Check(t, "block.txt", got)
}

func TestDocument(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: "", `null`: "", `"text"`: "text", `7`: "7", `{}`: "{}", `{"a":1}`: "{\n  \"a\": 1\n}", `{broken`: "{broken",
		`"\u001b[31mred"`: "red",
	} {
		if got := Document(json.RawMessage(in)); got != want {
			t.Errorf("Document(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestAnEndlessOutputIsCut(t *testing.T) {
	t.Parallel()
	for lines, cut := range map[int]bool{1: false, detailLines: false, detailLines + 1: true, 5 * detailLines: true} {
		output, err := json.Marshal(strings.Repeat("line\n", lines))
		if err != nil {
			t.Fatal(err)
		}
		got := block("output", text(output), detailLines, Style{})
		if strings.Contains(got, "the rest is in -o json") != cut {
			t.Errorf("%d lines: cut is not %v", lines, cut)
		}
		if shown := strings.Count(got, "  line\n"); shown != min(lines, detailLines) {
			t.Errorf("%d lines: %d shown", lines, shown)
		}
	}
}

package main

import (
	"strings"
	"testing"

	"piworkflows/examples/internal/try"
)

const (
	about  = `{"about":"the new cache"}`
	result = "{\n  \"text\": \"Answers are kept: asking twice is quick.\"\n}\n"
)

func TestTheScriptIsToldToShortenFurther(t *testing.T) {
	t.Parallel()
	p := try.New(t, program())
	if got := p.Run("run", "note", "--input", about, "--agent", "script:answers.json"); got != result {
		t.Errorf("printed %q, want %q", got, result)
	}
}

func TestAPersonWritesTheNote(t *testing.T) {
	t.Parallel()
	answers := strings.Join([]string{
		"It is about the cache.",
		`{"text": "Answers are now kept in memory and on disk, also after a restart."}`,
		`{"text": "Answers are now kept in memory and on disk, also after a restart."}`,
		`{"text": "Answers are kept: asking twice is quick."}`,
	}, "\n")
	out, said, code := try.New(t, program()).Try(answers, "run", "note", "--input", about, "--agent", "ask")
	if code != 0 || out != result {
		t.Fatalf("ended with code %d and %q:\n%s", code, out, said)
	}
	for _, part := range []string{
		"Write a release note about the new cache.",
		"Not accepted: answer with {\"text\": the note}",
		"Shorten this note to 60 characters:\n\nAnswers are now kept",
		"Not accepted: the note has 65 characters, which is more than 60",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("%q was not said:\n%s", part, said)
		}
	}
}

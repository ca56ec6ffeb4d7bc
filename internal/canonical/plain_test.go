package canonical_test

import (
	"testing"

	"piworkflows/internal/canonical"
)

func TestAppendPlainWritesWhatAnEncoderWouldOrNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"": true, "plain text ~": true, "<&>": true,
		`a"b`: false, `a\b`: false, "a\nb": false, "\x7f": false, "ä": false, "\xff": false,
	}
	for text, plain := range tests {
		got, ok := canonical.AppendPlain([]byte("before "), text)
		want := "before "
		if plain {
			encoded, err := canonical.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			want += string(encoded)
		}
		if ok != plain || string(got) != want {
			t.Errorf("AppendPlain(%q) = %q, %v; want %q, %v", text, got, ok, want, plain)
		}
	}
}

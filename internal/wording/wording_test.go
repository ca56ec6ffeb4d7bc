package wording_test

import (
	"testing"

	"piworkflows/internal/wording"
)

func TestWording(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		"ended" + wording.Because(""):                  "ended",
		"ended" + wording.Because("no route"):          "ended: no route",
		wording.OrSomebody(""):                         "somebody",
		wording.OrSomebody("ada"):                      "ada",
		wording.Count(1, "effect is", "effects are"):   "1 effect is",
		wording.Count(0, "delivery", "deliveries"):     "0 deliveries",
		wording.Argument("feature/one@2:3,4+5=6%7_.-"): "feature/one@2:3,4+5=6%7_.-",
		wording.Argument(""):                           "''",
		wording.Argument("it's $HOME"):                 `'it'\''s $HOME'`,
		wording.Argument("ключ"):                       "ключ",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

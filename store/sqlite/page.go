package sqlite

import (
	"fmt"

	"piworkflows/controller"
)

// defaultPage is the size of a page if the caller does not say.
const defaultPage = 100

// pageSize checks the size of a page that a caller asked for; zero is the
// default.
func pageSize(what string, asked, most int) (int, error) {
	switch {
	case asked == 0:
		return defaultPage, nil
	case asked < 0:
		return 0, fmt.Errorf("cannot list %d %s: ask for 1 to %d", asked, what, most)
	case asked > most:
		return 0, &controller.LimitError{What: "the page of " + what, Limit: most, Size: asked, Unit: what}
	}
	return asked, nil
}

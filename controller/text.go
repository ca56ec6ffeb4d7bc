package controller

import (
	"fmt"

	"piworkflows/internal/limit"
)

// errorText makes the text of an author's error storable. It goes through fmt,
// which survives an Error method that panics.
func errorText(err error) string { return limit.Text(fmt.Sprint(err), MaxError) }

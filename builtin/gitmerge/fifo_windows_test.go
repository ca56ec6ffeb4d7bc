package gitmerge

import "errors"

func makeFifo(string) error { return errors.ErrUnsupported }

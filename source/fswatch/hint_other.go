//go:build !unix

package fswatch

// hinted has nothing to add here.
func hinted(err error) error { return err }

package procgroup

// owner is there for the tests of other systems: here a job ends with its process.
func owner(string) {}

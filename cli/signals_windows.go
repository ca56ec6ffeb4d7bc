package cli

import "os"

// stopSignals ask the program to stop: Ctrl-C.
var stopSignals = []os.Signal{os.Interrupt}

package cli

import (
	"os"
	"sync"

	"github.com/muesli/cancelreader"

	"piworkflows/engine"
	"piworkflows/host"
)

// The keys of a run that is followed at a terminal. Ctrl-C is a signal and needs
// none.
const (
	keyPause = 'p'
	keyPark  = 'q'

	keysHint = "p pauses it and lets it go on, q leaves it for resume, Ctrl-C cancels it"
)

// withKeys follows a run that a person at the terminal can hold or leave, unless
// somebody else reads what the person types.
func (a *App) withKeys(
	o host.Options, who agents, follow func(host.Options) (engine.Result, error),
) (engine.Result, error) {
	in, ok := a.o.Stdin.(*os.File)
	if !ok || !isTerminal(in) || !a.Live() || who.asks {
		return follow(o)
	}
	k := &keys{app: a, in: in}
	o.Control = k.control
	defer k.release()
	return follow(o)
}

// keys reads the keyboard while a run goes on.
type keys struct {
	app     *App
	in      *os.File
	reader  cancelreader.CancelReader
	readers sync.WaitGroup
	restore func()
}

// control begins to read. A terminal that cannot be read key by key is left as it
// is: the run does not depend on it.
func (k *keys) control(run *engine.Run) {
	restore, err := keyByKey(k.in)
	if err != nil {
		return
	}
	reader, err := cancelreader.NewReader(k.in)
	if err != nil {
		restore()
		return
	}
	k.reader, k.restore = reader, restore
	k.app.sayf("%s", k.app.ProgressStyle().Palette.Dim(keysHint))
	k.readers.Go(func() { k.read(run) })
}

func (k *keys) read(run *engine.Run) {
	paused := false
	for buffer := make([]byte, 1); ; {
		if n, err := k.reader.Read(buffer); n == 0 || err != nil {
			return
		}
		switch buffer[0] {
		case keyPause:
			if paused = !paused; paused {
				k.app.sayf("it is held at the next step, %c lets it go on", keyPause)
				run.Pause()
			} else {
				k.app.sayf("it goes on")
				run.Resume()
			}
		case keyPark:
			run.Park()
		}
	}
}

// release gives the terminal back as it was.
func (k *keys) release() {
	if k.reader == nil {
		return
	}
	k.reader.Cancel()
	k.readers.Wait()
	_ = k.reader.Close() // it keeps nothing but its own descriptors
	k.restore()
}

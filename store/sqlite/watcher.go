package sqlite

import (
	"log/slog"
	"sync"
	"time"
)

// watchEvery is how often a waiting store looks for commits of others: often enough
// to notice them within 100 ms, and no more often, because to wake up costs an idle
// process more than the look.
const watchEvery = 85 * time.Millisecond

// watcher raises the signal when another connection has committed. SQLite tells
// nobody about commits of other processes. The cheapest thing to ask it is
// PRAGMA data_version: it compares one number in memory that the processes
// share, and reads no page. It is asked only while somebody waits. Commits of
// our own writer count too; they wake those who wait once more, for nothing.
type watcher struct {
	open   func() (*conn, error)
	commit *signal
	log    *slog.Logger
	quit   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	waiting int
	someone chan struct{} // closed while somebody waits
}

func newWatcher(open func() (*conn, error), commit *signal, log *slog.Logger) *watcher {
	w := &watcher{
		open: open, commit: commit, log: log,
		quit: make(chan struct{}), done: make(chan struct{}), someone: make(chan struct{}),
	}
	go w.loop()
	return w
}

func (w *watcher) close() {
	close(w.quit)
	<-w.done
}

// enter says that somebody waits, until the function that it returns is called.
func (w *watcher) enter() (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting++; w.waiting == 1 {
		close(w.someone)
	}
	return w.leave
}

func (w *watcher) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting--; w.waiting == 0 {
		w.someone = make(chan struct{})
	}
}

func (w *watcher) somebody() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.someone
}

func (w *watcher) loop() {
	defer close(w.done)
	var c *conn
	defer func() {
		if c != nil {
			c.close()
		}
	}()
	seen := int64(-1)
	// It costs less to wake up for a ticker than for a timer each time.
	ticker := time.NewTicker(watchEvery) //nolint:forbidigo // others commit in real time
	defer ticker.Stop()
	for w.pause(ticker) {
		now, err := w.version(&c)
		if err != nil {
			// Those who wait still have their timers, and the next look may work.
			w.log.Warn("cannot look for commits of other processes", "error", err)
			continue
		}
		if now != seen {
			seen = now
			w.commit.raise()
		}
	}
}

// pause waits until it is time to look again; false says that it never is.
func (w *watcher) pause(ticker *time.Ticker) bool {
	select {
	case <-w.somebody():
	default:
		ticker.Stop()
		select {
		case <-w.somebody():
			ticker.Reset(watchEvery)
		case <-w.quit:
			return false
		}
	}
	select {
	case <-ticker.C:
		return true
	case <-w.quit:
		return false
	}
}

func (w *watcher) version(c **conn) (version int64, err error) {
	if *c == nil {
		if *c, err = w.open(); err != nil {
			return 0, err
		}
	}
	_, err = (*c).first("PRAGMA data_version", nil, &version)
	return version, err
}

package sqlite

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"piworkflows/clock"
	"piworkflows/internal/crashpoint"
)

const (
	// maxGroup bounds the writes that share one transaction, and with it the
	// time for which the first of them waits.
	maxGroup = 128
	// busyStretch is how long the writer goes from group to group before it looks
	// whether others write to the file, and leaves them the lock for breath: they try
	// to take it about every 2 ms, in vain for as long as our callers keep coming.
	busyStretch = 50 * time.Millisecond
	breath      = 2500 * time.Microsecond
	// maxAhead bounds the rows that one claim reads for those that follow it.
	maxAhead = 32
)

// errGivenUp stands for an error of SQLite that a closure swallowed.
var errGivenUp = errors.New("SQLite rolled the transaction back")

// writer owns the connection that writes. Its goroutine runs the closures of
// all callers that wait in one transaction.
type writer struct {
	conn   *conn
	commit *signal
	tasks  chan *task
	quit   chan struct{}
	done   chan struct{}
	// alone reports whether nobody else can wait for the lock.
	alone func() bool
	// heads are what the claims of a transaction share.
	heads heads
	// transactions counts commits that changed something; tests read it.
	transactions atomic.Int64
	trouble      trouble
	// disk tells whether an error is one of the disk.
	disk func(error) (*DiskError, bool)
}

func newWriter(c *conn, commit *signal, disk func(error) (*DiskError, bool), alone func() bool) *writer {
	w := &writer{
		conn: c, commit: commit, disk: disk, alone: alone, tasks: make(chan *task, maxGroup),
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	go w.loop()
	return w
}

// stop ends the writer after the group that it is at. Its connection stays
// open.
func (w *writer) stop() {
	close(w.quit)
	<-w.done
}

// last runs f in a transaction once the writer has stopped.
func (w *writer) last(f func(*conn) error) error {
	t := &task{ctx: context.Background(), run: f}
	w.together([]*task{t}, nobody)
	return t.err
}

// do performs a task that is one function, whose work has to last.
func (w *writer) do(ctx context.Context, f func(*conn) error) error {
	return w.perform(&task{ctx: ctx, run: f})
}

// perform runs a task in a transaction and returns once that is committed, and
// durable if it has to be. If its ctx ends before it was started nothing happens;
// after that its result is what counts.
func (w *writer) perform(t *task) error {
	ctx := t.ctx
	t.done = make(chan struct{})
	select {
	case w.tasks <- t:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.done:
		return ErrClosed
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		if t.taken.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		<-t.done
	case <-w.done:
		return w.late(t)
	}
	return t.err
}

// late is the answer to a task that the writer may have left behind at its end.
func (w *writer) late(t *task) error {
	select {
	case <-t.done:
		return t.err
	default:
		return ErrClosed
	}
}

func (w *writer) loop() {
	defer close(w.done)
	others := clock.System() // they wait in real time
	began := others.Now()
	for {
		group, waited := w.gather()
		if group == nil {
			return
		}
		if waited {
			began = others.Now()
		}
		w.serve(group)
		if others.Now().Sub(began) > busyStretch {
			if !w.alone() {
				_ = clock.Sleep(context.Background(), others, breath) // its context never ends
			}
			began = others.Now()
		}
	}
}

// gather takes the tasks that wait, at least one; none says that the writer
// ends. It tells whether it had to wait for the first.
func (w *writer) gather() (group []*task, waited bool) {
	group = w.company(nil)
	if len(group) > 0 {
		return group, false
	}
	select {
	case t := <-w.tasks:
		return w.company([]*task{t}), true
	case <-w.quit:
		return nil, true
	}
}

// company adds the tasks that wait, and those that come while others have their turn
// on the processor, until a turn brings nobody. The callers of the group before, who
// have just been answered, are on their way back: who goes on without them commits for
// a few, time after time.
func (w *writer) company(group []*task) []*task {
	for before := -1; before < len(group) && len(group) < maxGroup; {
		before = len(group)
		runtime.Gosched()
		group = w.waiting(group)
	}
	return group
}

// nobody joins a group.
func nobody(group []*task) []*task { return group }

func (w *writer) waiting(group []*task) []*task {
	for len(group) < maxGroup {
		select {
		case t := <-w.tasks:
			group = append(group, t)
		default:
			return group
		}
	}
	return group
}

// serve answers every task of a group, and of those that join it. Those for which
// there is no space are tried once more if the write-ahead log can give some back.
func (w *writer) serve(group []*task) {
	before, commits := w.conn.changes(), w.transactions.Load()
	group = w.run(group, w.company)
	if large := w.withoutSpace(group); len(large) > 0 && w.conn.emptyLog() {
		w.run(large, nobody)
	}
	if w.conn.changes() != before {
		w.commit.raise()
	}
	w.trouble.judge(group, w.transactions.Load() != commits, w.disk)
	for _, t := range group {
		close(t.done)
	}
}

// run runs a group, and returns it with those that joined it. Tasks whose common
// transaction failed run again, one by one, so that nobody pays for the trouble of
// another.
func (w *writer) run(group []*task, join func([]*task) []*task) []*task {
	group, settled := w.together(group, join)
	if !settled {
		for _, t := range group {
			w.together([]*task{t}, nobody)
		}
	}
	return group
}

// withoutSpace are the tasks of a group that failed because the disk is full.
func (w *writer) withoutSpace(group []*task) (list []*task) {
	for _, t := range group {
		if disk, ok := w.disk(t.err); ok && disk.Full {
			list = append(list, t)
		}
	}
	return list
}

// together runs a group in one transaction, and who joins it before the commit: while
// the writer works for some, the callers of the transaction before come back, and what
// a commit costs is shared by nearly all. It returns the group with them. False says
// that it left nothing behind and that each task deserves a try of its own.
func (w *writer) together(group []*task, join func([]*task) []*task) (all []*task, settled bool) {
	lasts := needs(group)
	if lasts == fleeting { // SQLite cannot be told later that it has to last after all
		join = nobody
	}
	if err := w.conn.begin(lasts); err != nil {
		fail(group, err)
		return group, true
	}
	changes := w.conn.changes()
	group, ok := w.runAll(group, join)
	alone := len(group) == 1
	if !ok {
		_ = w.conn.rollback() // SQLite may have done so
		return group, alone
	}
	if err := w.conn.exec("COMMIT"); err != nil {
		_ = w.conn.rollback() // the commit's error tells more
		fail(group, err)
		return group, alone
	}
	if w.conn.changes() != changes {
		w.transactions.Add(1)
		crashpoint.Reached("commit")
	}
	return group, true
}

// runAll runs the tasks of a transaction. False says that the transaction is
// spoilt.
func (w *writer) runAll(group []*task, join func([]*task) []*task) (all []*task, ok bool) {
	fail(group, nil)
	for ran := 0; ran < len(group); group = join(group) {
		for ; ran < len(group); ran++ {
			if t := group[ran]; t.run != nil && !w.runPart(t, t.run, true) {
				return group, false
			}
		}
	}
	w.heads.want = min(fleetingParts(group), maxAhead)
	for _, t := range group {
		if t.then != nil && t.err == nil && !w.runPart(t, t.then, t.run == nil) {
			return group, false
		}
	}
	return group, true
}

// runPart runs a part of a task. If the task fails before it changed anything, it
// undoes nothing of the others. False says that the transaction is spoilt: by a
// task that changed something and failed, or because SQLite has rolled it back, as
// it does after some errors.
func (w *writer) runPart(t *task, part func(*conn) error, isFirst bool) bool {
	if !t.start() {
		return true
	}
	changes := w.conn.changes()
	t.err = part(w.conn)
	if !w.conn.inTransaction() {
		t.err = cmp.Or(t.err, errGivenUp)
		return false
	}
	return t.err == nil || isFirst && w.conn.changes() == changes
}

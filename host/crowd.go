package host

import (
	"net"
	"sync"
)

// crowdLimit accepts so many connections at once; the others wait in the queue of
// the operating system.
type crowdLimit struct {
	net.Listener

	places chan struct{}
	closed chan struct{}
	close  func() error
}

func newCrowdLimit(l net.Listener, most int) *crowdLimit {
	c := &crowdLimit{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return l.Close()
	})
	return c
}

// Accept waits for a place, then for a connection.
func (c *crowdLimit) Accept() (net.Conn, error) {
	select {
	case c.places <- struct{}{}:
	case <-c.closed:
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.places
		return nil, err //nolint:wrapcheck // it is the error of the listener
	}
	return &guest{Conn: conn, leave: sync.OnceFunc(func() { <-c.places })}, nil
}

// Close ends Accept. A second call does nothing more.
func (c *crowdLimit) Close() error { return c.close() }

// guest gives its place back when its connection ends.
type guest struct {
	net.Conn

	leave func()
}

func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close() //nolint:wrapcheck // it is the error of the connection
}

package host

import (
	"context"
	"fmt"
	"net"

	"piworkflows/secret"
)

// Listen says where a host answers over HTTP: /healthz, /readyz, /metrics, and
// below /hooks/ the HTTP sources. Nothing listens unless Addr is given.
type Listen struct {
	// Addr is HOST:PORT. Without a host it is that of this machine alone, 127.0.0.1;
	// the port 0 takes a free one.
	Addr string
	// Token is what every request has to bring as "Authorization: Bearer TOKEN", but
	// those to hooks, which are signed. It is read anew for each request. An address
	// that other machines can reach needs one.
	Token secret.Ref
}

// loopback is where a host listens that is told nothing but a port.
const loopback = "127.0.0.1"

// UnguardedError refuses to listen where other machines can reach the host, with
// no token to keep them off.
type UnguardedError struct{ Addr string }

func (e *UnguardedError) Error() string {
	return fmt.Sprintf("other machines can reach %s: give a token, as env:NAME or file:PATH, or listen on 127.0.0.1", e.Addr)
}

// ErrorCode is the stable code of the error.
func (*UnguardedError) ErrorCode() string { return "listen_unguarded" }

// ListenError says that an address cannot be listened on.
type ListenError struct {
	Addr string
	Err  error
}

func (e *ListenError) Error() string {
	return fmt.Sprintf("cannot listen on %s: %v: choose another address of this machine, or end what uses this one", e.Addr, e.Err)
}

// Unwrap returns the reason.
func (e *ListenError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error.
func (*ListenError) ErrorCode() string { return "cannot_listen" }

// InvalidAddressError refuses what is no address to listen on, whatever the machine.
type InvalidAddressError struct{ Addr string }

func (e *InvalidAddressError) Error() string {
	return fmt.Sprintf("%.80q is no address to listen on: give HOST:PORT or :PORT, for example 127.0.0.1:8080", e.Addr)
}

// ErrorCode is the stable code of the error.
func (*InvalidAddressError) ErrorCode() string { return "invalid_address" }

// Check refuses, with an *InvalidAddressError, an Addr that is not HOST:PORT. It asks
// nobody who the host is, and whether it can be listened there is seen by New.
func (l Listen) Check(ctx context.Context) error {
	if l.Addr == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(l.Addr)
	if err != nil || port == "" {
		return &InvalidAddressError{Addr: l.Addr}
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return &InvalidAddressError{Addr: l.Addr}
	}
	return nil
}

// open checks who could reach the address, and begins to listen.
func (l Listen) open(ctx context.Context) (net.Listener, error) {
	if err := l.Check(ctx); err != nil {
		return nil, err
	}
	addr, err := l.resolve()
	if err != nil {
		return nil, &ListenError{Addr: l.Addr, Err: err}
	}
	if !addr.IP.IsLoopback() && l.Token.IsZero() {
		return nil, &UnguardedError{Addr: l.Addr}
	}
	if !l.Token.IsZero() {
		if _, err := l.Token.Resolve(ctx); err != nil {
			return nil, err
		}
	}
	listener, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, &ListenError{Addr: l.Addr, Err: err}
	}
	return listener, nil
}

// resolve finds the one address that is listened on, so that what was judged is
// what is opened.
func (l Listen) resolve() (*net.TCPAddr, error) {
	host, port, err := net.SplitHostPort(l.Addr)
	if err != nil {
		return nil, err //nolint:wrapcheck // open says what of
	}
	if host == "" {
		host = loopback
	}
	return net.ResolveTCPAddr("tcp", net.JoinHostPort(host, port)) //nolint:wrapcheck // open says what of
}

package host

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"piworkflows/secret"
)

// Bounds on those who talk to a host: slow ones do not keep a connection, many do
// not take its memory.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 30 * time.Second
	writeTimeout   = 60 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 16 << 10
	maxConnections = 256
	// closeGrace is how long requests under way may take when the host stops.
	closeGrace = 5 * time.Second
)

// endpoint is the HTTP side of a host.
type endpoint struct {
	listener net.Listener
	server   *http.Server
	log      *slog.Logger
}

// newEndpoint begins to listen, or returns nil if nobody asked for it. Requests
// wait until run.
func newEndpoint(ctx context.Context, l Listen, handler http.Handler, log *slog.Logger) (*endpoint, error) {
	if l.Addr == "" {
		return nil, nil //nolint:nilnil // nothing listens, which is no error
	}
	listener, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	return &endpoint{
		listener: newCrowdLimit(listener, maxConnections),
		log:      log,
		server: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
			MaxHeaderBytes: maxHeaderBytes,
			ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug), // strangers must not fill the log
		},
	}, nil
}

// routes are what a host answers to. Hooks check by themselves who talks to them.
func routes(token secret.Ref, health *health, series http.Handler, hook http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(hooksRoot, hook)
	guard := guard{token}
	mux.Handle("GET /healthz", guard.keep(http.HandlerFunc(healthz)))
	mux.Handle("GET /readyz", guard.keep(http.HandlerFunc(health.readyz)))
	mux.Handle("GET /metrics", guard.keep(series))
	return mux
}

// addr is where the endpoint listens; empty if it does not.
func (e *endpoint) addr() string {
	if e == nil {
		return ""
	}
	return e.listener.Addr().String()
}

// run answers until ctx ends, then lets requests under way end.
func (e *endpoint) run(ctx context.Context) {
	served := make(chan error, 1)
	go func() { served <- e.server.Serve(e.listener) }()
	select {
	case err := <-served:
		e.log.ErrorContext(ctx, "the host answers over HTTP no more", "error", err)
		return
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if err := e.server.Shutdown(closing); err != nil {
		e.log.WarnContext(ctx, "requests were cut off, because the host stops", "error", errors.Join(err, e.server.Close()))
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		e.log.WarnContext(ctx, "the end of the HTTP server", "error", err)
	}
}

// close ends an endpoint that may not have run.
func (e *endpoint) close() error {
	if e == nil {
		return nil
	}
	err := e.server.Close()
	if closed := e.listener.Close(); !errors.Is(closed, net.ErrClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// guard lets in who brings the token, and everybody if there is none.
type guard struct{ token secret.Ref }

func (g guard) keep(next http.Handler) http.Handler {
	if g.token.IsZero() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, err := g.token.Resolve(r.Context())
		if err != nil {
			answer(w, http.StatusServiceUnavailable, map[string]string{"error": "the token of the host cannot be read"})
			return
		}
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer || !same(given, want) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			answer(w, http.StatusUnauthorized, map[string]string{"error": "the token is missing or wrong"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// same compares in a time that tells nothing of the content, nor of its length.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func answer[T any](w http.ResponseWriter, code int, body T) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // who does not listen any more is no concern of ours
}

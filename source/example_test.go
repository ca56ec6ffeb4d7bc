package source_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/store/sqlite"
)

// own:declare

// lines takes a key on each line of a connection, and says ok once it is durable.
type lines struct{ listener net.Listener }

func (lines) Name() string { return "lines" }

func (l lines) Run(ctx context.Context, in controller.Intake) error {
	stop := context.AfterFunc(ctx, func() { _ = l.listener.Close() })
	defer stop()
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return err // the host starts the source again, or has stopped it
		}
		if err := serve(ctx, c, in); err != nil {
			in.Failed(err) // the next connection may do better
		}
	}
}

func serve(ctx context.Context, c net.Conn, in controller.Intake) error {
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	const most = 1 << 20
	for scanner := bufio.NewScanner(io.LimitReader(c, most)); scanner.Scan(); {
		key := scanner.Text()
		if controller.ValidateKey("key", key) != nil {
			in.Refused("no key")
			continue
		}
		if _, err := in.Deliver(ctx, controller.Delivery{Keys: []string{key}, Note: "asked for"}); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c, "ok"); err != nil {
			return err
		}
	}
	return nil
}

// own:end

// The example does what the document says over the real store.
func TestTheSourceOfTheDocument(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(t.TempDir(), "store.sqlite"), Scope: strings.Repeat("0", 24),
	})
	must(t, err)
	defer func() { must(t, store.Close()) }()
	_, err = store.Put(t.Context(), controller.Put{Ref: controller.Ref{Controller: "c", Key: "k"}, Spec: []byte(`{}`)})
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	refused := 0
	go func() {
		ended <- lines{listener}.Run(ctx, controller.Intake{
			Controller: "c", Clock: clock.System(), Feed: store,
			Deliver: func(ctx context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
				d.Source = "lines"
				return store.Deliver(ctx, "c", d)
			},
			Refused: func(string) { refused++ },
			Failed:  func(err error) { t.Error(err) },
		})
	}()
	c, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	_, err = io.WriteString(c, "\nk\n")
	must(t, err)
	answer, err := bufio.NewReader(c).ReadString('\n')
	must(t, errors.Join(err, c.Close()))
	stop()
	if err := <-ended; !errors.Is(err, net.ErrClosed) || answer != "ok\n" || refused != 1 {
		t.Errorf("Run = %v, answered %q, %d refused", err, answer, refused)
	}
	row, err := store.Queue(t.Context(), controller.Ref{Controller: "c", Key: "k"})
	must(t, err)
	if row.Wake != 2 { // by Put and by the delivery
		t.Errorf("woken %d times", row.Wake)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

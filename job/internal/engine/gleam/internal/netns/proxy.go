//go:build linux

package netns

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/neardup/neardup/data"
)

// Files in the state folder of a cluster of several hosts.
const (
	serversFile = "servers"    // HOST:PORT of each server of the cluster, a line each, the master first
	figuresFile = "proxy.prom" // what the proxy counted
)

// Bounds of connections that have not authenticated yet. Hosts of the cluster take
// milliseconds for it, so when there are too many, the oldest is closed.
const (
	maxPending = 1024 // at a proxy
	maxDialing = 16   // from a host to one proxy
)

// doors returns the addresses of a server that other hosts may ask for: gleam's two,
// HOST:PORT and HOST:PORT+10000, and for the master the queue's too.
func doors(server, master string) ([]string, error) {
	at, err := netip.ParseAddrPort(server)
	if err != nil || !at.Addr().Is4() || at.Port() > 55535 {
		return nil, fmt.Errorf("server %q: write an IPv4 address and a port up to 55535", server)
	}
	all := []string{server, netip.AddrPortFrom(at.Addr(), at.Port()+10_000).String()}
	if server == master {
		at, err := queueAddress(master)
		return append(all, at), err
	}
	return all, nil
}

// tlsProxy accepts connections from the network, authenticates the cluster's hosts,
// and connects them to the server inside the namespace. All others are refused.
type tlsProxy struct {
	namespace *Namespace
	store     *keyStore
	doors     []string
	tally     tally

	mu      sync.Mutex
	pending []net.Conn // the oldest first
}

// openProxy starts the proxy at own, this host's HOST:PORT on the network, until
// ctx ends.
func openProxy(ctx context.Context, log *slog.Logger, folder, own string) error {
	store, err := newKeyStore(log, folder)
	if err != nil {
		return err
	}
	servers, err := os.ReadFile(filepath.Join(folder, serversFile))
	if err != nil {
		return err
	}
	g := &tlsProxy{namespace: &Namespace{folder: folder}, store: store}
	if g.doors, err = doors(own, append(strings.Fields(string(servers)), "")[0]); err != nil {
		return err
	}
	l, err := net.Listen("tcp", own)
	if err != nil {
		return err
	}
	if err := g.tally.write(filepath.Join(folder, figuresFile)); err != nil {
		return errors.Join(err, l.Close())
	}
	go g.tally.tell(ctx, log, filepath.Join(folder, figuresFile))
	go serve(ctx, l, g.admit)
	return nil
}

// Outcomes of a connection, as the proxy counts them.
const (
	passed          = "passed"
	overloaded      = "overloaded"      // closed as the oldest of too many that had not authenticated
	timedOut        = "timed_out"       // it did not authenticate in time, or ended before
	unauthenticated = "unauthenticated" // it does not know the token, or its certificate is not accepted
	wrongServer     = "wrong_server"    // it asked for a door that is not this server's
	unreachable     = "unreachable"     // the server does not answer
)

// admit handles a connection from the network: it authenticates the other end,
// checks the door, connects to the server and then copies in both directions.
func (g *tlsProxy) admit(conn net.Conn) error {
	refuse := func(reason string, err error) error {
		g.tally.note(reason, fmt.Errorf("%s: %w", conn.RemoteAddr(), err))
		abort(conn)
		return err
	}
	g.enter(conn)
	keys := g.store.get()
	secure := tls.Server(conn, keys.tls)
	door, err := keys.asked(secure)
	g.leave(conn)
	switch {
	case err == nil:
	case errors.Is(err, net.ErrClosed):
		return refuse(overloaded, err)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return refuse(timedOut, err)
	default:
		return refuse(unauthenticated, err)
	}
	if !slices.Contains(g.doors, door) {
		return refuse(wrongServer, fmt.Errorf("it asks for %q", door))
	}
	to, err := g.namespace.Dial(context.Background(), door)
	if err != nil {
		return refuse(unreachable, err)
	}
	if err := keys.open(secure); err != nil {
		return errors.Join(err, to.Close())
	}
	g.tally.note(passed, nil)
	return join(secure, to)
}

// enter adds a connection that has not authenticated, and closes the oldest if
// there are more than maxPending.
func (g *tlsProxy) enter(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = append(g.pending, conn)
	if len(g.pending) > maxPending {
		abort(g.pending[0])
		g.pending = slices.Delete(g.pending, 0, 1)
	}
}

// leave removes a connection that has authenticated or failed to.
func (g *tlsProxy) leave(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.pending, conn); i >= 0 {
		g.pending = slices.Delete(g.pending, i, i+1)
	}
}

// forward starts, inside the namespace, a listener for each door of each server on
// another host, until ctx ends. These addresses are addresses of the loopback here;
// connections to them are passed on to the server's proxy. own is this host's
// server.
func forward(ctx context.Context, log *slog.Logger, folder, own string, servers []string) error {
	store, err := newKeyStore(log, folder)
	if err != nil {
		return err
	}
	refused := new(tally)
	go refused.tell(ctx, log, "")
	for _, server := range servers {
		if server == own {
			continue
		}
		at, err := doors(server, servers[0])
		if err != nil {
			return err
		}
		free := make(chan struct{}, maxDialing)
		for _, door := range at {
			l, err := net.Listen("tcp", door)
			if err != nil {
				return err
			}
			go serve(ctx, l, func(conn net.Conn) error {
				to, err := dialPeer(ctx, folder, store.get(), free, server, door)
				if err != nil {
					refused.note(timedOut, fmt.Errorf("the proxy of %s: %w", server, err))
					abort(conn) // an orderly close could be taken for an empty answer
					return err
				}
				return join(conn, to)
			})
		}
	}
	return nil
}

// dialPeer connects over TLS to another host's proxy and asks for a door. free
// bounds how many do so at once; waiting for it and each step take at most patience.
func dialPeer(ctx context.Context, folder string, keys *keys, free chan struct{}, server, door string) (net.Conn, error) {
	select {
	case free <- struct{}{}:
		defer func() { <-free }()
	case <-time.After(patience):
		return nil, os.ErrDeadlineExceeded
	}
	conn, err := dialRelay(ctx, filepath.Join(folder, outSocket), server)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, keys.tls)
	err = conn.SetDeadline(time.Now().Add(patience))
	if err == nil {
		err = keys.ask(ctx, secure, door)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// addAddresses adds the servers' addresses to the loopback of the namespace.
func addAddresses(servers []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for i, server := range servers {
		at, perr := netip.ParseAddrPort(server)
		if perr != nil || !at.Addr().Is4() {
			err = fmt.Errorf("server %q: write an IPv4 address and a port", server)
			break
		}
		if at.Addr().IsLoopback() {
			continue
		}
		if err = addAddress(fd, fmt.Sprintf("lo:%d", i), at.Addr()); err != nil {
			err = fmt.Errorf("%s: %w", server, err)
			break
		}
	}
	return errors.Join(err, unix.Close(fd))
}

// addAddress adds an address to the loopback under a label, as a /32: no other
// address of its network.
func addAddress(fd int, label string, address netip.Addr) error {
	for _, set := range []struct {
		request uint
		address [4]byte
	}{{unix.SIOCSIFADDR, address.As4()}, {unix.SIOCSIFNETMASK, [4]byte{255, 255, 255, 255}}} {
		request, err := unix.NewIfreq(label)
		if err != nil {
			return err
		}
		if err := request.SetInet4Addr(set.address[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(fd, set.request, request); err != nil {
			return err
		}
	}
	return nil
}

// tally counts the outcomes of connections. The log and the file get them at
// intervals, however many come. It is safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	counts  map[string]int64
	written bool  // the file has these counts
	since   int64 // refused since the last line of the log
	last    error // of those
}

func (t *tally) note(what string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[string]int64)
	}
	t.counts[what]++
	t.written = false
	if err != nil {
		t.since++
		t.last = err
	}
}

// tick is how often the counts are written; the log has refusals at every fifth.
// Tests shorten it.
var tick = time.Second

// tell writes the counts to the file at path, unless it is "", and logs refusals:
// how many, and the last one's error, at most a line every five ticks. It returns
// when ctx ends.
func (t *tally) tell(ctx context.Context, log *slog.Logger, path string) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for ticks := 1; ctx.Err() == nil; ticks++ {
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
		t.mu.Lock()
		if t.since > 0 && ticks%5 == 0 {
			log.Warn("refused", "connections", t.since, "last", t.last)
			t.since = 0
		}
		written := t.written
		t.written = true
		t.mu.Unlock()
		if path != "" && !written {
			if err := t.write(path); err != nil {
				log.Error("figures", "error", err)
			}
		}
	}
}

// write writes a proxy's counts as OpenMetrics text.
func (t *tally) write(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	fmt.Fprintf(&text, "# HELP neardup_proxy_passed_connections Connections from other hosts of the cluster.\n# TYPE neardup_proxy_passed_connections counter\nneardup_proxy_passed_connections_total %d\n", t.counts[passed])
	fmt.Fprint(&text, "# HELP neardup_proxy_refused_connections Connections that were not let in, by reason.\n# TYPE neardup_proxy_refused_connections counter\n")
	for _, reason := range []string{overloaded, timedOut, unauthenticated, unreachable, wrongServer} {
		fmt.Fprintf(&text, "neardup_proxy_refused_connections_total{reason=%q} %d\n", reason, t.counts[reason])
	}
	text.WriteString("# EOF\n")
	return data.WriteFileAtomic(path, []byte(text.String()))
}

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

// Bounds of connections that have not shown their keys yet. Those of
// the cluster take milliseconds; when there are too many, the oldest has to go.
const (
	maxPending = 1024 // at a proxy
	maxDialing = 16   // of a host at one proxy
)

// doors are the addresses at which a server is served: gleam's two, HOST:PORT and
// HOST:PORT+10000, and the queue beside the master.
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

// tlsProxy lets the cluster's hosts in, from the network to the server behind the
// namespace, and nobody else.
type tlsProxy struct {
	namespace *Namespace
	store     *keyStore
	doors     []string
	tally     tally

	mu      sync.Mutex
	pending []net.Conn // the oldest first
}

// openProxy serves at the address own of the network, until ctx ends.
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

// What a proxy counts, by its outcome.
const (
	passed          = "passed"
	overloaded      = "overloaded"      // too many others came before it showed its keys
	timedOut        = "timed_out"       // it said nothing, or not enough, in time
	unauthenticated = "unauthenticated" // it does not know the token, or its certificate is not accepted
	wrongServer     = "wrong_server"    // it asked for another server
	unreachable     = "unreachable"     // the server does not answer
)

// admit handles a connection from the network.
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

// enter counts a connection that has not shown its keys, and closes the oldest of too many.
func (g *tlsProxy) enter(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = append(g.pending, conn)
	if len(g.pending) > maxPending {
		abort(g.pending[0])
		g.pending = slices.Delete(g.pending, 0, 1)
	}
}

// leave is called when it is none any more, or has failed.
func (g *tlsProxy) leave(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.pending, conn); i >= 0 {
		g.pending = slices.Delete(g.pending, i, i+1)
	}
}

// forward stands, inside, for the cluster's servers on other hosts, until ctx
// ends: their addresses are addresses of the loopback here, and what connects to
// them is passed on to their proxies. own is the server behind this namespace.
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
					abort(conn) // for an end it could be taken for an empty answer
					return err
				}
				return join(conn, to)
			})
		}
	}
	return nil
}

// dialPeer connects to a door behind the proxy of another host's namespace.
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

// addAddresses gives the loopback of the namespace the servers' addresses.
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

// addAddress gives the loopback an address under a label, and nothing of its
// network.
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

// tally counts what comes often, and tells of it seldom.
type tally struct {
	mu      sync.Mutex
	counts  map[string]int64
	written bool  // they are
	since   int64 // bad ones that the log does not tell of
	last    error
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

// tick is how often the counts are written, and a fifth of how often the log tells
// of what was bad. Tests do not wait so long.
var tick = time.Second

// tell keeps the counts in a file, if it has a name, and logs the last of what was
// bad, at most a line every few seconds, until ctx ends.
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

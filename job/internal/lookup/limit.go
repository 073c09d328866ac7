package lookup

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// limitedListener is a listener with a bound on its open connections. When a new
// connection exceeds the bound, the listener closes the one that has kept the service
// waiting longest, for a request or for the rest of one. So clients that open
// connections and send nothing, or half a request, cannot lock others out. A
// connection whose request is being answered is never closed; if all are, the new one
// waits.
type limitedListener struct {
	net.Listener
	most int

	mu     sync.Mutex
	left   *sync.Cond
	open   map[*limitedConn]uint64 // the turn since which the service waits for it, or served
	turn   uint64                  // counts up: a smaller one is longer ago
	closed bool
}

// served is the turn of a connection whose request has arrived completely.
const served = 0

// limitedConn is a connection of a limitedListener.
type limitedConn struct {
	net.Conn
	of *limitedListener
}

func newLimited(l net.Listener, most int) *limitedListener {
	c := &limitedListener{Listener: l, most: most, open: map[*limitedConn]uint64{}}
	c.left = sync.NewCond(&c.mu)
	return c
}

func (l *limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) >= l.most && !l.closed {
		var first *limitedConn
		for lc, turn := range l.open {
			if turn != served && (first == nil || turn < l.open[first]) {
				first = lc
			}
		}
		if first == nil {
			l.left.Wait()
			continue
		}
		delete(l.open, first)
		_ = first.Conn.Close() // nobody is answered
	}
	if l.closed {
		_ = conn.Close() // nothing was read
		return nil, net.ErrClosed
	}
	l.turn++
	lc := &limitedConn{conn, l}
	l.open[lc] = l.turn
	return lc, nil
}

// Close closes the listener and ends an Accept that waits.
func (l *limitedListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.left.Broadcast()
	return l.Listener.Close()
}

// Close closes the connection and frees its place.
func (lc *limitedConn) Close() error {
	lc.of.mu.Lock()
	delete(lc.of.open, lc)
	lc.of.mu.Unlock()
	lc.of.left.Signal()
	return lc.Conn.Close()
}

// state is the ConnState hook of an http.Server: from when a connection becomes idle,
// the service waits for it again.
func (l *limitedListener) state(conn net.Conn, s http.ConnState) {
	lc, ok := conn.(*limitedConn)
	if !ok || s != http.StateIdle {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if turn, open := l.open[lc]; open && turn == served {
		l.turn++
		l.open[lc] = l.turn
		l.left.Signal()
	}
}

type connKey struct{}

// withConn is the ConnContext hook of an http.Server: it stores the connection in the
// context of its requests, for arrived.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// arrived notes that the request with that context has been read completely.
func arrived(ctx context.Context) {
	lc, ok := ctx.Value(connKey{}).(*limitedConn)
	if !ok {
		return
	}
	lc.of.mu.Lock()
	defer lc.of.mu.Unlock()
	if _, open := lc.of.open[lc]; open {
		lc.of.open[lc] = served
	}
}

package lookup

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// limitedListener is a listener with a bound on its open connections. For one beyond it
// the connection goes that has kept the service waiting longest: for a request,
// or for the rest of one. So who opens connections and says nothing, or half,
// keeps nobody out. One whose request is worked on stays; where all are, the
// next waits.
type limitedListener struct {
	net.Listener
	most int

	mu      sync.Mutex
	left    *sync.Cond
	open    int
	waiting *list.List // *limitedConn, who came first in front
	closed  bool
}

// limitedConn is a connection of a limitedListener.
type limitedConn struct {
	net.Conn
	of    *limitedListener
	place *list.Element // among those that the service waits for; nil: it does not
	gone  bool
}

func newLimited(l net.Listener, most int) *limitedListener {
	c := &limitedListener{Listener: l, most: most, waiting: list.New()}
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
	for l.open >= l.most && !l.closed {
		first := l.waiting.Front()
		if first == nil {
			l.left.Wait()
			continue
		}
		if lc, ok := first.Value.(*limitedConn); ok { // it is
			lc.leave()
			_ = lc.Conn.Close() // nobody is answered
		}
	}
	if l.closed {
		_ = conn.Close() // nothing was read
		return nil, net.ErrClosed
	}
	lc := &limitedConn{Conn: conn, of: l}
	lc.place = l.waiting.PushBack(lc)
	l.open++
	return lc, nil
}

// Close ends Accept too while it waits.
func (l *limitedListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.left.Broadcast()
	return l.Listener.Close()
}

func (lc *limitedConn) Close() error {
	lc.of.mu.Lock()
	lc.leave()
	lc.of.mu.Unlock()
	return lc.Conn.Close()
}

// leave gives the connection's place to another. The listener is locked.
func (lc *limitedConn) leave() {
	if lc.gone {
		return
	}
	lc.gone = true
	lc.of.open--
	lc.served()
	lc.of.left.Signal()
}

// served notes that the service waits for the connection no more. The listener
// is locked.
func (lc *limitedConn) served() {
	if lc.place != nil {
		lc.of.waiting.Remove(lc.place)
		lc.place = nil
	}
}

// state follows an http.Server's connections: one that was answered is waited
// for again.
func (l *limitedListener) state(conn net.Conn, s http.ConnState) {
	lc, ok := conn.(*limitedConn)
	if !ok || s != http.StateIdle {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !lc.gone && lc.place == nil {
		lc.place = l.waiting.PushBack(lc)
		l.left.Signal()
	}
}

type connKey struct{}

// withConn has the requests of a connection know it.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// arrived notes that the request whose context it is has come, all of it.
func arrived(ctx context.Context) {
	if lc, ok := ctx.Value(connKey{}).(*limitedConn); ok {
		lc.of.mu.Lock()
		defer lc.of.mu.Unlock()
		lc.served()
	}
}

package lookup

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// crowd is a listener with a bound on its open connections. For one beyond it
// the connection goes that has kept the service waiting longest: for a request,
// or for the rest of one. So who opens connections and says nothing, or half,
// keeps nobody out. One whose request is worked on stays; where all are, the
// next waits.
type crowd struct {
	net.Listener
	most int

	mu      sync.Mutex
	left    *sync.Cond
	open    int
	waiting *list.List // *guest, who came first in front
	closed  bool
}

// guest is a connection of a crowd's.
type guest struct {
	net.Conn
	of    *crowd
	place *list.Element // among those that the service waits for; nil: it does not
	gone  bool
}

func newCrowd(l net.Listener, most int) *crowd {
	c := &crowd{Listener: l, most: most, waiting: list.New()}
	c.left = sync.NewCond(&c.mu)
	return c
}

func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !c.closed {
		first := c.waiting.Front()
		if first == nil {
			c.left.Wait()
			continue
		}
		if g, ok := first.Value.(*guest); ok { // it is
			g.leave()
			_ = g.Conn.Close() // nobody is answered
		}
	}
	if c.closed {
		_ = conn.Close() // nothing was read
		return nil, net.ErrClosed
	}
	g := &guest{Conn: conn, of: c}
	g.place = c.waiting.PushBack(g)
	c.open++
	return g, nil
}

// Close ends Accept too while it waits.
func (c *crowd) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.left.Broadcast()
	return c.Listener.Close()
}

func (g *guest) Close() error {
	g.of.mu.Lock()
	g.leave()
	g.of.mu.Unlock()
	return g.Conn.Close()
}

// leave gives the guest's place to another. The crowd is locked.
func (g *guest) leave() {
	if g.gone {
		return
	}
	g.gone = true
	g.of.open--
	g.served()
	g.of.left.Signal()
}

// served notes that the service waits for the guest no more. The crowd is locked.
func (g *guest) served() {
	if g.place != nil {
		g.of.waiting.Remove(g.place)
		g.place = nil
	}
}

// state follows an http.Server's connections: one that was answered is waited
// for again.
func (c *crowd) state(conn net.Conn, s http.ConnState) {
	g, ok := conn.(*guest)
	if !ok || s != http.StateIdle {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !g.gone && g.place == nil {
		g.place = c.waiting.PushBack(g)
		c.left.Signal()
	}
}

type guestKey struct{}

// introduce has the requests of a connection know it.
func introduce(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, conn)
}

// arrived notes that the request whose context it is has come, all of it.
func arrived(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		g.of.mu.Lock()
		defer g.of.mu.Unlock()
		g.served()
	}
}

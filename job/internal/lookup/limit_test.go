package lookup

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// connect connects to a listener and returns both ends.
func connect(t *testing.T, c *limitedListener) (here net.Conn, there *limitedConn) {
	t.Helper()
	here, err := net.Dial("tcp", c.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = here.Close() }) // it may be closed already
	conn, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return here, conn.(*limitedConn)
}

// Beyond the bound the connection goes that is waited for longest, none that is
// served; where all are, the next waits until one ends or is waited for again.
func TestLimitedListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newLimited(l, 3)
	work := func(g *limitedConn) { arrived(withConn(context.Background(), g)) }
	_, a := connect(t, c)
	farB, b := connect(t, c)
	_, d := connect(t, c)
	work(a)
	_, e := connect(t, c)
	gone := func(g *limitedConn) bool { _, open := c.open[g]; return !open }
	if gone(a) || !gone(b) || gone(d) {
		t.Errorf("gone: %v, %v, %v, want the oldest that is waited for", gone(a), gone(b), gone(d))
	}
	_ = farB.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := farB.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it is not told: %d, %v", n, err)
	}
	if b.Close() == nil || len(c.open) != 3 {
		t.Errorf("a second end counts: %d are open", len(c.open))
	}
	work(d)
	work(e)
	for _, free := range []func(){
		func() { _ = a.Close() },                                                   // one ends
		func() { c.state(d, http.StateIdle) },                                      // one is waited for again
		func() { c.state(b, http.StateIdle); work(e); c.state(e, http.StateIdle) }, // not one that has gone
	} {
		next := make(chan *limitedConn)
		go func() {
			_, g := connect(t, c)
			work(g)
			next <- g
		}()
		select {
		case g := <-next:
			t.Fatalf("%d are open: %v", len(c.open), g)
		case <-time.After(100 * time.Millisecond):
		}
		free()
		<-next
	}
	if !gone(d) || !gone(e) || len(c.open) != 3 {
		t.Errorf("gone: %v, %v; %d are open", gone(d), gone(e), len(c.open))
	}
	for _, turn := range c.open {
		if turn != served {
			t.Error("one that is served is waited for")
		}
	}
	// An end of the listener ends who waits.
	last, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	failed := make(chan error)
	go func() {
		_, err := c.Accept()
		failed <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// A request that is turned away makes room at once: who reads on before it has been
// answered is not turned away too.
func TestTurnedAwayMakesRoom(t *testing.T) {
	var held atomic.Int64
	request := func(size int) *counted {
		return &counted{in: strings.NewReader(strings.Repeat("a", size)), held: &held, limit: 10, next: func() {}}
	}
	first, second := request(10), request(5)
	if n, err := first.Read(make([]byte, 8)); n != 8 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := second.Read(make([]byte, 5)); !errors.Is(err, errFull) {
		t.Fatalf("got %v, want %v", err, errFull)
	}
	if n, err := first.Read(make([]byte, 2)); n != 2 || err != nil {
		t.Errorf("got %d, %v: the place of the other is not free yet", n, err)
	}
	second.release() // as each handler does in the end
	first.release()
	if n := held.Load(); n != 0 {
		t.Errorf("%d bytes are counted that nobody holds", n)
	}
}

//go:build linux

package netns

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// enqueue takes a place for a run of an order that has no network.
func enqueue(t *testing.T, q *queue, name string) *Place {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = q.admit(theirs) // how its run ended
		_ = theirs.Close()
	}()
	p, err := newPlace(ours, name)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // the order is that in which they come
	return p
}

// stands checks how a run stands, once what happened is told.
func stands(t *testing.T, p *Place, mine bool, holder string) {
	t.Helper()
	time.Sleep(time.Second)
	if m, h, err := p.Try(); err != nil || m != mine || !strings.HasPrefix(h, holder) || (h == "") != (holder == "") {
		t.Errorf("got %v, %q, %v, want %v, %q", m, h, err, mine, holder)
	}
}

// Runs have the turn one after the other, as they came: until they have their
// slots, end, or are not heard of.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := new(queue)
		a, b, c, d := enqueue(t, q, "a on x"), enqueue(t, q, "b"), enqueue(t, q, "c"), enqueue(t, q, "d\x1b[2J"+strings.Repeat("é", maxRun))
		since := " since " + time.Now().Format(time.RFC3339)
		time.Sleep(10 * gone)
		stands(t, a, true, "")
		stands(t, b, false, "the run of a on x"+since)
		stands(t, c, false, "the run of a on x"+since)
		a.Stand()
		a.Stand()
		stands(t, a, true, "")
		stands(t, b, true, "the run of a on x"+since)
		stands(t, c, false, "the run of b since ")
		if err := c.conn.Close(); err != nil { // it was killed
			t.Error(err)
		}
		b.Stand()
		stands(t, d, true, "the run of a on x"+since+", and 1 more")
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		stands(t, d, true, "the run of b since ")
		b.leave() // it is stopped, or its host is
		time.Sleep(gone - 2*beat)
		stands(t, d, true, "the run of b since ")
		time.Sleep(2 * beat)
		stands(t, d, true, "")
		if _, _, err := b.Try(); err == nil {
			t.Error("a run that was away for long still has its place")
		}
		e := enqueue(t, q, "e")
		if _, holder, _ := e.Try(); strings.Contains(holder, "\x1b") {
			t.Errorf("a name is printed as it is: %q", holder)
		}
		stands(t, e, false, "the run of d?[2J")
		for _, p := range []*Place{b, c, d, e} {
			_ = p.Close() // it may be
		}
	})
}

// A run on another host takes its turn by the master's proxy, which lets in nobody
// else.
func TestQueueBehindProxy(t *testing.T) {
	g, at := newProxied(t, answers), ""
	for range 10 { // a port may be taken
		at, _ = queueAddress(g.own) // it was an address before
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		if serveQueue(ctx, at) == nil {
			break
		}
		g = newProxied(t, answers)
	}
	here, err := g.Queue(t.Context(), g.own, "one here")
	if err != nil {
		t.Fatal(err)
	}
	wants(t, here, true, "")
	conn, err := g.dialPeer(g.keys, at)
	if err != nil {
		t.Fatal(err)
	}
	there, err := newPlace(conn, "one there")
	if err != nil {
		t.Fatal(err)
	}
	wants(t, there, false, "the run of one here since ")
	if err := here.Close(); err != nil {
		t.Error(err)
	}
	wants(t, there, true, "")
	if err := there.Close(); err != nil {
		t.Error(err)
	}
	if conn, err := g.dialPeer(newToken(t, t.TempDir()), at); err == nil {
		t.Error("without the token there is a turn")
		_ = conn.Close()
	}
}

// wants waits until a run stands so.
func wants(t *testing.T, p *Place, mine bool, holder string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		m, h, err := p.Try()
		if err != nil {
			t.Fatal(err)
		}
		if m == mine && strings.HasPrefix(h, holder) && (h == "") == (holder == "") {
			return
		}
		if time.Since(began) > 6*patience {
			t.Fatalf("got %v, %q, want %v, %q", m, h, mine, holder)
		}
	}
}

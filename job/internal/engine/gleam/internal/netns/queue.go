//go:build linux

package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// queueAddress is the address of a cluster's queue: the master's port + 1.
func queueAddress(master string) (string, error) {
	at, err := netip.ParseAddrPort(master)
	if err != nil || at.Port() == 1<<16-1 {
		return "", fmt.Errorf("master %q: write an IP address and a port", master)
	}
	return netip.AddrPortFrom(at.Addr(), at.Port()+1).String(), nil
}

// queue makes a cluster's runs take slots one after the other, whichever host they
// run on. Two runs that looked for free slots at once would both take the same ones.
//
// A run connects and writes its name, and is then waiting. The first that waits has
// the turn. When it has its slots it says "standing" and the turn passes on; it
// stays known as a holder of slots until it disconnects. A run sends a line every
// beat; the queue drops one that is silent for gone.
type queue struct {
	mu       sync.Mutex
	waiting  []*run // in the order in which they came; the first has the turn
	standing []*run // they have taken their slots
}

// run is a run that waits for the turn, has it, or has taken its slots.
type run struct {
	name  string
	since time.Time // when it got the turn; zero: it waits
}

// The lines that queue and run exchange, after the run's name. The queue sends
// yours or wait, followed by a space and the text of holder; the run sends standing
// and alive.
const (
	yours    = "yours"
	wait     = "wait"
	standing = "standing" // the run has its slots: the turn is the next one's
	alive    = ""

	beat   = 5 * time.Second // between two signs of life of a run
	gone   = 6 * beat        // a run that is silent for so long is dropped
	maxRun = 200             // bytes of a run's name
)

// serveQueue starts to serve a queue at the address, until ctx ends.
func serveQueue(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err == nil {
		go serve(ctx, l, new(queue).admit)
	}
	return err
}

// admit handles a run's connection until it ends or falls silent.
func (q *queue) admit(conn net.Conn) error {
	name, err := readLine(conn)
	if err != nil {
		return err
	}
	r := &run{name: printable(name)}
	q.change(func() { q.waiting = append(q.waiting, r) })
	ended := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() { q.tell(conn, r, ended) })
	for err == nil {
		var line string
		if err = conn.SetReadDeadline(time.Now().Add(gone)); err == nil {
			line, err = readLine(conn)
		}
		if err == nil && line == standing {
			q.change(func() {
				if q.leave(r) {
					q.standing = append(q.standing, r)
				}
			})
		}
	}
	q.change(func() { q.leave(r) })
	close(ended)
	told.Wait()
	return err
}

// change applies by to the queue, with mu held, and starts the turn of the run that
// is then the first to wait.
func (q *queue) change(by func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if by(); len(q.waiting) > 0 && q.waiting[0].since.IsZero() {
		q.waiting[0].since = time.Now()
	}
}

// leave removes a run from the queue and reports whether it was there. The caller
// holds mu.
func (q *queue) leave(r *run) bool {
	n := len(q.waiting) + len(q.standing)
	other := func(s *run) bool { return s == r }
	q.waiting, q.standing = slices.DeleteFunc(q.waiting, other), slices.DeleteFunc(q.standing, other)
	return len(q.waiting)+len(q.standing) < n
}

// tell sends a run its state whenever that changes, until ended is closed.
func (q *queue) tell(conn net.Conn, r *run, ended <-chan struct{}) {
	for last := ""; ; {
		if line := q.line(r); line != last {
			last = line
			err := conn.SetWriteDeadline(time.Now().Add(patience))
			if err == nil {
				_, err = io.WriteString(conn, line+"\n")
			}
			if err != nil {
				_ = conn.Close() // makes admit give up the place
				return
			}
		}
		select {
		case <-ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// line is a run's state: yours if it has the turn or its slots, else wait; and the
// runs that have what it wants.
func (q *queue) line(r *run) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 && q.waiting[0] != r && !slices.Contains(q.standing, r) {
		return wait + " " + holder(q.waiting[:1])
	}
	return yours + " " + holder(slices.DeleteFunc(slices.Clone(q.standing), func(s *run) bool { return s == r }))
}

// holder describes runs: the first by its name, the others by their number.
func holder(runs []*run) string {
	if len(runs) == 0 {
		return ""
	}
	text := fmt.Sprintf("the run of %s since %s", runs[0].name, runs[0].since.Format(time.RFC3339))
	if more := len(runs) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// printable makes a run's name fit for a line of a log: printable characters only,
// at most maxRun bytes.
func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
	return strings.ToValidUTF8(name[:min(len(name), maxRun)], "")
}

// Place is a run's place in the queue. Its methods are safe for concurrent use.
type Place struct {
	conn   net.Conn
	leave  context.CancelFunc
	others sync.WaitGroup

	mu   sync.Mutex
	last string // line
	err  error
}

// Queue takes a place in the master's queue for the run of that name. Close, or the
// end of this process, gives it up.
func (f *Namespace) Queue(ctx context.Context, master, name string) (*Place, error) {
	at, err := queueAddress(master)
	if err != nil {
		return nil, err
	}
	conn, err := f.Dial(ctx, at)
	if err != nil {
		return nil, err
	}
	return newPlace(conn, name)
}

func newPlace(conn net.Conn, name string) (*Place, error) {
	p := &Place{conn: conn, last: wait}
	if err := p.say(printable(name)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	var here context.Context
	here, p.leave = context.WithCancel(context.Background())
	p.others.Go(p.listen)
	p.others.Go(func() { p.live(here) })
	return p, nil
}

func (p *Place) say(line string) error {
	err := p.conn.SetWriteDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = io.WriteString(p.conn, line+"\n")
	}
	return err
}

// listen keeps the last line that the queue sent.
func (p *Place) listen() {
	for {
		line, err := readLine(p.conn)
		p.mu.Lock()
		if p.err = err; err == nil {
			p.last = line
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// live sends a sign of life every beat until the place is left.
func (p *Place) live(here context.Context) {
	for p.say(alive) == nil {
		select {
		case <-here.Done():
			return
		case <-time.After(beat):
		}
	}
}

// Try reports whether the run has the turn, and describes the runs that have what
// it wants: the turn, or slots. It does not block. After an error the connection to
// the queue is lost for good.
func (p *Place) Try() (mine bool, holder string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what, holder, _ := strings.Cut(p.last, " ")
	return p.err == nil && what == yours, holder, p.err
}

// Stand passes the turn on to the next run. Until Close, this one counts as a
// holder of slots.
func (p *Place) Stand() { _ = p.say(standing) } // on an error the queue drops the place anyway

// Close gives up the place.
func (p *Place) Close() error {
	p.leave()
	err := p.conn.Close()
	p.others.Wait()
	return err
}

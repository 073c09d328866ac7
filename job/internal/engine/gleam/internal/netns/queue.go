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

// queueAddress is where the queue of a cluster is kept, beside its master.
func queueAddress(master string) (string, error) {
	at, err := netip.ParseAddrPort(master)
	if err != nil || at.Port() == 1<<16-1 {
		return "", fmt.Errorf("master %q: write an IP address and a port", master)
	}
	return netip.AddrPortFrom(at.Addr(), at.Port()+1).String(), nil
}

// queue is the order in which a cluster's runs take slots: one after the other,
// on whichever host. A run has its place for as long as its connection lives and
// its host says so.
type queue struct {
	mu       sync.Mutex
	waiting  []*run // in the order in which they came; the first has the turn
	standing []*run // they have taken their slots
}

// run is one that wants slots, or has some.
type run struct {
	name  string
	since time.Time // it has had the turn; zero: it waits
}

// What passes between the queue and a run, beside the run's name at the start: a line
// each. After the words yours and wait comes what holder says.
const (
	yours    = "yours"
	wait     = "wait"
	standing = "standing" // the run has its slots: the turn is the next one's
	alive    = ""

	beat   = 5 * time.Second // that often a run says that it is alive
	gone   = 6 * beat        // after so long a silence it is not
	maxRun = 200             // bytes of its name
)

// serveQueue serves them at an address until ctx ends.
func serveQueue(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err == nil {
		go serve(ctx, l, new(queue).admit)
	}
	return err
}

// admit handles a run's connection.
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

// change changes who has a place, and gives the turn to who is the first then.
func (q *queue) change(by func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if by(); len(q.waiting) > 0 && q.waiting[0].since.IsZero() {
		q.waiting[0].since = time.Now()
	}
}

// leave has a run give up its place, and reports whether it had one.
func (q *queue) leave(r *run) bool {
	n := len(q.waiting) + len(q.standing)
	other := func(s *run) bool { return s == r }
	q.waiting, q.standing = slices.DeleteFunc(q.waiting, other), slices.DeleteFunc(q.standing, other)
	return len(q.waiting)+len(q.standing) < n
}

// tell tells a run how it stands, each time that this changes, until it has ended.
func (q *queue) tell(conn net.Conn, r *run, ended <-chan struct{}) {
	for last := ""; ; {
		if line := q.line(r); line != last {
			last = line
			err := conn.SetWriteDeadline(time.Now().Add(patience))
			if err == nil {
				_, err = io.WriteString(conn, line+"\n")
			}
			if err != nil {
				_ = conn.Close() // so that its place is given up
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

// line is how a run stands: whether it has the turn, and who has what it wants.
func (q *queue) line(r *run) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 && q.waiting[0] != r && !slices.Contains(q.standing, r) {
		return wait + " " + holder(q.waiting[:1])
	}
	return yours + " " + holder(slices.DeleteFunc(slices.Clone(q.standing), func(s *run) bool { return s == r }))
}

// holder names runs, the first of them by its name.
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

// printable is the beginning of a run's name, for a line of a log.
func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
	return strings.ToValidUTF8(name[:min(len(name), maxRun)], "")
}

// Place is a run's in the order in which a cluster's runs take slots.
type Place struct {
	conn   net.Conn
	leave  context.CancelFunc
	others sync.WaitGroup

	mu   sync.Mutex
	last string // line
	err  error
}

// Queue takes a place for the run of that name in the queue beside the master. It is
// given up by Close, and by the end of this process.
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

// listen notes what is said of the place.
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

// live says that the run lives, until it leaves its place.
func (p *Place) live(here context.Context) {
	for p.say(alive) == nil {
		select {
		case <-here.Done():
			return
		case <-time.After(beat):
		}
	}
}

// Try reports whether the place's run has the turn, and names who has what it
// wants: the turn, or slots. With an error there is no queue any more.
func (p *Place) Try() (mine bool, holder string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what, holder, _ := strings.Cut(p.last, " ")
	return p.err == nil && what == yours, holder, p.err
}

// Stand gives the turn to the next run; this one is known to have slots until
// Close.
func (p *Place) Stand() { _ = p.say(standing) } // who does not hear it has lost the place

// Close gives up the place.
func (p *Place) Close() error {
	p.leave()
	err := p.conn.Close()
	p.others.Wait()
	return err
}

package lookup

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/lock"
	"github.com/neardup/neardup/data/wal"
	"github.com/neardup/neardup/job/internal/corpus"
)

// AddedOptions of Index.OpenAdded. Zero values are the defaults.
type AddedOptions struct {
	Pages   int           // about how many pages a log file, and so a night, has; default 200,000
	Waiting int           // most pages that wait to become a night; default five files
	Every   time.Duration // age at which a file with pages becomes a night; default 24 h
	Wait    time.Duration // how long to wait for a library that others hold, each time; default 1 min

	// Through, when not nil, wraps the log's file. Tests make writes fail with it.
	Through func(wal.File) wal.File
	// Page, when not nil, is called before a page of a batch is added.
	Page func()
	// Step, when not nil, is called between the steps of making a night. An error
	// stops it there, as a crash would.
	Step func(step string) error
}

func (o AddedOptions) withDefaults() AddedOptions {
	o.Pages = cmp.Or(o.Pages, 200_000)
	o.Waiting, o.Every, o.Wait = cmp.Or(o.Waiting, 5*o.Pages), cmp.Or(o.Every, 24*time.Hour), cmp.Or(o.Wait, time.Minute)
	if o.Page == nil {
		o.Page = func() {}
	}
	if o.Step == nil {
		o.Step = func(string) error { return nil }
	}
	return o
}

// Added keeps the pages that were added to a library and are not a night yet: in a
// log on the disk, and in memory, where look-ups find them. The log is a sequence of
// files; each becomes a night. Only one process at a time can have a library's log.
//
// How a page is added:
//
//	ask      search the library, without a lock
//	join     under changing: search the pages in memory, put this one among them and
//	         into the pending group; of equal pages sent at once, one is the first
//	commit   one goroutine writes the pending group to the log and syncs it
//	wait     the sender gets its answer; from now on look-ups see the page
//
// While a group is being written, the next one fills. If the write fails, its pages are
// taken back, and so are those of the next group: their answers may name pages that
// are gone. All their senders get an error.
//
// Its methods are safe for concurrent use.
type Added struct {
	index    *Index
	dir      string
	o        AddedOptions
	log      *slog.Logger
	lock     *lock.Lock
	settings string // checksum of the library's
	sequence int    // of the last file

	// changing is held by whoever changes the pages in memory: one batch at a time,
	// or the committing goroutine. So a batch can search without blocking look-ups:
	// it locks mu for writing only while it puts a page in its place. Lock changing
	// before mu.
	changing sync.Mutex

	mu       sync.RWMutex
	files    []*recent // oldest first; pages are added to the last
	out      *wal.Log  // log of the last file; only the committing goroutine uses it
	changes  uint64    // number of files that have become nights; see generation
	pending  *group
	inFlight *group // that is being written
	closed   bool
	failing  bool // the last group could not be written
	stuck    bool // the next file could not be made at the last try

	wake    chan struct{}
	rotates chan chan error
	done    chan struct{}
	nights  sync.Mutex // held while nights are made
}

// group is the pages that one write to the log makes durable. done is closed when
// the write has ended; err is set before.
type group struct {
	body    []byte
	records int
	undo    []undo
	file    *recent
	done    chan struct{}
	err     error
}

func newGroup(file *recent) *group { return &group{file: file, done: make(chan struct{})} }

// logMeta is the meta of a log file, as JSON.
type logMeta struct {
	Token    string    `json:"token"`    // Run of the night that the file becomes
	Settings string    `json:"settings"` // checksumOf the library
	Began    time.Time `json:"began"`
}

// ErrAdded is returned when pages cannot be added: another process has the log, it
// cannot be read or written, too many pages wait, or the service ends.
var ErrAdded = errors.New("pages cannot be added")

var errClosed = fmt.Errorf("%w: the service ends", ErrAdded)

// OpenAdded opens the log of the index's library for adding pages, and makes the index
// answer from its pages too. It cuts off what an interrupted last write left. The
// index must not be used while OpenAdded runs. Close the Added before the index.
func (x *Index) OpenAdded(ctx context.Context, o AddedOptions) (_ *Added, err error) {
	o = o.withDefaults()
	m := x.Manifest()
	settings, err := checksumOf(m)
	if err != nil {
		return nil, err
	}
	a := &Added{
		index: x, dir: filepath.Join(x.dir, library.Added), o: o, log: x.log, settings: settings,
		wake: make(chan struct{}, 1), rotates: make(chan chan error), done: make(chan struct{}),
	}
	if err := os.MkdirAll(a.dir, 0o777); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAdded, err)
	}
	a.lock, err = lock.Take(ctx, filepath.Join(a.dir, lockName), lock.Options{Limit: -1})
	if err != nil {
		return nil, fmt.Errorf("%w: %w: end it, or add by way of it", ErrAdded, err)
	}
	defer func() {
		if err != nil && a.out != nil {
			err = errors.Join(err, a.out.Close())
		}
		if err != nil {
			err = errors.Join(err, a.lock.Unlock())
		}
	}()
	if err := a.load(m); err != nil {
		return nil, err
	}
	if a.out == nil {
		if err := a.begin(); err != nil {
			return nil, err
		}
	}
	a.through(a.out)
	a.pending = newGroup(a.last())
	x.added = a
	go a.commit()
	return a, nil
}

const (
	lockName = ".lock"
	logExt   = ".log"
)

func checksumOf(m *library.Manifest) (string, error) {
	text, err := json.Marshal(m.Settings)
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	return fmt.Sprintf("%d-%016x", m.Bits, xxh3.Hash(text)), nil
}

func (a *Added) through(l *wal.Log) {
	if a.o.Through != nil {
		l.Through(a.o.Through)
	}
}

// LogFiles returns the paths of the log files of the library at dir, oldest first.
func LogFiles(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, library.Added))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if _, ok := sequenceOf(e.Name()); ok {
			paths = append(paths, filepath.Join(dir, library.Added, e.Name()))
		}
	}
	return paths, nil
}

// sequenceOf returns the number in the name of a log file.
func sequenceOf(name string) (n int, ok bool) {
	base, ok := strings.CutSuffix(name, logExt)
	if _, err := fmt.Sscanf(base, "%08d", &n); err != nil || !ok || len(base) != 8 {
		return 0, false
	}
	return n, true
}

// readMeta reads the meta of a log file. It is an error if the log was written for a
// library of other settings.
func readMeta(path, settings string) (of logMeta, err error) {
	text, err := wal.Meta(path)
	if err != nil {
		return of, err
	}
	if err := json.Unmarshal(text, &of); err != nil || of.Token == "" {
		return of, fmt.Errorf("%s: it is no log of pages", path)
	}
	if of.Settings != settings {
		return of, fmt.Errorf("%s: the log is of a library of other settings: move it out of the library", path)
	}
	return of, nil
}

// load reads the log files into memory. It removes those that are a night of the
// manifest m already. Only the last file that has pages may end in an interrupted
// write.
func (a *Added) load(m *library.Manifest) error {
	paths, err := LogFiles(a.index.dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAdded, err)
	}
	later := false // a later file has pages
	for i, path := range slices.Backward(paths) {
		n, _ := sequenceOf(filepath.Base(path))
		a.sequence = max(a.sequence, n)
		of, err := readMeta(path, a.settings)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrAdded, err)
		}
		if slices.ContainsFunc(m.Nights, func(n library.Night) bool { return n.Run == of.Token }) {
			if err := wal.Remove(path); err != nil {
				return fmt.Errorf("%w: %w", ErrAdded, err)
			}
			continue
		}
		r := newRecent(a.index, path, of)
		out, err := a.replay(r, later)
		if err != nil {
			return fmt.Errorf("%w: %w: `neardup library night --skip-damaged` makes a night of what can be read", ErrAdded, err)
		}
		later = later || r.size() > 0
		a.files = append(a.files, r)
		if out != nil && i == len(paths)-1 {
			a.out = out
		} else if out != nil {
			if err := out.Close(); err != nil {
				return fmt.Errorf("%w: %w", ErrAdded, err)
			}
		}
	}
	slices.Reverse(a.files)
	return nil
}

// replay reads a log file's pages into r. sealed: a later file has pages, so this one
// was complete when that began, and an incomplete end is damage. Otherwise it is
// opened for appending and its incomplete end is cut off.
func (a *Added) replay(r *recent, sealed bool) (out *wal.Log, err error) {
	var p addedPage
	took := func(record []byte) error {
		if err := p.decode(record); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
		var v data.View
		viewOf(&p.row, &v)
		r.add(p.row.DocID, &v, p.row.LengthClass, p.change)
		return nil
	}
	if sealed {
		err = wal.Read(r.path, nil, took)
	} else {
		var cut int64
		if out, cut, err = wal.Open(r.path, took); cut > 0 {
			a.log.Warn("a process was ended while it wrote: what nobody was answered for is cut off", "file", r.path, "bytes", cut)
		}
	}
	r.durable = r.size()
	return out, err
}

// begin makes a new log file, to which pages are added from now on.
func (a *Added) begin() error {
	r, out, err := a.newFile()
	if err != nil {
		return err
	}
	a.files, a.out = append(a.files, r), out
	return nil
}

func (a *Added) newFile() (*recent, *wal.Log, error) {
	of := logMeta{Token: fmt.Sprintf("%s%016x", addedToken, rand.Uint64()), Settings: a.settings, Began: time.Now().UTC()} //nolint:gosec // it need not be secret
	text, err := json.Marshal(of)
	if err != nil {
		return nil, nil, err
	}
	a.sequence++ // even if Create fails: it may have left a file of that name
	path := filepath.Join(a.dir, fmt.Sprintf("%08d%s", a.sequence, logExt))
	out, err := wal.Create(path, text)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrAdded, err)
	}
	return newRecent(a.index, path, of), out, nil
}

func (a *Added) last() *recent { return a.files[len(a.files)-1] }

// Close writes the pending pages and closes the log. Pages that are no night yet stay
// in it for the next OpenAdded.
func (a *Added) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	was := a.closed
	a.closed = true
	a.mu.Unlock()
	if was {
		return nil
	}
	a.signal()
	<-a.done
	a.nights.Lock() // a night that is being made ends with its own context
	defer a.nights.Unlock()
	return errors.Join(a.out.Close(), a.lock.Unlock())
}

func (a *Added) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// generation is a number that changes whenever pages become a night, and so move from
// here to the library.
func (a *Added) generation() uint64 {
	if a == nil {
		return 0
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.changes
}

// among adds to the question's answer the matches among pages that are on the disk.
// It leaves out files that are nights of m, the manifest by which the library
// answered. It returns false, and adds nothing, if pages have become a night since
// that generation: then the library has to be asked again.
func (a *Added) among(q *question, m *library.Manifest, since uint64) bool {
	if a == nil {
		return true
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.changes != since {
		return false
	}
	a.search(q, m, false)
	return true
}

// byID returns view and length class of the newest version of an id among the pages
// on the disk, unless it was deleted.
func (a *Added) byID(id []byte) (v data.View, class string, ok bool) {
	if a == nil {
		return v, "", false
	}
	now, _ := a.index.look() // the look-up itself reports an error
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range slices.Backward(a.files) {
		row := r.ids.Find(id)
		if row < 0 || int(r.pages[row].entry) > r.durable {
			continue
		}
		p := &r.pages[row]
		if now != nil && now.Hides(id, r.entries[p.entry-1].change) {
			break
		}
		if p.unit == corpus.NoUnit {
			return data.View{Hi: p.hi, Lo: p.lo, Length: p.length}, p.class, true
		}
		r.units.View(p.unit, &v)
		v.Letters = slices.Clone(v.Letters) // they are in memory to which more pages are added
		return v, p.class, true
	}
	return v, "", false
}

// search is among without the check of the generation; all: also of pages that are not
// on the disk yet. The caller holds mu.
func (a *Added) search(q *question, m *library.Manifest, all bool) {
	for _, r := range a.files {
		if !r.isNight(m) {
			r.among(q, all)
		}
		q.answer.Documents += r.beside(q.now)
	}
}

// errWaiting is returned while too many pages wait to become a night.
var errWaiting = fmt.Errorf("%w for now: too many wait for the library, which another process holds: try again", ErrAdded)

// adding is a page on its way into Added.
type adding struct {
	fingerprinted
	extracted bool // its text was found in HTML

	question *question
	manifest *library.Manifest // by which the library answered
	since    uint64            // generation when it did

	added bool // false: the newest version of its id is identical
}

// ask looks the page up in the library, as the first step of adding it.
func (a *Added) ask(ctx context.Context, p *adding) (err error) {
	p.since = a.generation()
	with := a.index.takeTools()
	defer a.index.tools.Put(with)
	p.question = a.index.question(&p.view, p.row.LengthClass, with)
	p.question.id = p.row.DocID
	p.manifest, err = p.question.library(ctx)
	p.question.verifier = nil // join has its own
	return err
}

// add looks the pages up, in their order, in the library and among the pages added
// before them, and then adds each unless the newest version of its id is identical.
// Their answers hold only once all groups of wait are done without an error. Either
// all of the pages become durable or none.
func (a *Added) add(ctx context.Context, pages []*adding) (wait []*group, err error) {
	for {
		for _, p := range pages {
			if p.since != a.generation() { // pages have gone to the library in between
				if err := a.ask(ctx, p); err != nil {
					return nil, err
				}
			}
		}
		if wait, err = a.join(pages); !errors.Is(err, errMoved) {
			return wait, err
		}
	}
}

// errMoved says that pages have become a night since the library was asked.
var errMoved = errors.New("moved")

// join adds pages that ask has looked up; errMoved if they have to be asked again.
// Look-ups go on meanwhile: they wait only while a single page is put in its place.
func (a *Added) join(pages []*adding) (wait []*group, err error) {
	a.changing.Lock()
	defer a.changing.Unlock()
	if err := a.takes(pages); err != nil {
		return nil, err
	}
	with := a.index.takeTools()
	defer a.index.tools.Put(with)
	for _, p := range pages {
		p.question.verifier = with.verifier
		a.compare(p)
		a.o.Page()
		if p.added {
			a.append(p)
		}
		runtime.Gosched() // look-ups that wait for a core come between two pages
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	// A page that was there already waits, too: neither it nor the pages that its
	// answer names need be on the disk yet.
	for _, g := range []*group{a.inFlight, a.pending} {
		if g != nil && g.records > 0 {
			wait = append(wait, g)
		}
	}
	if a.pending.records > 0 {
		a.signal()
	}
	return wait, nil
}

// takes returns nil if the pages can be added now, else why not.
func (a *Added) takes(pages []*adding) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	waiting := len(pages)
	for _, r := range a.files {
		waiting += r.size()
	}
	switch {
	case a.closed:
		return errClosed
	case slices.ContainsFunc(pages, func(p *adding) bool { return p.since != a.changes }):
		return errMoved
	case waiting > a.o.Waiting:
		return errWaiting
	}
	return nil
}

// compare adds the matches among all pages in memory to p's answer, and sets p.added.
func (a *Added) compare(p *adding) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	a.search(p.question, p.manifest, true)
	p.added = !a.has(p)
}

// has reports whether the newest version of the page's id is identical to it. The
// caller holds mu.
func (a *Added) has(p *adding) bool {
	id := p.row.DocID
	for _, r := range slices.Backward(a.files) {
		if r.ids.Find(id) < 0 || r.isNight(p.manifest) {
			continue
		}
		e, same := r.has(id, &p.view, p.row.LengthClass)
		return same && !p.question.now.Hides(id, r.entries[e].change)
	}
	return p.question.again
}

// append adds a page to the pending group and to the pages in memory. The caller holds
// changing.
func (a *Added) append(p *adding) {
	page := addedPage{extracted: p.extracted, change: p.question.now.Manifest().Sequence, at: time.Now(), row: data.LibraryRow{
		DocID: p.row.DocID, Hi: p.row.Hi, Lo: p.row.Lo, LengthClass: p.row.LengthClass, Length: p.row.Length,
		Sketch: p.row.Sketch, Letters: p.row.Letters, Language: p.row.Language, Date: p.row.Date,
	}}
	g := a.pending
	g.body = wal.AppendRecord(g.body, page.encode(nil))
	g.records++
	a.mu.Lock()
	defer a.mu.Unlock()
	g.undo = append(g.undo, g.file.add(p.row.DocID, &p.view, p.row.LengthClass, page.change))
}

// wait waits until the groups are on the disk, and returns the first one's error.
func wait(ctx context.Context, groups []*group) error {
	for _, g := range groups {
		select {
		case <-g.done:
			if g.err != nil {
				return g.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// commit is the committing goroutine: it writes pending groups until Added is closed.
func (a *Added) commit() {
	defer close(a.done)
	for {
		var rotate chan error
		select {
		case <-a.wake:
		case rotate = <-a.rotates:
		}
		a.mu.Lock()
		closed, full := a.closed, a.last().size() >= a.o.Pages
		a.mu.Unlock()
		err := a.write(rotate != nil || full)
		if rotate != nil {
			rotate <- err
		}
		if closed {
			return
		}
	}
}

// write makes the pending group durable. With rotate, pages that come afterwards go to
// a new file, unless the last one is empty.
func (a *Added) write(rotate bool) (err error) {
	var next *recent
	var nextOut *wal.Log
	a.mu.RLock()
	rotate = rotate && a.last().size() > 0
	a.mu.RUnlock()
	if rotate {
		if next, nextOut, err = a.newFile(); err == nil {
			a.through(nextOut)
		} else if !a.stuck { // pages go to the one that is full; each group tries again
			a.log.Error("the next file of the log cannot be made", "error", err)
		}
		a.stuck = err != nil
	}
	g := a.take(next)
	if g.records > 0 {
		if failed := a.out.Append(g.records, g.body); failed != nil {
			g.err = fmt.Errorf("%w: %w", ErrAdded, failed)
		}
	}
	if g.err != nil { // fail takes pages back
		a.changing.Lock()
		defer a.changing.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inFlight = nil
	if g.err != nil {
		a.fail(g)
		if next != nil { // the old file may end in an incomplete group: go on with it, and heal it
			a.files = a.files[:len(a.files)-1]
			a.pending = newGroup(a.last())
			g.err = errors.Join(g.err, nextOut.Close(), wal.Remove(next.path))
		}
		close(g.done)
		return g.err
	}
	if g.records > 0 && a.failing {
		a.failing = false
		a.log.Info("pages are added again")
	}
	g.file.durable += g.records
	close(g.done)
	if next != nil {
		err = a.out.Close()
		a.out = nextOut
	}
	return err
}

// take makes the pending group the one in flight and returns it. Later pages go to
// next, unless it is nil.
func (a *Added) take(next *recent) *group {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.pending
	if next != nil {
		a.files = append(a.files, next)
	}
	a.pending, a.inFlight = newGroup(a.last()), g
	return g
}

// fail takes back the pages of a group that could not be written, and of the pending
// one, whose answers may name them. It ends the pending group with the same error.
// The caller holds changing and mu.
func (a *Added) fail(g *group) {
	if !a.failing { // log the first failure of a series only
		a.log.Error("pages that were to be added are not, until it is told otherwise", "error", g.err)
	}
	a.failing = true
	since := a.pending
	for _, of := range []*group{since, g} {
		for _, u := range slices.Backward(of.undo) {
			of.file.takeBack(u)
		}
	}
	since.err = g.err
	close(since.done)
	a.pending = newGroup(a.last())
}

// sentAgain is how long a page that has become part of a night is remembered: the same
// page, sent again, is not added a second time. Its sender may have missed the answer.
const sentAgain = 24 * time.Hour

// addedToken is the prefix of Run for a night of added pages.
const addedToken = "added-"

// addedSince reports whether the night is one of added pages and was made after since.
func addedSince(n *library.Night, since time.Time) bool {
	return strings.HasPrefix(n.Run, addedToken) && n.Added.After(since)
}

// Waiting is the number of pages that are no night yet, each id counted once a file.
func (a *Added) Waiting() (n int64) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range a.files {
		n += int64(r.ids.Len())
	}
	return n
}

// addedPage is a record of the log.
type addedPage struct {
	row       data.LibraryRow // without the fields that making a night fills in
	change    int64           // the library's change when the page was added
	at        time.Time
	extracted bool // its text was found in HTML
}

// formatOfPage is the first byte of a record: the version of its encoding.
const formatOfPage = 1

var errPage = errors.New("a record of the log is no page: another version of the program wrote it")

func (p *addedPage) encode(b []byte) []byte {
	r := &p.row
	flags := byte(0)
	if p.extracted {
		flags = 1
	}
	b = append(b, formatOfPage, flags)
	b = binary.LittleEndian.AppendUint64(b, r.Hi)
	b = binary.LittleEndian.AppendUint64(b, r.Lo)
	for _, n := range []int64{p.change, p.at.UnixMilli(), int64(r.Length), r.Date} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [][]byte{r.DocID, []byte(r.LengthClass), r.Sketch, r.Letters, []byte(r.Language)} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// decode sets p to the page of a record. It keeps none of the record's bytes.
func (p *addedPage) decode(b []byte) error {
	if len(b) < 18 || b[0] != formatOfPage || b[1] > 1 {
		return errPage
	}
	*p = addedPage{extracted: b[1] == 1}
	p.row.Hi, p.row.Lo = binary.LittleEndian.Uint64(b[2:]), binary.LittleEndian.Uint64(b[10:])
	b = b[18:]
	var numbers [4]int64
	for i := range numbers {
		n, size := binary.Varint(b)
		if size <= 0 {
			return errPage
		}
		numbers[i], b = n, b[size:]
	}
	var texts [5][]byte
	for i := range texts {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return errPage
		}
		texts[i] = slices.Clone(b[size : size+int(n)]) //nolint:gosec // as long as b at most
		b = b[size+int(n):]                            //nolint:gosec // the same
	}
	if len(b) > 0 || len(texts[0]) == 0 || len(texts[2]) != 0 && len(texts[2]) != data.SketchSize || numbers[2] != int64(int32(numbers[2])) { //nolint:gosec // that is what is looked at
		return errPage
	}
	p.change, p.at, p.row.Length, p.row.Date = numbers[0], time.UnixMilli(numbers[1]), int32(numbers[2]), numbers[3] //nolint:gosec // looked at above
	p.row.DocID, p.row.LengthClass, p.row.Sketch, p.row.Letters, p.row.Language = texts[0], string(texts[1]), texts[2], texts[3], string(texts[4])
	return nil
}

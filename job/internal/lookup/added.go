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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/lock"
	"github.com/neardup/neardup/data/wal"
	"github.com/neardup/neardup/job/internal/engine"
)

// AddedOptions of Index.OpenAdded. Zero values are the defaults.
type AddedOptions struct {
	Pages   int           // of a file of the log, and so of a night, about; 200,000
	Waiting int           // pages that are no night yet, at most; five files
	Every   time.Duration // how old the first page of a file may become; 24 h
	Wait    time.Duration // for a library that others hold, each time; 1 min

	// Through, when not nil, is what the log writes through: a test's that fails.
	Through func(wal.File) wal.File
	// Page, when not nil, is called before a page of a batch is put in its place.
	Page func()
	// Step, when not nil, is called between the steps of making a night; an error
	// ends it there, as a killed process would.
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

// Added is what has been added to a library since its last night: in a log on
// the disk, and in memory, where look-ups see it. The log is a row of files, each
// of which becomes a night. One process at a time has the log of a library.
//
// A page is compared with all that is there and becomes a part of it in one step,
// so of equal pages that come at once one is the first. It is seen by look-ups,
// and its sender answered, when it is on the disk: a goroutine writes what has
// come in the meantime as a group and syncs it. If it cannot, the whole group
// fails, and so do the pages that have come since, which may have been told of it.
type Added struct {
	index    *Index
	dir      string
	o        AddedOptions
	log      *slog.Logger
	lock     *lock.Lock
	settings string // checksum of the library's
	sequence int    // of the last file

	// Who changes what is there holds changing: one batch at a time, or the
	// committing goroutine. So a batch can search without keeping look-ups out, and
	// holds mu only while a page is put in its place. changing comes before mu.
	changing sync.Mutex

	mu       sync.RWMutex
	files    []*recent // oldest first; pages are added to the last
	out      *wal.Log  // of the last, the committing goroutine's
	changes  uint64    // how many files have gone
	pending  *group
	inFlight *group // that is being written
	closed   bool
	failing  bool // the last group could not be written
	stuck    bool // the last time the next file could not be made

	wake    chan struct{}
	rotates chan chan error
	done    chan struct{}
	nights  sync.Mutex // making a night
}

// group are pages that become durable together.
type group struct {
	body    []byte
	records int
	undo    []undo
	file    *recent
	done    chan struct{}
	err     error
}

func newGroup(file *recent) *group { return &group{file: file, done: make(chan struct{})} }

// logMeta is what the header of a file of the log says.
type logMeta struct {
	Token    string    `json:"token"`    // of the night that it becomes
	Settings string    `json:"settings"` // checksum of those of the library, and of its bits
	Began    time.Time `json:"began"`
}

// ErrAdded is returned when a library's log cannot be added to.
var ErrAdded = errors.New("pages cannot be added")

var errClosed = fmt.Errorf("%w: the service ends", ErrAdded)

// OpenAdded opens the log of the index's library for pages that are added, and
// has the index answer from it, too. What a killed process left of a last write
// is cut off. The index is to be closed after it, and nobody asks it meanwhile.
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

// LogFiles are the files of the log of the library at dir, the oldest first.
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

// sequenceOf is the number of a file of the log.
func sequenceOf(name string) (n int, ok bool) {
	base, ok := strings.CutSuffix(name, logExt)
	if _, err := fmt.Sscanf(base, "%08d", &n); err != nil || !ok || len(base) != 8 {
		return 0, false
	}
	return n, true
}

// readMeta reads the header of a file of the log, and checks that it is of a
// library of these settings.
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

// load takes in the files that are there, but those that are a night already,
// which it removes. The last one with pages may have an end that is torn.
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

// replay takes in a file's pages. One behind which others have pages was whole
// when they were begun.
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

// begin makes the next file the one that is added to.
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
	a.sequence++ // also of one that fails: its file may be there
	path := filepath.Join(a.dir, fmt.Sprintf("%08d%s", a.sequence, logExt))
	out, err := wal.Create(path, text)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrAdded, err)
	}
	return newRecent(a.index, path, of), out, nil
}

func (a *Added) last() *recent { return a.files[len(a.files)-1] }

// Close writes what has come and closes the log. Its pages stay in it.
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
	a.nights.Lock() // a night that is being made has its context's end
	defer a.nights.Unlock()
	return errors.Join(a.out.Close(), a.lock.Unlock())
}

func (a *Added) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// generation changes when pages go from here to the library.
func (a *Added) generation() uint64 {
	if a == nil {
		return 0
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.changes
}

// among takes in what pages that are on the disk are to the one that is asked of,
// but those that the library had by the manifest m. It is false if pages have
// gone to the library since that generation: then it is to be asked again.
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

// byID returns the newest version of an id that is on the disk, and was not
// deleted.
func (a *Added) byID(id []byte) (v data.View, class string, ok bool) {
	if a == nil {
		return v, "", false
	}
	now, _ := a.index.look() // that the library cannot be read is for the look-up to tell
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
		if p.unit == engine.NoUnit {
			return data.View{Hi: p.hi, Lo: p.lo, Length: p.length}, p.class, true
		}
		r.units.View(p.unit, &v)
		v.Letters = slices.Clone(v.Letters) // they stand where more are added
		return v, p.class, true
	}
	return v, "", false
}

// search is among, of all pages or those on the disk, for who has mu.
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

// adding is a page that is added.
type adding struct {
	fingerprinted
	extracted bool // its text was found in HTML

	question *question
	manifest *library.Manifest // that the library answered by
	since    uint64            // generation of the files when it did

	added bool // else the newest version of its id is the very same
}

// ask asks the library what it has near the page.
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

// add compares pages, in their order, with all that is there, those before them
// too, and makes each a part of it, unless the newest version of its id is the
// very same. All become durable together, or none: the answers hold once all of
// wait are done without an error.
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

// errMoved says that pages have gone to the library in between.
var errMoved = errors.New("moved")

// join is add for pages of which the library was asked. Look-ups go on meanwhile:
// they wait for a page at a time to be put in its place.
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
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	// Also a page that is there already is answered when it, and what it was
	// told of, is on the disk.
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

// takes returns why pages cannot be added, if they cannot.
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

// compare takes in what the pages that are there are to one that comes, and says
// whether it is to be added.
func (a *Added) compare(p *adding) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	a.search(p.question, p.manifest, true)
	p.added = !a.has(p)
}

// has reports whether the newest version of a page's id is the very same.
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

// append adds a page to what is pending, for who has changing.
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

// wait waits until groups are on the disk.
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

// commit writes groups until the log is closed.
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

// write makes what is pending durable; with rotate what comes behind it goes to
// the next file.
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
	if g.err != nil { // pages go
		a.changing.Lock()
		defer a.changing.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inFlight = nil
	if g.err != nil {
		a.fail(g)
		if next != nil { // the old one is not known to end well
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

// take returns what is pending, to be written; what comes behind it goes to the
// next file, if there is one.
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

// fail takes back a group that is not on the disk, and the pages that have come
// since, which may have been told of it.
func (a *Added) fail(g *group) {
	if !a.failing { // one of many
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

// sentAgain is for how long a page that has become a night is not added once more
// when it is sent again as it was: its sender may not have got the answer.
const sentAgain = 24 * time.Hour

// addedToken begins the name that a night of added pages calls itself.
const addedToken = "added-"

// addedSince reports whether a night is of pages that were added to it since.
func addedSince(n *library.Night, since time.Time) bool {
	return strings.HasPrefix(n.Run, addedToken) && n.Added.After(since)
}

// Waiting is how many pages are no night yet.
func (a *Added) Waiting() (n int64) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range a.files {
		n += int64(r.ids.Len())
	}
	return n
}

// addedPage is a page as the log has it.
type addedPage struct {
	row       data.LibraryRow // without what the night gives it
	change    int64           // of the library when it was added
	at        time.Time
	extracted bool // its text was found in HTML
}

// formatOfPage begins a record.
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

// decode sets p to the page of a record, of whose bytes it keeps none.
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

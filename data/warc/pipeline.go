package warc

import (
	"fmt"
	"runtime/debug"

	"github.com/neardup/neardup/data"
)

// Records travel from the goroutine that finds them to those that make
// documents of them in batches of about this many records and bytes,
// whichever comes first.
const (
	batchRecords = 32
	batchBytes   = 256 << 10
	keptBuffer   = 1 << 20 // a larger one is not kept for the next record
)

// batch is a stretch of a file's records.
type batch struct {
	items []item
	n     int
	err   error // that ended the reading behind them
	panic any   // of the goroutine that converted them
	ready chan struct{}
}

// item is a record and what became of it. Its buffers are used again.
type item struct {
	rec record
	doc data.Document
	err error // a bad record
	raw []byte
}

// keep makes err's bytes the item's own.
func (it *item) keep(err error) {
	it.err = err
	if bad, ok := data.IsBadRecord(err); ok {
		it.raw = append(it.raw[:0], bad.Raw...)
		bad.Raw = it.raw
	}
}

// start starts the goroutines: one finds the records, workers convert them.
func (r *reader) start(workers int) {
	n := 2*workers + 2
	r.free, r.work, r.ordered = make(chan *batch, n), make(chan *batch, n), make(chan *batch, n)
	r.quit = make(chan struct{})
	for range n {
		r.free <- &batch{items: make([]item, batchRecords), ready: make(chan struct{}, 1)}
	}
	r.done.Go(func() {
		defer close(r.work)
		for {
			select {
			case b := <-r.free:
				r.fill(b)
				r.work <- b
				r.ordered <- b
				if b.err != nil {
					return
				}
			case <-r.quit:
				return
			}
		}
	})
	for range workers {
		r.done.Go(func() {
			c := r.newConverter()
			defer c.close()
			for b := range r.work {
				b.convert(c, r.quit)
				for i := range b.n { // also of what was not converted
					b.items[i].rec.release(r.opts.Pages)
				}
				b.ready <- struct{}{}
			}
		})
	}
}

func (r *reader) fill(b *batch) {
	b.n = 0
	for size := 0; b.n < len(b.items) && size < batchBytes; {
		it := &b.items[b.n]
		err := r.frame(&it.rec)
		if _, bad := data.IsBadRecord(err); err != nil && !bad {
			b.err = err
			return
		}
		it.keep(err)
		b.n++
		size += len(it.rec.block)
	}
}

// convert makes documents of the records, until quit is closed.
func (b *batch) convert(c *converter, quit <-chan struct{}) {
	defer func() {
		if p := recover(); p != nil {
			b.panic = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	for i := range b.n {
		it := &b.items[i]
		if it.err != nil {
			continue
		}
		select {
		case <-quit:
			return
		default:
		}
		it.doc.Reset()
		if err := c.convert(&it.doc, &it.rec); err != nil {
			it.keep(err)
		}
		it.rec.release(c.opts.Pages)
	}
}

// take gives the caller the next document.
func (r *reader) take(doc *data.Document) error {
	for r.cur == nil || r.next == r.cur.n {
		if r.cur != nil {
			if r.cur.err != nil {
				return r.end(r.cur.err)
			}
			r.free <- r.cur
		}
		r.cur, r.next = <-r.ordered, 0
		<-r.cur.ready
		if r.cur.panic != nil {
			r.err = fmt.Errorf("warc: %s: a conversion panicked", r.archive.path)
			panic(r.cur.panic) // as if the caller's goroutine had converted the record
		}
	}
	it := &r.cur.items[r.next]
	r.next++
	if it.err != nil {
		return it.err
	}
	*doc, it.doc = it.doc, *doc
	if cap(it.doc.Text) > keptBuffer {
		it.doc = data.Document{}
	}
	return nil
}

func (r *reader) stop() error {
	close(r.quit)
	r.archive.members.Interrupt() // gives the goroutine that finds records an error
	r.done.Wait()
	return r.archive.close()
}

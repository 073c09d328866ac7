// Package extsort sorts more byte strings than fit in memory: it collects
// them up to a limit, spills sorted runs into a folder and merges the runs.
// It never interprets the strings and leaves no file behind.
package extsort

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// Sorter collects items and yields them in ascending order of key, then of
// value. Add and Sorted are called by one goroutine; sorting, writing and
// merging go on beside it.
type Sorter struct {
	dir     string
	limit   int // of a chunk
	workers int
	maxRuns int // open files at most

	chunk, spare *chunk
	runs         []*os.File // the spill's while one is under way
	spilling     chan error // gives its error; nil without a spill
	err          error      // of an earlier spill
}

// chunk is some items. batchBytes is the size of one that is handed on.
type chunk struct {
	text  []byte // keys and values, back to back
	items []item
}

const batchBytes = 1 << 17

// item is a key in chunk.text with its value behind it; prefix holds the
// first eight bytes after those that all keys of a chunk share.
type item struct {
	prefix     uint64
	start      int
	key, value uint32 // lengths
}

const itemBytes = 24

func (c *chunk) size() int { return len(c.text) + itemBytes*len(c.items) }

func (c *chunk) add(key, value []byte) {
	start := len(c.text)
	c.text = append(append(c.text, key...), value...)
	c.items = append(c.items, item{start: start, key: uint32(len(key)), value: uint32(len(value))})
}

func (c *chunk) clear() { c.text, c.items = c.text[:0], c.items[:0] }

func (c *chunk) keyOf(it item) []byte { return c.text[it.start:][:it.key] }

func (c *chunk) valueOf(it item) []byte { return c.text[it.start+int(it.key):][:it.value] }

// each calls yield with the items as they stand, and stops at its first error.
func (c *chunk) each(yield func(key, value []byte) error) error {
	for _, it := range c.items {
		if err := yield(c.keyOf(it), c.valueOf(it)); err != nil {
			return err
		}
	}
	return nil
}

// New returns a sorter that holds about limit bytes in memory, spills into
// dir and sorts on workers goroutines.
func New(dir string, limit, workers int) *Sorter {
	return &Sorter{dir: dir, limit: max(limit/2, 1<<15), workers: max(workers, 1), maxRuns: 400, chunk: &chunk{}, spare: &chunk{}}
}

// Add takes one item; key and value are copied. Its error may be that of an
// earlier item.
func (s *Sorter) Add(key, value []byte) error {
	if s.chunk.size()+len(key)+len(value)+itemBytes > s.limit && len(s.chunk.items) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.chunk.add(key, value)
	return nil
}

// Close removes what was spilled.
func (s *Sorter) Close() error {
	_ = s.spilled() // its error is for Add and Sorted
	s.chunk, s.spare = &chunk{}, &chunk{}
	return s.removeRuns()
}

func (s *Sorter) removeRuns() error {
	var errs []error
	for _, f := range s.runs {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	s.runs = nil
	return errors.Join(errs...)
}

// Sorted calls yield with every item in order and stops at its first error.
// key and value are valid until yield returns. It may be called again, but no
// Add follows it.
func (s *Sorter) Sorted(ctx context.Context, yield func(key, value []byte) error) error {
	if err := s.spilled(); err != nil {
		return err
	}
	if len(s.runs) == 0 {
		s.chunk.sort(s.workers)
		n := 0
		return s.chunk.each(func(key, value []byte) error {
			if n&0xffff == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			n++
			return yield(key, value)
		})
	}
	if len(s.chunk.items) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
		if err := s.spilled(); err != nil {
			return err
		}
	}
	s.chunk, s.spare = &chunk{}, &chunk{}
	return s.ahead(ctx, yield)
}

// ahead is merged with the merging done ahead of yield, batch by batch.
func (s *Sorter) ahead(ctx context.Context, yield func(key, value []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	full, free := make(chan *chunk), make(chan *chunk, 2)
	defer func() {
		cancel()
		for range full { // until the merge has ended
		}
	}()
	for range cap(free) {
		free <- &chunk{}
	}
	var err error // of the merge, once full is closed
	go func() {
		defer close(full)
		batch := <-free
		hand := func() error {
			select {
			case full <- batch:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case batch = <-free:
				batch.clear()
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err = s.merged(ctx, func(key, value []byte) error {
			batch.add(key, value)
			if len(batch.text) < batchBytes {
				return nil
			}
			return hand()
		})
		if err == nil {
			err = hand()
		}
	}()
	for batch := range full {
		if err := batch.each(yield); err != nil {
			return err
		}
		free <- batch
	}
	return err
}

// merged yields the items of all runs in order.
func (s *Sorter) merged(ctx context.Context, yield func(key, value []byte) error) error {
	var merged runHeap
	for _, f := range s.runs {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("sort: %w", err)
		}
		r := &run{in: bufio.NewReaderSize(f, 1<<17), name: f.Name()}
		if err := r.next(); err == nil {
			merged = append(merged, r)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
	}
	heap.Init(&merged)
	for n := 0; len(merged) > 0; n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r := merged[0]
		if err := yield(r.key, r.value); err != nil {
			return err
		}
		switch err := r.next(); {
		case err == nil:
			heap.Fix(&merged, 0)
		case errors.Is(err, io.EOF):
			heap.Pop(&merged)
		default:
			return err
		}
	}
	return nil
}

// sort sorts the items: each worker a stretch, then merged pairwise.
func (c *chunk) sort(workers int) {
	if len(c.items) == 0 {
		return
	}
	shared := c.keyOf(c.items[0])
	for _, it := range c.items[1:] {
		shared = shared[:commonPrefix(shared, c.keyOf(it))]
	}
	skip := len(shared)
	for i := range c.items {
		it := &c.items[i]
		var b [8]byte
		copy(b[:], c.keyOf(*it)[skip:])
		it.prefix = binary.BigEndian.Uint64(b[:])
	}
	compare := func(a, b item) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		if order := bytes.Compare(c.keyOf(a)[skip:], c.keyOf(b)[skip:]); order != 0 {
			return order
		}
		return bytes.Compare(c.valueOf(a), c.valueOf(b))
	}
	parts := cut(c.items, workers)
	var wg sync.WaitGroup
	for _, p := range parts {
		wg.Go(func() { slices.SortFunc(p, compare) })
	}
	wg.Wait()
	for len(parts) > 1 {
		var next [][]item
		for i := 0; i+1 < len(parts); i += 2 {
			next = append(next, merge(parts[i], parts[i+1], compare))
		}
		if len(parts)%2 == 1 {
			next = append(next, parts[len(parts)-1])
		}
		parts = next
	}
	c.items = parts[0]
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func cut(items []item, n int) [][]item {
	size := (len(items) + n - 1) / n
	return slices.Collect(slices.Chunk(items, max(size, 1)))
}

func merge(a, b []item, compare func(a, b item) int) []item {
	out := make([]item, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// spill begins to write the items in memory as a sorted run, when the spill
// before has ended.
func (s *Sorter) spill() error {
	if err := s.spilled(); err != nil {
		return err
	}
	full, done := s.chunk, make(chan error, 1)
	s.chunk, s.spare, s.spilling = s.spare, full, done
	s.chunk.clear()
	go func() { done <- s.write(full) }()
	return nil
}

// spilled waits for a spill, and returns the error of the first that failed.
func (s *Sorter) spilled() error {
	if s.spilling != nil {
		err := <-s.spilling
		s.spilling, s.err = nil, cmp.Or(s.err, err)
	}
	return s.err
}

// write writes the chunk as a sorted run. Too many runs become one.
func (s *Sorter) write(c *chunk) error {
	c.sort(s.workers)
	if err := s.writeRun(c.each); err != nil || len(s.runs) < s.maxRuns {
		return err
	}
	many := s.runs
	err := s.writeRun(func(add func(key, value []byte) error) error {
		s.runs = many
		return s.merged(context.Background(), add)
	})
	if err != nil {
		return err
	}
	one := s.runs[len(s.runs)-1]
	s.runs = many
	if err := s.removeRuns(); err != nil {
		return errors.Join(err, one.Close(), os.Remove(one.Name()))
	}
	s.runs = []*os.File{one}
	return nil
}

// writeRun appends a run of the items that each passes to add, in order: the
// two lengths, then key and value.
func (s *Sorter) writeRun(each func(add func(key, value []byte) error) error) error {
	f, err := os.CreateTemp(s.dir, "sort-*")
	if err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	var head [2 * binary.MaxVarintLen64]byte
	err = each(func(key, value []byte) error {
		n := binary.PutUvarint(head[:], uint64(len(key)))
		n += binary.PutUvarint(head[n:], uint64(len(value)))
		for _, b := range [][]byte{head[:n], key, value} {
			if _, err := out.Write(b); err != nil {
				return fmt.Errorf("sort: %w", err)
			}
		}
		return nil
	})
	if err == nil {
		err = out.Flush()
	}
	s.runs = append(s.runs, f)
	return err
}

// run is one spilled run and the item that it stands at.
type run struct {
	in         *bufio.Reader
	name       string
	text       []byte // backs both
	key, value []byte
}

// next moves to the next item; io.EOF behind the last.
func (r *run) next() error {
	key, err := binary.ReadUvarint(r.in)
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	var value uint64
	if err == nil {
		value, err = binary.ReadUvarint(r.in)
	}
	if err == nil {
		r.text = slices.Grow(r.text[:0], int(key+value))[:key+value]
		_, err = io.ReadFull(r.in, r.text)
		r.key, r.value = r.text[:key], r.text[key:]
	}
	if err != nil {
		return fmt.Errorf("sort: %s: %w", r.name, noEOF(err))
	}
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// runHeap orders runs by the item that they stand at.
type runHeap []*run

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	return bytes.Compare(h[i].value, h[j].value) < 0
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

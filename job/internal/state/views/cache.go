package views

import (
	"container/list"
	"fmt"
	"sync"

	"github.com/neardup/neardup/data"
)

// shards is the number of parts of the cache, each with a lock of its own.
const shards = 16

// shard is a part of the cache. What is in blocks is read under the lock
// alone, so that a buffer that is evicted can be used again.
type shard struct {
	mu     sync.Mutex
	blocks lru[key, *buffer]
}

// buffer holds a block.
type buffer [blockBytes]byte

type key struct {
	part   int
	column column
	index  int
}

// View sets v to the view of a document, whose letters and sample it appends to
// v.Letters[:0] and v.Sample[:0]. It reads through a cache of CacheBytes; Scan
// is far faster where documents come in order. After an error v is undefined.
func (f *Folder) View(doc uint64, v *data.View) error {
	if doc >= f.Len() {
		return fmt.Errorf("views: there is no document %d of %d", doc, f.Len())
	}
	*v = data.View{Letters: v.Letters[:0], Sample: v.Sample[:0]}
	part := f.Part(doc)
	row := doc - f.firsts[part]
	lane, err := f.get(part, fingerprints, row, v)
	for _, has := range [...]struct {
		column
		is bool
	}{{sketches, f.form.Verified}, {letters, lane&lettered != 0}, {samples, lane&sampled != 0}} {
		if err == nil && has.is {
			_, err = f.get(part, has.column, row, v)
		}
	}
	return err
}

// get sets what a column has of v; of fingerprints it returns the lane.
func (f *Folder) get(part int, c column, row uint64, v *data.View) (lane byte, err error) {
	p, width := &f.parts[part], f.form.width(c)
	index, at := p.find(c, width, row)
	b := p.blocks[c][index]
	set := func(content []byte) {
		row := content[at*width : (at+1)*width]
		tail := func(dst []byte) []byte {
			tails := content[int(b.rows)+units[c]*sum(content[:at]):]
			return append(dst, tails[:int(row[0])*units[c]]...)
		}
		switch c {
		case fingerprints:
			lane = setFingerprint(v, row)
		case sketches:
			setSketch(v, row)
		case letters:
			v.Letters = trimPad(tail(v.Letters))
		case samples:
			v.Sample = tail(v.Sample)
		}
	}

	k := key{part, c, index}
	s := &f.shards[(uint(part)*31+uint(index)*uint(columns)+uint(c))%shards]
	s.mu.Lock()
	buf, ok := s.blocks.get(k)
	if ok {
		set(buf[:b.size])
	}
	s.mu.Unlock()
	if ok {
		return lane, nil
	}

	buf = f.free.Get().(*buffer)
	content, err := f.load(part, c, index, buf)
	if err != nil {
		f.free.Put(buf)
		return 0, err
	}
	set(content)
	s.mu.Lock()
	old, evicted := s.blocks.put(k, buf, f.CacheBytes/blockBytes/shards)
	s.mu.Unlock()
	if evicted {
		f.free.Put(old)
	}
	return lane, nil
}

// lru holds values and forgets the one that was not asked for the longest. Its
// zero value is empty.
type lru[K comparable, V any] struct {
	order   list.List // of entry[K, V], the last used first
	entries map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func (l *lru[K, V]) get(k K) (v V, ok bool) {
	e, ok := l.entries[k]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

// put adds v. If there are more than limit values then, or there is one of k
// already, it returns the one that has no place: with a limit of 0, and in the
// second case, v itself.
func (l *lru[K, V]) put(k K, v V, limit int) (old V, evicted bool) {
	if _, ok := l.entries[k]; ok {
		return v, true
	}
	if l.entries == nil {
		l.entries = map[K]*list.Element{}
	}
	l.entries[k] = l.order.PushFront(entry[K, V]{k, v})
	if len(l.entries) <= limit {
		return old, false
	}
	last := l.order.Remove(l.order.Back()).(entry[K, V])
	delete(l.entries, last.key)
	return last.value, true
}

// clear removes all values and returns them.
func (l *lru[K, V]) clear() (values []V) {
	for e := l.order.Front(); e != nil; e = e.Next() {
		values = append(values, e.Value.(entry[K, V]).value)
	}
	*l = lru[K, V]{}
	return values
}

package engine

import (
	"context"
	"math/bits"
	"runtime/debug"
	"sync"

	"github.com/neardup/neardup/mapper"
)

// Repeats says of keys, more than there is memory for, which of them may have
// come more than once: it counts, to two, in slots that keys share by their hash.
type Repeats struct {
	slots  uint64
	words  []uint64 // two bits for each slot: that a key came, and that another did
	stripe uint64   // how many slots one of the locks guards
	locks  [repeatStripes]sync.Mutex

	mu          sync.Mutex
	keys, alone uint64 // all that came, and the slots to which one came
}

const (
	slotsPerWord  = 32
	slotsPerKey   = 16 // of keys that come once, about one in so many shares a slot
	repeatStripes = 1024
	repeatBatch   = 64 // slots are set, and looked at, so many at a time: cache misses overlap
)

// NewRepeats returns one for about so many keys, of no more than memory bytes or,
// if that is more, 8 KiB.
func NewRepeats(keys uint64, memory int64) *Repeats {
	stripe := max(1, min(keys*slotsPerKey/slotsPerWord, uint64(memory)/8)/repeatStripes) // words
	words := stripe * repeatStripes
	return &Repeats{slots: words * slotsPerWord, words: make([]uint64, words), stripe: stripe * slotsPerWord}
}

func (r *Repeats) slot(key uint64) uint64 {
	return uint64(mapper.Shard(key, int(r.slots)))
}

// Repeated calls yield with those of the keys that scan yields that may have come
// more than once: with all that did. It may be called concurrently, once all
// were added.
func (r *Repeats) Repeated(scan func(yield func(doc, key uint64)) error, yield func(doc, key uint64)) error {
	var batch [repeatBatch]struct{ doc, key, slot uint64 }
	n := 0
	look := func() {
		var found uint64 // a bit for each of the batch
		for i := range batch[:n] {
			slot := batch[i].slot
			found |= r.words[slot/slotsPerWord] >> (slot%slotsPerWord*2 + 1) & 1 << i
		}
		for ; found != 0; found &= found - 1 {
			c := &batch[bits.TrailingZeros64(found)]
			yield(c.doc, c.key)
		}
		n = 0
	}
	err := scan(func(doc, key uint64) {
		c := &batch[n]
		c.doc, c.key, c.slot = doc, key, r.slot(key)
		if n++; n == repeatBatch {
			look()
		}
	})
	look()
	return err
}

// candidates is how many of the keys that came are repeated.
func (r *Repeats) candidates() uint64 { return r.keys - r.alone }

// Add adds the keys that scan yields. It may be called concurrently.
func (r *Repeats) Add(scan func(yield func(doc, key uint64)) error) error {
	var batches [repeatStripes][]uint64
	room := make([]uint64, repeatStripes*repeatBatch)
	for i := range batches {
		batches[i] = room[i*repeatBatch:][:0:repeatBatch]
	}
	var keys, alone uint64
	set := func(stripe uint64) {
		r.locks[stripe].Lock()
		for _, slot := range batches[stripe] {
			word, at := &r.words[slot/slotsPerWord], slot%slotsPerWord*2
			came, again := *word>>at&1, *word>>at>>1&1
			*word |= (1 | came<<1) << at
			alone += 1 - came - (came &^ again) // modulo 2^64
		}
		r.locks[stripe].Unlock()
		keys += uint64(len(batches[stripe]))
		batches[stripe] = batches[stripe][:0]
	}
	err := scan(func(_, key uint64) {
		slot := r.slot(key)
		stripe := slot / r.stripe
		if batches[stripe] = append(batches[stripe], slot); len(batches[stripe]) == repeatBatch {
			set(stripe)
		}
	})
	for stripe := range batches {
		set(uint64(stripe))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.alone = r.keys+keys, r.alone+alone
	return err
}

// release gives the memory back, to the system too: what comes next may need all
// that there is. The Repeats is over.
func (r *Repeats) release() {
	r.words = nil
	debug.FreeOSMemory()
}

// repeats finds which keys may come more than once, in half of the memory.
func (x *Identities) repeats(ctx context.Context, keys keys) (*Repeats, error) {
	r := NewRepeats(x.Documents.Len(), x.Memory/2)
	return r, x.eachSplit(ctx, func(split int) error {
		return r.Add(keys.within(x.Documents.First(split), x.Documents.First(split+1)))
	})
}

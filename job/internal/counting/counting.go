// Package counting has a counting filter (Fan, Cao, Almeida, Broder: Summary Cache,
// SIGCOMM 1998), with one hash and counts to two: it says which of more keys than
// there is memory for may have come more than once, and misses none that did.
package counting

import (
	"math/bits"
	"runtime/debug"
	"sync"

	"github.com/neardup/neardup/mapper"
)

// Filter counts keys, to two, in slots that they share by their hash.
type Filter struct {
	slots  uint64
	words  []uint64 // two bits for each slot: that a key came, and that another did
	stripe uint64   // how many slots one of the locks guards
	locks  [stripes]sync.Mutex

	mu          sync.Mutex
	keys, alone uint64 // all that came, and the slots to which one came
}

// SlotsPerKey is how many slots there are for a key where there is memory: of keys
// that come once, about one in so many shares a slot.
const SlotsPerKey = 16

const (
	slotsPerWord = 32
	stripes      = 1024
	batchKeys    = 64 // slots are set, and looked at, so many at a time: cache misses overlap
)

// New returns one for about so many keys, of no more than memory bytes or,
// if that is more, 8 KiB.
func New(keys uint64, memory int64) *Filter {
	stripe := max(1, min(keys*SlotsPerKey/slotsPerWord, uint64(memory)/8)/stripes) // words
	words := stripe * stripes
	return &Filter{slots: words * slotsPerWord, words: make([]uint64, words), stripe: stripe * slotsPerWord}
}

func (f *Filter) slot(key uint64) uint64 {
	return uint64(mapper.Shard(key, int(f.slots)))
}

// Repeated calls yield with those of the keys that scan yields that may have come
// more than once: with all that did. It may be called concurrently, once all
// were added.
func (f *Filter) Repeated(scan func(yield func(doc, key uint64)) error, yield func(doc, key uint64)) error {
	var batch [batchKeys]struct{ doc, key, slot uint64 }
	n := 0
	look := func() {
		var found uint64 // a bit for each of the batch
		for i := range batch[:n] {
			slot := batch[i].slot
			found |= f.words[slot/slotsPerWord] >> (slot%slotsPerWord*2 + 1) & 1 << i
		}
		for ; found != 0; found &= found - 1 {
			c := &batch[bits.TrailingZeros64(found)]
			yield(c.doc, c.key)
		}
		n = 0
	}
	err := scan(func(doc, key uint64) {
		c := &batch[n]
		c.doc, c.key, c.slot = doc, key, f.slot(key)
		if n++; n == batchKeys {
			look()
		}
	})
	look()
	return err
}

// Candidates is how many of the keys that came are repeated.
func (f *Filter) Candidates() uint64 { return f.keys - f.alone }

// Add adds the keys that scan yields. It may be called concurrently.
func (f *Filter) Add(scan func(yield func(doc, key uint64)) error) error {
	var batches [stripes][]uint64
	room := make([]uint64, stripes*batchKeys)
	for i := range batches {
		batches[i] = room[i*batchKeys:][:0:batchKeys]
	}
	var keys, alone uint64
	set := func(stripe uint64) {
		f.locks[stripe].Lock()
		for _, slot := range batches[stripe] {
			word, at := &f.words[slot/slotsPerWord], slot%slotsPerWord*2
			came, again := *word>>at&1, *word>>at>>1&1
			*word |= (1 | came<<1) << at
			alone += 1 - came - (came &^ again) // modulo 2^64
		}
		f.locks[stripe].Unlock()
		keys += uint64(len(batches[stripe]))
		batches[stripe] = batches[stripe][:0]
	}
	err := scan(func(_, key uint64) {
		slot := f.slot(key)
		stripe := slot / f.stripe
		if batches[stripe] = append(batches[stripe], slot); len(batches[stripe]) == batchKeys {
			set(stripe)
		}
	})
	for stripe := range batches {
		set(uint64(stripe))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys, f.alone = f.keys+keys, f.alone+alone
	return err
}

// Release gives the memory back, to the system too: what comes next may need all
// that there is. The filter is over.
func (f *Filter) Release() {
	f.words = nil
	debug.FreeOSMemory()
}

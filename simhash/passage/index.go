package passage

import (
	"errors"
	"math/bits"
)

const (
	// stride is the least weight between the ends of two indexed grams of an item,
	// whose first and last grams are always indexed.
	stride = 6

	// mostOf is how many items a gram leads to: the first that have it. A gram that
	// more items have belongs to a form; other grams tell these items apart.
	mostOf = 16

	filterBits = 16 // of the filter a gram
)

// Seen is the weight of a common stretch of a document and an item that a search always
// finds, unless it has too few different letters or its grams belong to more than 16
// items. A stretch of 29 letters of an alphabet suffices, or one of nine Chinese
// characters.
const Seen = gramWeight + heaviest - 1 + stride + heaviest - 1

// errFull is returned by Add if the items are more than an index can hold.
var errFull = errors.New("passage: the items have more than 2³² letters: divide them")

// Builder takes the items of a reference.
type Builder struct {
	letters []uint32
	ends    []int // of items in letters
	taken   []takenGram
	roller  roller
	hashes  [1024]uint64
}

// takenGram is a gram of an item.
type takenGram struct {
	hash uint64
	at   posting
}

// posting is where a gram is: with the letter end of item.
type posting struct{ item, end uint32 }

// Add adds an item, of which it keeps a copy, and returns its number, counted from 0.
// It fails if all items together would have 2³² letters or more.
func (b *Builder) Add(letters []uint32) (item int, err error) {
	item = len(b.ends)
	if uint64(len(b.letters)+len(letters)) >= 1<<32 {
		return 0, errFull
	}
	b.letters = append(b.letters, letters...)
	b.ends = append(b.ends, len(b.letters))
	b.roller = roller{letters: letters}
	from := 0           // of the letters that hashes are of
	since := stride     // weight since the end of the gram that was taken last
	last := takenGram{} // the last gram, unless it was taken
	take := func(g takenGram) {
		if !plain(gramAt(letters, int(g.at.end))) {
			b.taken = append(b.taken, g)
		}
	}
	for n := b.roller.fill(b.hashes[:]); n > 0; n = b.roller.fill(b.hashes[:]) {
		for i, h := range b.hashes[:n] {
			if since += Weight(letters[from+i]); h == 0 {
				since = stride
				continue
			}
			last = takenGram{h, posting{uint32(item), uint32(from + i)}}
			if since >= stride {
				take(last)
				last, since = takenGram{}, 0
			}
		}
		from += n
	}
	if last.hash != 0 {
		take(last)
	}
	return item, nil
}

// Index finds the grams of items. It is immutable, and any number of Searchers may use
// it at the same time.
type Index struct {
	letters []uint32
	ends    []int
	weights []int // of items, without what only grams that others took lead to

	// filter has a bit for the leading bits of each gram's hash. It rules out nearly
	// all grams of a text, and mostly stays in a near cache.
	filter []uint64
	shift  uint

	// slots is a table with open addressing. A gram of several items has several
	// slots, in the order of the items.
	slots []slot
	mask  uint64
}

type slot struct {
	tag uint32 // of the hash; 0: the slot is free
	at  posting
}

// Build returns the index of the items that were added. The Builder must not be used
// after that.
func (b *Builder) Build() *Index {
	n := max(len(b.taken), 1)
	x := &Index{letters: b.letters, ends: b.ends, weights: make([]int, len(b.ends))}
	size := 1 << bits.Len(uint(n+n/2))
	x.slots, x.mask = make([]slot, size), uint64(size-1)
	filter := uint(bits.Len(uint(n*filterBits - 1)))
	filter = max(filter, 6)
	x.filter, x.shift = make([]uint64, 1<<(filter-6)), 64-filter
	for _, g := range b.taken {
		if x.insert(g) {
			x.weights[g.at.item] += stride
		}
	}
	b.taken = nil
	return x
}

// tagOf is the part of a hash that a slot keeps; the slot's place has the others.
func tagOf(hash uint64) uint32 { return uint32(hash>>32) | 1 }

// insert adds a gram, unless it leads to enough items; then it returns false.
func (x *Index) insert(g takenGram) bool {
	bit := g.hash >> x.shift
	x.filter[bit/64] |= 1 << (bit % 64)
	tag, of := tagOf(g.hash), 0
	for i := g.hash >> 1 & x.mask; ; i = (i + 1) & x.mask {
		s := &x.slots[i]
		if s.tag == 0 {
			*s = slot{tag, g.at}
			return true
		}
		if s.tag == tag {
			if of++; of == mostOf || s.at.item == g.at.item {
				return s.at.item == g.at.item
			}
		}
	}
}

// Items returns the number of items.
func (x *Index) Items() int { return len(x.ends) }

// Item returns the letters of an item.
func (x *Index) Item(item int) []uint32 {
	from := 0
	if item > 0 {
		from = x.ends[item-1]
	}
	return x.letters[from:x.ends[item]]
}

// Bytes is the memory that the index takes.
func (x *Index) Bytes() int64 {
	return int64(4*cap(x.letters) + 8*cap(x.ends) + 8*cap(x.weights) + 8*len(x.filter) + 12*len(x.slots))
}

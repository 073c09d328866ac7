package hamming

import (
	"context"
	"math/bits"

	"github.com/neardup/neardup/simhash/columns"
)

// A scope says why the fingerprints of a group are together: they agree on one of
// keys[from:to]. It decides which group reports a pair that several groups find:
// the one for which, in its scope and in all outer ones, the first of keys that
// the pair agrees on is one of keys[from:to].
type scope struct {
	keys     []columns.Uint128
	from, to int
	outer    *scope
}

func (f *scope) owns(x columns.Uint128) bool {
	for ; f != nil; f = f.outer {
		t := 0
		for t < f.to && !f.keys[t].And(x).IsZero() {
			t++
		}
		if t < f.from || t == f.to {
			return false
		}
	}
	return true
}

const (
	lanes      = 8    // fingerprints compared at once
	largeGroup = 2048 // groups from here on are split further
	maxDepth   = 6

	cancelBlocks = 1 << 10 // blocks of lanes compared between looks at the context
)

// A comparer finds the pairs inside groups. It is the workspace of one worker.
//
// It compares a block of 8 adjacent fingerprints with the 8 that stand offset
// places further on, for offset = 1, 2, …: eight pairs at a time, from one
// contiguous read.
//
//	values     a b c d e f g h │ i j k l m n o p │ q …
//	           └── block 0 ──┘
//	offset 1   ab bc cd de ef fg gh hi
//	offset 2   ac bd ce df eg fh gi hj
//
// The reach of a block is the largest offset at which any of its fingerprints
// still has one of its own group. So pairs of two groups are compared too. If the
// groups are those of a key, owns rejects such a pair, as it does not agree on the
// key.
type comparer[F columns.Fingerprint] struct {
	ctx    context.Context
	k      int
	simd   bool
	emit   func(a, b *F, distance int)
	levels [maxDepth + 1]level[F]
	hits   [4096]hit
}

// level is the workspace of one depth of recursion.
type level[F columns.Fingerprint] struct {
	grouper columns.Grouper[F]
	values  []F      // in order of group, with columns.Slack more behind
	reach   []uint32 // by block
	large   []large
}

type large struct{ from, to uint32 }

// A hit is block<<32 | offset<<8 | lanes: a bit for each lane l at which
// fingerprints block*8+l and block*8+l+offset are within k.
type hit uint64

const maxOffset = 1<<24 - 1

func (c *comparer[F]) groupTarget() int {
	return int(joiningBy(c.simd).group)
}

// key groups v by key f.from and compares inside the groups. All of v are known to
// agree in the bits outside free.
func (c *comparer[F]) key(v []F, f scope, free columns.Mask, depth int) {
	if len(v) < 2 {
		return
	}
	l := &c.levels[depth]
	values, ends := l.grouper.Group(v, f.keys[f.from], free, c.groupTarget())
	l.values = values[:len(v)+columns.Slack]
	l.group(c, ends, len(v), &f, depth)
}

// group compares inside the groups of l.values[:n].
func (l *level[F]) group(c *comparer[F], ends []uint32, n int, f *scope, depth int) {
	reach := l.blocks(n)
	clear(reach)
	l.large = l.large[:0]
	from := uint32(0)
	for _, end := range ends {
		if size := end - from; size > 1 {
			if size >= largeGroup && depth < maxDepth {
				l.large = append(l.large, large{from, end})
			} else {
				b := from / lanes
				reach[b] = max(reach[b], size-1)
				for b++; b*lanes < end; b++ {
					reach[b] = max(reach[b], end-1-b*lanes)
				}
			}
		}
		from = end
	}
	c.compare(l, n, f)
	for _, g := range l.large {
		values := l.values[g.from:g.to]
		if c.ctx.Err() != nil {
			return
		}
		c.split(values, *f, depth+1)
	}
}

// blocks returns l.reach with an element for each block of n values.
func (l *level[F]) blocks(n int) []uint32 {
	blocks := (n + lanes - 1) / lanes
	if cap(l.reach) < blocks {
		l.reach = make([]uint32, blocks+blocks/8)
	}
	l.reach = l.reach[:blocks]
	return l.reach
}

// compare compares each block of l.values[:n] up to its reach, and emits the pairs
// that the scope owns.
func (c *comparer[F]) compare(l *level[F], n int, f *scope) {
	block, offset := 0, 1
	reach := l.reach
	for block < len(reach) {
		if c.ctx.Err() != nil {
			return
		}
		var found int
		part := reach[:min(block+cancelBlocks, len(reach))]
		if c.simd {
			block, offset, found = nearSIMD(l.values, part, c.k, block, offset, c.hits[:])
		} else {
			block, offset, found = near(l.values, part, c.k, block, offset, c.hits[:])
		}
		for _, h := range c.hits[:found] {
			first, ahead := int(h>>32)*lanes, int(h>>8&maxOffset)
			for m := uint8(h); m != 0; m &= m - 1 {
				i := first + bits.TrailingZeros8(m)
				j := i + ahead
				if j >= n || len(l.large) > 0 && l.inLarge(uint32(i), uint32(j)) {
					continue
				}
				a, b := &l.values[i], &l.values[j]
				if f.owns(columns.Diff(a, b)) {
					c.emit(a, b, columns.Distance(a, b))
				}
			}
		}
	}
}

// inLarge reports whether places i < j are in one large group, which is compared
// apart.
func (l *level[F]) inLarge(i, j uint32) bool {
	for _, g := range l.large {
		if i >= g.from && j < g.to {
			return true
		}
	}
	return false
}

// near compares the blocks of v, beginning at the given block and offset, each up
// to its reach. It stops at the end or when hits is full. It returns the block and
// offset to go on from, and the number of hits.
func near[F columns.Fingerprint](v []F, reach []uint32, k, block, offset int, hits []hit) (int, int, int) {
	found := 0
	for ; block < len(reach); block++ {
		a := v[block*lanes : block*lanes+lanes]
		for ; offset <= int(reach[block]); offset++ {
			if found == len(hits) {
				return block, offset, found
			}
			b := v[block*lanes+offset : block*lanes+offset+lanes]
			if nearest((*[lanes]F)(a), (*[lanes]F)(b)) > k {
				continue
			}
			var m hit
			for i := range a {
				if columns.Distance(&a[i], &b[i]) <= k {
					m |= 1 << i
				}
			}
			hits[found] = hit(block)<<32 | hit(offset)<<8 | m
			found++
		}
		offset = 1
	}
	return block, 1, found
}

// nearest returns the smallest of the eight distances of a[i] and b[i].
func nearest[F columns.Fingerprint](a, b *[lanes]F) int {
	return min(columns.Distance(&a[0], &b[0]), columns.Distance(&a[1], &b[1]), columns.Distance(&a[2], &b[2]), columns.Distance(&a[3], &b[3]),
		columns.Distance(&a[4], &b[4]), columns.Distance(&a[5], &b[5]), columns.Distance(&a[6], &b[6]), columns.Distance(&a[7], &b[7]))
}

// all compares every pair of v.
func (c *comparer[F]) all(v []F, f *scope, depth int) {
	l := &c.levels[depth]
	values, _ := l.grouper.Group(v, columns.Mask{}, columns.Everything, len(v))
	l.values, l.large = values[:len(v)+columns.Slack], l.large[:0]
	for b, reach := 0, l.blocks(len(v)); b < len(reach); b++ {
		reach[b] = uint32(len(v) - 1 - b*lanes)
	}
	c.compare(l, len(v), f)
}

// split finds the pairs of a large group by a plan for the bits that vary in it,
// or compares all its pairs if no plan would be less work.
func (c *comparer[F]) split(v []F, f scope, depth int) {
	vary := columns.Varying(v)
	width := vary.Ones()
	if width <= c.k || depth >= maxDepth {
		c.all(v, &f, depth)
		return
	}
	plan := choosePlan(width, c.k, len(v), joiningBy(c.simd))
	if len(plan.regions) == 0 {
		c.all(v, &f, depth)
		return
	}
	keys := plan.onto(vary).keys
	if !worthwhile(v, keys) {
		c.all(v, &f, depth)
		return
	}
	for t := range keys {
		c.key(v, scope{keys: keys, from: t, to: t + 1, outer: &f}, vary, depth)
	}
}

// worthwhile estimates, from a sample of 256, whether grouping by keys is less work
// than comparing all pairs. It counts which share of the sample's pairs fall into
// one group: skewed fingerprints may agree on a key although they vary elsewhere.
func worthwhile[F columns.Fingerprint](v []F, keys []columns.Uint128) bool {
	const size, width = 256, 12
	var counts [1 << width]uint8
	step := len(v) / size
	if step == 0 {
		return false
	}
	n := float64(len(v))
	together := 0
	for t := range keys {
		by := columns.Spread{Mask: keys[t], Mul: columns.GroupHash, Shift: 64 - width}
		for i := range size {
			h := columns.Number(&v[i*step], &by)
			together += int(counts[h])
			if counts[h] < 255 {
				counts[h]++
			}
		}
		for i := range size {
			counts[columns.Number(&v[i*step], &by)] = 0
		}
	}
	share := float64(together) / (size * (size - 1) / 2)
	return share*n*joining.compare+float64(len(keys))*joining.key < 0.8*n*joining.compare
}

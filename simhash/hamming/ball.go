package hamming

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"
)

// A ball is a crowd of values near a centre: pages of one template, say. Of
// its many pairs few are best matches, so [Set.Best] does not visit them: it
// takes the ball out of the join, finds the best match of each member by
// looking at the others from the smallest document on, until there can be no
// better one, and compares the ball with the few values around it.
type ball[F Fingerprint] struct {
	s      *Set[F]
	k      int
	simd   bool
	order  []uint32 // members, as indices of the set, from the smallest document on
	values []F      // in that order, with slack
	around []uint32 // other values that may be within k of a member

	// The hash is linear: that of a member with a bit flipped is the member's
	// xor the bit's, so looking for neighbours costs little.
	bits   []F // in which members differ, one each
	flips  []uint32
	hashes []uint32 // of members
	filter []uint64
	ranks  []uint32 // hash table: 1 + place in order
}

// Costs in nanoseconds, for deciding whether a ball is worth its own way.
const (
	ballPairCost   = 60.0 // of a pair that the join finds
	ballMemberCost = 150.0
	ballScanCost   = 0.15 // of one comparison
	ballFindScan   = 150  // comparisons take as long as finding a value
	ballsMax       = 16
	ballMin        = 64
	ballMax        = 1 << 25 // the hashes are 32 bits wide
)

// balls gives r the best matches of the members of balls among themselves and
// with the values around, and returns the other values, ascending, with slack.
func (s *Set[F]) balls(ctx context.Context, k int, opt Options, r *Reducer[F]) []F {
	n := len(s.values)
	if n < 1<<11 || k < 1 {
		return s.values
	}
	near := newNeighbours(s, k, haveSIMD && !opt.NoSIMD)
	var taken []uint64 // members of balls
	left := n
	for range ballsMax {
		centre, ok := near.next()
		if !ok || ctx.Err() != nil {
			break
		}
		b, radius := s.ball(centre, k, near.reach, taken, opt)
		near.drop(&centre, max(radius, near.reach))
		if b == nil {
			continue
		}
		if taken == nil {
			taken = make([]uint64, (n+63)/64)
		}
		for _, i := range b.order {
			taken[i/64] |= 1 << (i % 64)
		}
		left -= len(b.order)
		b.solve(ctx, r, opt.workers())
	}
	if taken == nil {
		return s.values
	}
	rest := take[F](s.memory, left+slack)[:0]
	for i := range s.values {
		if taken[i/64]>>(i%64)&1 == 0 {
			rest = append(rest, s.values[i])
		}
	}
	return rest
}

// neighbours are a sample of a set's values and how many of the sample are
// near each. In a set without balls, none is.
type neighbours[F Fingerprint] struct {
	values []F
	count  []int
	reach  int // what near means
}

func newNeighbours[F Fingerprint](s *Set[F], k int, simd bool) *neighbours[F] {
	n := len(s.values)
	size := min(max(n/64, 512), 4096)
	nb := &neighbours[F]{values: make([]F, size), count: make([]int, size)}
	for i := range nb.values {
		nb.values[i] = s.values[n/size*i+n/size/2]
	}
	width := s.bits
	if sm := newSample(s.values); sm != nil {
		width = max(sm.lively(s.bits, 1./16).ones(), min(s.bits, bits.Len(uint(n))))
	}
	// As far as members of one ball may be apart, but not so far that
	// unrelated values are.
	within := 0.0
	for r := 0; r <= 2*k+2; r++ {
		within += choose(width, r) * math.Exp2(-float64(width))
		if within*float64(size) > 0.05 {
			break
		}
		nb.reach = r
	}
	if nb.reach == 0 {
		return nb
	}
	c := &comparer[F]{k: nb.reach, simd: simd}
	at := func(p *F) int {
		base := unsafe.Pointer(&c.levels[0].values[0])
		return int((uintptr(unsafe.Pointer(p)) - uintptr(base)) / unsafe.Sizeof(*p))
	}
	c.emit = func(a, b *F, _ int) {
		nb.count[at(a)]++
		nb.count[at(b)]++
	}
	c.all(nb.values, &frame{keys: []Uint128{{}}, to: 1}, 0)
	return nb
}

// next returns the centre of those around the value that most are near.
func (nb *neighbours[F]) next() (F, bool) {
	var centre F
	best := 0
	for i, c := range nb.count {
		if c > nb.count[best] {
			best = i
		}
	}
	if nb.count[best] < 2 {
		return centre, false
	}
	var ones [128]int
	n := 0
	for i := range nb.values {
		if distance(&nb.values[i], &nb.values[best]) <= nb.reach {
			n++
			w := word(&nb.values[i])
			for b := range 64 {
				ones[b] += int(w.Lo >> b & 1)
				ones[64+b] += int(w.Hi >> b & 1)
			}
		}
	}
	nb.count[best] = 0
	for b := range 8 * int(unsafe.Sizeof(centre)) {
		if 2*ones[b] > n {
			setBit(&centre, b)
		}
	}
	return centre, true
}

func setBit[F Fingerprint](p *F, b int) {
	if unsafe.Sizeof(*p) == 8 {
		*(*uint64)(unsafe.Pointer(p)) |= 1 << b
		return
	}
	q := (*Uint128)(unsafe.Pointer(p))
	*q = q.or(bit(b))
}

// drop leaves out what is near a centre.
func (nb *neighbours[F]) drop(centre *F, radius int) {
	for i := range nb.values {
		if distance(&nb.values[i], centre) <= radius {
			nb.count[i] = 0
		}
	}
}

// ball returns the ball around a centre and its radius, at most reach, or nil
// if the join does its members as well.
func (s *Set[F]) ball(centre F, k, reach int, taken []uint64, opt Options) (*ball[F], int) {
	n := len(s.values)
	const parts = 64
	limit := reach + k
	counts := make([][]int, parts)
	found := make([][]uint32, parts) // within limit
	each(opt.workers(), parts, func() func(int) {
		return func(p int) {
			count := make([]int, limit+1)
			for i := n * p / parts; i < n*(p+1)/parts; i++ {
				if d := distance(&s.values[i], &centre); d <= limit {
					count[d]++
					found[p] = append(found[p], uint32(i))
				}
			}
			counts[p] = count
		}
	})
	upTo := make([]int, limit+1)
	for d := range upTo {
		for _, c := range counts {
			upTo[d] += c[d]
		}
		if d > 0 {
			upTo[d] += upTo[d-1]
		}
	}
	// Members should be many, and few around them.
	radius, score := 0, 0
	for d := 1; d <= reach; d++ {
		if sc := upTo[d] - 4*(upTo[d+k]-upTo[d]); sc > score {
			radius, score = d, sc
		}
	}
	if upTo[radius] < ballMin {
		return nil, radius
	}
	b := &ball[F]{s: s, k: k, simd: haveSIMD && !opt.NoSIMD}
	for _, f := range found {
		for _, i := range f {
			switch d := distance(&s.values[i], &centre); {
			case d <= radius && (taken == nil || taken[i/64]>>(i%64)&1 == 0):
				b.order = append(b.order, i)
			case d <= radius+k:
				b.around = append(b.around, i)
			}
		}
	}
	m := len(b.order)
	if m < ballMin || m > ballMax {
		return nil, radius
	}
	byDoc := make([]uint64, m)
	for rank, i := range b.order {
		byDoc[rank] = uint64(s.Smallest(int(i)))<<32 | uint64(i)
	}
	slices.Sort(byDoc)
	for rank, d := range byDoc {
		b.order[rank] = uint32(d)
	}
	b.values = make([]F, m+slack)
	for rank, i := range b.order {
		b.values[rank] = s.values[i]
	}
	b.index()

	// A sample says what either way costs.
	const sample = 32
	pairs, scanned := 0, 0
	for i := range sample {
		rank := m / sample * i
		for at := b.first(rank, 0, m, k); at < m; at = b.first(rank, at+lanes, m, k) {
			for l := range min(lanes, m-at) {
				if distance(&b.values[at+l], &b.values[rank]) <= k {
					pairs++
				}
			}
		}
		_, _, s := b.best(rank)
		scanned += s
	}
	join := float64(pairs) / sample * float64(m) / 2 * ballPairCost
	own := float64(m)*ballMemberCost + float64(scanned)/sample*float64(m)*ballScanCost +
		float64(m)*float64(len(b.around))*ballScanCost
	if own > join/2 {
		return nil, radius
	}
	return b, radius
}

// index makes the hash table and the filter before it.
func (b *ball[F]) index() {
	m := len(b.order)
	vary := varying(b.values[:m])
	var bytes [16][256]uint32 // the hash of each value of each byte
	seed := bucketHash.Hi
	for i := range 128 {
		if bit(i).and(vary).isZero() {
			continue
		}
		seed = seed*groupHash.Lo + 1 // Knuth vol. 2, 3.2.1: the high bits of a linear congruential generator
		h := uint32(seed >> 32)
		var one F
		setBit(&one, i)
		b.bits, b.flips = append(b.bits, one), append(b.flips, h)
		for x := range bytes[i/8] {
			if x>>(i%8)&1 != 0 {
				bytes[i/8][x] ^= h
			}
		}
	}
	size := bits.Len(uint(2 * m))
	b.ranks = make([]uint32, 1<<size)
	b.filter = make([]uint64, 1<<(size+5-6))
	b.hashes = make([]uint32, m)
	for rank := range m {
		w, h := word(&b.values[rank]), uint32(0)
		for i := range 8 {
			h ^= bytes[i][w.Lo>>(8*i)&0xff] ^ bytes[8+i][w.Hi>>(8*i)&0xff]
		}
		b.hashes[rank] = h
		f := h % uint32(64*len(b.filter))
		b.filter[f/64] |= 1 << (f % 64)
		at := h >> (32 - size)
		for b.ranks[at] != 0 {
			at = (at + 1) % uint32(len(b.ranks))
		}
		b.ranks[at] = uint32(rank + 1)
	}
}

// find returns the rank of a value of that hash, if it is a member.
func (b *ball[F]) find(p *F, h uint32) (int, bool) {
	size := bits.Len(uint(len(b.ranks))) - 1
	for at := h >> (32 - size); b.ranks[at] != 0; at = (at + 1) % uint32(len(b.ranks)) {
		if rank := int(b.ranks[at] - 1); b.values[rank] == *p {
			return rank, true
		}
	}
	return 0, false
}

// best returns the best match of a member within the ball, if there is one
// within k, and how many comparisons it took.
func (b *ball[F]) best(rank int) (match, distance, scanned int) {
	x := &b.values[rank]
	m := len(b.order)
	match = m
	var hits [128]uint8
	n := 0
	own, last := b.hashes[rank], uint32(64*len(b.filter)-1)
	for i, flip := range b.flips {
		f := (own ^ flip) & last
		hits[n&127] = uint8(i)
		n += int(b.filter[f/64] >> (f % 64) & 1) // no branch: it would be a guess
	}
	if n >= 4 && n*n > m/ballFindScan {
		// Many neighbours: one of them is soon met.
		end := min(m, 8*m/n)
		for at := b.first(rank, 0, end, 1); at < end; at = b.first(rank, at+lanes, end, 1) {
			for l := range min(lanes, m-at) {
				if at+l != rank && diff(&b.values[at+l], x).ones() == 1 {
					return at + l, 1, at
				}
			}
		}
	}
	for _, i := range hits[:n] {
		y := xor(x, &b.bits[i])
		if at, ok := b.find(&y, own^b.flips[i]); ok && at < match {
			match = at
		}
	}
	if match < m {
		return match, 1, 0
	}
	// None is at distance 1: from the smallest document on, the first at 2 is
	// the best; else the first of the nearest.
	bound, at := b.k, 0
	for bound >= 2 {
		if at = b.first(rank, at, m, bound); at >= m {
			break
		}
		for l := range min(lanes, m-at) {
			if d := diff(&b.values[at+l], x).ones(); d <= bound && at+l != rank {
				match, distance, bound = at+l, d, d-1
			}
		}
		at += lanes
	}
	return match, distance, min(at, m)
}

func xor[F Fingerprint](p, q *F) F {
	var f F
	if unsafe.Sizeof(f) == 8 {
		*(*uint64)(unsafe.Pointer(&f)) = *(*uint64)(unsafe.Pointer(p)) ^ *(*uint64)(unsafe.Pointer(q))
	} else {
		*(*Uint128)(unsafe.Pointer(&f)) = diff(p, q)
	}
	return f
}

// first returns the first place, from or a multiple of lanes beyond it, where
// one of the next few members is within bound of the member, itself included;
// to or more if there is none.
func (b *ball[F]) first(rank, from, to, bound int) int {
	if b.simd {
		return firstSIMD(b.values, from, to, &b.values[rank], bound)
	}
	return firstNear(b.values, from, to, &b.values[rank], bound)
}

func firstNear[F Fingerprint](values []F, from, to int, x *F, bound int) int {
	for ; from < to; from += lanes {
		for i := range lanes {
			if distance(&values[from+i], x) <= bound {
				return from
			}
		}
	}
	return from
}

// solve gives r the best matches of the members.
func (b *ball[F]) solve(ctx context.Context, r *Reducer[F], workers int) {
	const chunk = 128
	m := len(b.order)
	each(workers, (m+chunk-1)/chunk, func() func(int) {
		return func(c int) {
			if ctx.Err() != nil {
				return
			}
			for rank := c * chunk; rank < min((c+1)*chunk, m); rank++ {
				if match, distance, _ := b.best(rank); match < m {
					r.offer(b.order[rank], b.s.Smallest(int(b.order[match])), distance)
				}
			}
		}
	})
	var worker atomic.Int64
	each(workers, (len(b.around)+chunk-1)/chunk, func() func(int) {
		w := int(worker.Add(1)) - 1
		var x [1]F
		return func(c int) {
			for _, i := range b.around[c*chunk : min((c+1)*chunk, len(b.around))] {
				if ctx.Err() != nil {
					return
				}
				x[0] = b.s.values[i]
				b.meet(r, w, i, &x[0])
			}
		}
	})
}

// meet compares a value around the ball with its members.
func (b *ball[F]) meet(r *Reducer[F], worker int, i uint32, x *F) {
	m := len(b.order)
	for at := 0; at < m; at += lanes {
		if b.simd {
			at = firstSIMD(b.values, at, m, x, b.k)
		} else {
			at = firstNear(b.values, at, m, x, b.k)
		}
		for l := range max(0, min(lanes, m-at)) {
			if d := distance(&b.values[at+l], x); d <= b.k {
				r.Visit(worker, i, b.order[at+l], d)
			}
		}
	}
}

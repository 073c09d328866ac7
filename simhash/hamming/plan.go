package hamming

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"
)

// MaxDistance is the largest k for fingerprints of the given width.
func MaxDistance(width int) int {
	if width > 64 {
		return 31
	}
	return 15
}

// A Region is a run of bits cut into Errors+Agree blocks of nearly equal
// width. Two fingerprints that differ in at most Errors bits of the region
// agree on at least Agree of its blocks.
type Region struct {
	Bits   int
	Errors int
	Agree  int
	Lead   int // how many blocks of a key, the first ones, make up its table's block; 0: one
}

func (r Region) lead() int { return max(r.Lead, 1) }

// A Plan says how fingerprints within distance k are brought together. Its
// regions lie side by side from the most significant bit down. If the sum of
// (Errors+1) over the regions exceeds k, then two fingerprints within k differ
// in at most Errors bits of at least one region, and so agree on some
// combination of Agree of its blocks: a key.
//
// Keys that begin with the same Lead blocks, together the table's block, make
// up a table: fingerprints are brought together by a table's block first (see
// [Block]), and by its keys inside a bucket ([Joiner.Bucket]).
//
// A Plan without a region compares everything with everything. Plans are
// immutable.
type Plan struct {
	bits    int
	k       int
	regions []Region
	keys    []Uint128
	tables  []table
}

type table struct {
	pieces   []piece // of the block, from the most significant
	width    int     // of the block
	block    Uint128
	from, to int // its keys
}

type piece struct{ shift, width int }

// maxKeys bounds the size of a plan.
const maxKeys = 1 << 16

// NewPlan builds a plan from its regions. The regions may leave low bits
// unused.
func NewPlan(width, k int, regions ...Region) (*Plan, error) {
	if width < 1 || width > 128 {
		return nil, fmt.Errorf("hamming: plan for %d bits: %w", width, ErrBits)
	}
	if k < 0 || k > MaxDistance(width) {
		return nil, fmt.Errorf("hamming: plan for distance %d: %w", k, ErrDistance)
	}
	return newPlan(width, k, regions...)
}

// newPlan is NewPlan for any k: few bits of wide fingerprints may vary.
func newPlan(width, k int, regions ...Region) (*Plan, error) {
	p := &Plan{bits: width, k: k, regions: append([]Region(nil), regions...)}
	if len(regions) == 0 {
		p.keys = []Uint128{{}}
		p.tables = []table{{to: 1}}
		return p, nil
	}
	top, budget, keys := width, 0, 0
	for _, r := range regions {
		n := r.Errors + r.Agree
		if r.Errors < 0 || r.Agree < 1 || r.Bits < n || r.lead() > r.Agree || r.Lead < 0 {
			return nil, fmt.Errorf("hamming: region %+v: %w", r, ErrPlan)
		}
		top -= r.Bits
		budget += r.Errors + 1
		if c := choose(n, r.Agree); c > maxKeys {
			return nil, fmt.Errorf("hamming: region %+v has %.3g keys: %w", r, c, ErrPlan)
		}
		keys += int(choose(n, r.Agree))
	}
	if top < 0 || budget <= k || keys > maxKeys {
		return nil, fmt.Errorf("hamming: regions %+v for %d bits and distance %d: %w", regions, width, k, ErrPlan)
	}
	top = width
	for _, r := range regions {
		p.add(top, r)
		top -= r.Bits
	}
	return p, nil
}

// add appends the tables of region r, whose most significant bit is top-1.
func (p *Plan) add(top int, r Region) {
	n := r.Errors + r.Agree
	blocks := make([]piece, n)
	for i := range blocks { // wide ones first: they lead tables
		high, low := top-(r.Bits*i+n-1)/n, top-(r.Bits*(i+1)+n-1)/n
		blocks[i] = piece{low, high - low}
	}
	// Keys come in lexicographic order of their blocks, so those of a table
	// are next to each other.
	combine(r.lead(), 0, n-r.Agree+r.lead(), nil, func(lead []int) {
		t := table{from: len(p.keys)}
		for _, b := range lead {
			t.pieces = append(t.pieces, blocks[b])
			t.width += blocks[b].width
			t.block = t.block.or(span(blocks[b].shift, blocks[b].width))
		}
		combine(r.Agree-r.lead(), lead[len(lead)-1]+1, n, nil, func(rest []int) {
			key := t.block
			for _, b := range rest {
				key = key.or(span(blocks[b].shift, blocks[b].width))
			}
			p.keys = append(p.keys, key)
		})
		t.to = len(p.keys)
		p.tables = append(p.tables, t)
	})
}

// combine calls do for each choice of count numbers from from up to below end.
func combine(count, from, end int, chosen []int, do func([]int)) {
	if count == 0 {
		do(chosen)
		return
	}
	for i := from; i+count <= end; i++ {
		combine(count-1, i+1, end, append(chosen, i), do)
	}
}

// Bits returns the width the plan was made for.
func (p *Plan) Bits() int { return p.bits }

// Distance returns the k the plan was made for.
func (p *Plan) Distance() int { return p.k }

// Tables returns the number of tables, at least 1.
func (p *Plan) Tables() int { return len(p.tables) }

// Keys returns the number of keys over all tables.
func (p *Plan) Keys() int { return len(p.keys) }

// BlockBits returns the width of the block of table t: Block is below
// 1<<BlockBits. It is at most 64.
func (p *Plan) BlockBits(t int) int { return min(p.tables[t].width, 64) }

// Block routes a fingerprint: it returns the value of the block of table t.
// Fingerprints that are to be compared in table t have equal blocks. (Of a
// block wider than 64 bits, the most significant 64.)
func Block[F Fingerprint](p *Plan, t int, fp F) uint64 {
	w, left := word(&fp), 64
	var v uint64
	for _, b := range p.tables[t].pieces {
		width := min(b.width, left)
		x := w.shr(b.shift + b.width - width).Lo
		if width < 64 {
			x &= 1<<width - 1
			v <<= width
		}
		v |= x
		left -= width
	}
	return v
}

// String describes the plan, as in "64 bits, k=3: 32/1/2+32/1/2, 4 tables, 6 keys"
// (a region is bits/errors/agree, and /lead if that is not 1).
func (p *Plan) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d bits, k=%d: ", p.bits, p.k)
	for i, r := range p.regions {
		if i > 0 {
			s.WriteByte('+')
		}
		fmt.Fprintf(&s, "%d/%d/%d", r.Bits, r.Errors, r.Agree)
		if r.lead() > 1 {
			fmt.Fprintf(&s, "/%d", r.lead())
		}
	}
	if len(p.regions) == 0 {
		s.WriteString("all pairs")
	}
	fmt.Fprintf(&s, ", %d tables, %d keys", len(p.tables), len(p.keys))
	return s.String()
}

func choose(n, m int) float64 {
	c := 1.0
	for i := range m {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// The cost model, in nanoseconds of one core a fingerprint.
const (
	tableCost   = 6.0  // bring a fingerprint to its bucket of a table, in memory
	keyCost     = 4.0  // bring it to its group of a key, the bucket being in cache
	missCost    = 3.0  // more, for each doubling of a bucket beyond the cache
	missMax     = 12.0 // at most
	compareCost = 0.08 // one comparison
	groupTarget = 16   // a group is not made smaller than this on average

	// In portable Go, without SIMD.
	portableCompareCost = 0.8
	portableGroupTarget = 4
)

// A model is what plans are ranked by: what comparing all with all costs, and
// what a region does, with blocks b bits wide on average, in nanoseconds of
// one core for one of n fingerprints; and how many keys a plan may have.
type model struct {
	all     func(n float64) float64
	region  func(r Region, b, n float64) float64
	maxKeys int
}

// joining and portable model a join of n fingerprints with themselves.
var (
	joining  = joiningAt(compareCost, groupTarget)
	portable = joiningAt(portableCompareCost, portableGroupTarget)
)

func joiningAt(compare, target float64) model {
	return model{
		all: func(n float64) float64 { return compare * n / 2 },
		region: func(r Region, b, n float64) float64 {
			group := max(n*math.Exp2(-b*float64(r.Agree)), min(n, target))
			bucket := n * math.Exp2(-b*float64(r.lead()))
			miss := min(max(0, missCost*math.Log2(bucket/(4*bucketTarget))), missMax)
			tables := choose(r.Errors+r.lead(), r.lead())
			keys := choose(r.Errors+r.Agree, r.Agree)
			if n <= bucketTarget {
				tables = 0
			}
			return tables*tableCost + keys*(keyCost+miss+compare*group/2)
		},
		maxKeys: maxKeys,
	}
}

// Cost returns the modelled cost of joining n evenly spread distinct
// fingerprints, in nanoseconds of one core a fingerprint. It ranks plans; the
// cost of what is found is not in it.
func (p *Plan) Cost(n int) float64 { return p.cost(n, &joining) }

func (p *Plan) cost(n int, m *model) float64 {
	if len(p.regions) == 0 {
		return m.all(float64(n))
	}
	cost := 0.0
	for _, r := range p.regions {
		cost += m.region(r, float64(r.Bits)/float64(r.Errors+r.Agree), float64(n))
	}
	return cost
}

type planKey struct{ bits, k, log, keys int }

var plans sync.Map // planKey to *Plan

// ChoosePlan returns the plan of the lowest modelled cost for n distinct
// fingerprints. Only the order of magnitude of n counts.
func ChoosePlan(width, k, n int) (*Plan, error) {
	if _, err := NewPlan(width, k); err != nil {
		return nil, err
	}
	return choosePlan(width, k, n, 0), nil
}

// What a plan is for, other than an index.
const (
	forJoin     = 0
	forPortable = -1 // a join without SIMD
)

func joinBy(simd bool) int {
	if simd {
		return forJoin
	}
	return forPortable
}

// choosePlan is ChoosePlan for any k and what the plan is for: a join, or, if
// that is above zero, probing an index by at most so many keys.
func choosePlan(width, k, n, keys int) *Plan {
	key := planKey{width, k, bits.Len(uint(max(n, 1) - 1)), keys}
	if p, ok := plans.Load(key); ok {
		return p.(*Plan)
	}
	m := &joining
	switch {
	case keys == forPortable:
		m = &portable
	case keys > 0:
		m = probing(keys)
	}
	p := cheapest(width, k, 1<<key.log, m)
	plans.Store(key, p)
	return p
}

// cheapest solves, for each key width b, a knapsack: the regions' (Errors+1)
// have to sum to k+1 within the bits there are, at the least cost.
func cheapest(width, k, n int, m *model) *Plan {
	best, _ := newPlan(width, k)
	bestCost := best.cost(n, m)
	if n < 64 {
		return best
	}
	type cell struct {
		cost float64
		r    Region
	}
	top := bits.Len(uint(n)) + 2
	for b := 1; b <= min(top, width); b++ {
		var options [32][9]struct {
			Region
			cost float64
		}
		for errs := range k + 1 {
			for agree := 1; agree <= 8; agree++ {
				o := &options[errs][agree]
				o.cost = math.Inf(1)
				for lead := 1; lead <= agree; lead++ {
					r := Region{Errors: errs, Agree: agree, Lead: lead}
					if c := m.region(r, float64(b)/float64(agree), float64(n)); c < o.cost {
						o.Region, o.cost = r, c
					}
				}
			}
		}
		f := make([][]cell, k+2)
		for need := range f {
			f[need] = make([]cell, width+1)
			for w := range f[need] {
				if need == 0 {
					continue
				}
				f[need][w].cost = math.Inf(1)
				for errs := 0; errs < need; errs++ {
					for agree := 1; agree <= 8; agree++ {
						blocks := errs + agree
						wide := (b*blocks + agree - 1) / agree
						if wide > w || wide < blocks || choose(blocks, agree) > 4096 {
							continue
						}
						r := options[errs][agree]
						c := f[need-errs-1][w-wide].cost + r.cost
						if c < f[need][w].cost {
							r.Bits = wide
							f[need][w] = cell{c, r.Region}
						}
						if errs == 0 {
							break
						}
					}
				}
			}
		}
		var regions []Region
		need, w := k+1, width
		for need > 0 && !math.IsInf(f[need][w].cost, 1) {
			r := f[need][w].r
			regions = append(regions, r)
			need -= r.Errors + 1
			w -= r.Bits
		}
		if need > 0 {
			continue
		}
		for i := 0; w > 0; i++ { // the bits left over
			regions[i%len(regions)].Bits++
			w--
		}
		p, err := newPlan(width, k, regions...)
		if err != nil || len(p.keys) > m.maxKeys {
			continue
		}
		if c := p.cost(n, m); c < bestCost {
			best, bestCost = p, c
		}
	}
	return best
}

// deposit moves the keys of a plan for as many bits as mask has onto the bits
// of mask.
func (p *Plan) deposit(mask Uint128) []Uint128 {
	at := places(mask)
	keys := make([]Uint128, len(p.keys))
	for i, key := range p.keys {
		keys[i] = at.deposit(key)
	}
	return keys
}

// onto is a plan for fingerprints of width bits made of a plan for as many
// bits as mask has: the bits of mask stand in for the plan's.
func (p *Plan) onto(mask Uint128, width int) *Plan {
	at := places(mask)
	q := &Plan{bits: width, k: p.k, regions: p.regions, keys: p.deposit(mask), tables: append([]table(nil), p.tables...)}
	for i := range q.tables {
		t := &q.tables[i]
		t.block = at.deposit(t.block)
		t.pieces = nil
		for b := 127; b >= 0; b-- {
			if t.block.and(bit(b)).isZero() {
				continue
			}
			if n := len(t.pieces); n > 0 && t.pieces[n-1].shift == b+1 {
				t.pieces[n-1].shift--
				t.pieces[n-1].width++
				continue
			}
			t.pieces = append(t.pieces, piece{b, 1})
		}
	}
	return q
}

// bitPlaces has the bits of a mask, the lowest first.
type bitPlaces [128]Uint128

func places(mask Uint128) *bitPlaces {
	var at bitPlaces
	n := 0
	for b := range 128 {
		if m := bit(b); !m.and(mask).isZero() {
			at[n] = m
			n++
		}
	}
	return &at
}

func (at *bitPlaces) deposit(x Uint128) Uint128 {
	var y Uint128
	for ; x.Lo != 0; x.Lo &= x.Lo - 1 {
		y = y.or(at[bits.TrailingZeros64(x.Lo)])
	}
	for ; x.Hi != 0; x.Hi &= x.Hi - 1 {
		y = y.or(at[64+bits.TrailingZeros64(x.Hi)])
	}
	return y
}

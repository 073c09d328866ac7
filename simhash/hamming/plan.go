package hamming

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/neardup/neardup/simhash/columns"
)

// MaxDistance returns the largest k for fingerprints of the given width. Beyond
// it keys become too short to divide the documents.
func MaxDistance(width int) int {
	if width > 64 {
		return 31
	}
	return 15
}

func checkDistance(width, k int) error {
	if k < 0 || k > MaxDistance(width) {
		return fmt.Errorf("hamming: distance %d for %d bits: %w", k, width, errDistance)
	}
	return nil
}

// A region is a run of adjacent bits, cut into errors+agree blocks of nearly equal
// width. Two fingerprints that differ in at most errors bits of the region differ
// in at most errors blocks, so they agree on at least agree of them.
type region struct {
	bits   int
	errors int
	agree  int
	lead   int // how many of a key's blocks, from its first, make up the block of its table
}

func (r region) tables() float64 { return choose(r.errors+r.lead, r.lead) }
func (r region) keys() float64   { return choose(r.errors+r.agree, r.agree) }

// A Plan says how fingerprints within distance k are brought together. Its
// regions lie side by side from the most significant bit down.
//
// Why it misses no pair: the sum of errors+1 over all regions exceeds k. If two
// fingerprints differed in more than errors bits in every region, they would
// differ in at least that sum, which is more than k. So two fingerprints within k
// have a region in which they differ in at most errors bits, and there they agree
// on some choice of agree blocks. Each such choice is a key of the plan.
//
// Keys that begin with the same lead blocks form a table, and these blocks
// together are the table's block. Fingerprints are brought together by a table's
// block first, and inside that by the table's keys:
//
//	k = 3, five blocks, two agree, lead 1    ten keys in four tables
//	table 1   keys 12 13 14 15
//	table 2   keys 23 24 25
//	table 3   keys 34 35
//	table 4   key  45
//
// One region and keys of one block are the k + 1 segments of Manku, Jain and Das
// Sarma (Detecting Near-Duplicates for Web Crawling, WWW 2007, section 3); keys
// of m blocks of n = k + m are their C(n, m) tables. Several regions are the
// multi-index of Norouzi, Punjani and Fleet (Fast Search in Hamming Space with
// Multi-Index Hashing, CVPR 2012) with such keys in each.
//
// A Plan without regions compares everything with everything. Plans are immutable.
type Plan struct {
	bits    int
	k       int
	regions []region
	keys    []columns.Uint128
	tables  []table
}

type table struct {
	block    columns.Uint128
	from, to int // its keys
}

// maxKeys bounds the size of a plan.
const maxKeys = 1 << 16

// checkPlan returns an error unless the width is 1 to 128 bits and k is allowed
// for it.
func checkPlan(width, k int) error {
	if width < 1 || width > 128 {
		return fmt.Errorf("hamming: plan for %d bits: %w", width, errBits)
	}
	return checkDistance(width, k)
}

// newPlan builds a plan from its regions. It does not limit k by the width, since
// the width may be that of the few bits that vary in a group.
func newPlan(width, k int, regions ...region) (*Plan, error) {
	p := &Plan{bits: width, k: k, regions: regions}
	if len(regions) == 0 {
		p.keys = []columns.Uint128{{}}
		p.tables = []table{{to: 1}}
		return p, nil
	}
	used, budget, keys := 0, 0, 0.0
	for _, r := range regions {
		if r.errors < 0 || r.agree < 1 || r.bits < r.errors+r.agree || r.bits > width || r.lead < 1 || r.lead > r.agree {
			return nil, fmt.Errorf("hamming: region %+v: %w", r, errPlan)
		}
		used += r.bits
		budget += r.errors + 1
		keys += r.keys()
	}
	if used > width || budget <= k || keys > maxKeys {
		return nil, fmt.Errorf("hamming: regions %+v for %d bits and distance %d, %.3g keys: %w", regions, width, k, keys, errPlan)
	}
	top := width
	for _, r := range regions {
		p.add(top, r)
		top -= r.bits
	}
	return p, nil
}

// add appends the tables of region r, whose most significant bit is top-1.
func (p *Plan) add(top int, r region) {
	n := r.errors + r.agree
	blocks := make([]columns.Uint128, n)
	for i := range blocks { // wide ones first: they lead tables
		high, low := top-(r.bits*i+n-1)/n, top-(r.bits*(i+1)+n-1)/n
		blocks[i] = columns.Span(low, high-low)
	}
	// Keys come in lexicographic order of their blocks, so those of a table
	// are next to each other.
	combine(r.lead, 0, n-r.agree+r.lead, nil, func(lead []int) {
		t := table{from: len(p.keys)}
		for _, b := range lead {
			t.block = t.block.Or(blocks[b])
		}
		combine(r.agree-r.lead, lead[len(lead)-1]+1, n, nil, func(rest []int) {
			key := t.block
			for _, b := range rest {
				key = key.Or(blocks[b])
			}
			p.keys = append(p.keys, key)
		})
		t.to = len(p.keys)
		p.tables = append(p.tables, t)
	})
}

// combine calls do for each choice of count numbers from the range from to end − 1,
// appended to chosen, in lexicographic order.
func combine(count, from, end int, chosen []int, do func([]int)) {
	if count == 0 {
		do(chosen)
		return
	}
	for i := from; i+count <= end; i++ {
		combine(count-1, i+1, end, append(chosen, i), do)
	}
}

// NewPlan returns the plan of one region: width bits in k + agree blocks. Two
// fingerprints within k agree on at least agree of these.
func NewPlan(width, k, agree int) (*Plan, error) {
	if width < 1 || width > 128 {
		return nil, fmt.Errorf("hamming: plan for %d bits: %w", width, errBits)
	}
	return newPlan(width, k, region{bits: width, errors: k, agree: agree, lead: 1})
}

// ByKey returns the plan in which each key has a table of its own. A store that
// finds by one value at a time needs it: it has no second step in which a table's
// keys could divide what the block brings together.
func (p *Plan) ByKey() *Plan {
	q := &Plan{bits: p.bits, k: p.k, regions: slices.Clone(p.regions), keys: p.keys}
	for i := range q.regions {
		q.regions[i].lead = q.regions[i].agree
	}
	for i, key := range p.keys {
		q.tables = append(q.tables, table{key, i, i + 1})
	}
	return q
}

// Tables returns the number of tables, at least 1.
func (p *Plan) Tables() int { return len(p.tables) }

// Distance returns the k that the plan serves.
func (p *Plan) Distance() int { return p.k }

// Block returns the bits of table t that bring fingerprints together first.
func (p *Plan) Block(t int) columns.Mask { return p.tables[t].block }

// Keys returns the keys of table t, each with the table's block in it. The
// caller must not change them.
func (p *Plan) Keys(t int) []columns.Mask { return p.keys[p.tables[t].from:p.tables[t].to] }

// First returns the first key, as its table and its place in there, that two
// fingerprints agree on which differ in the bits of diff. Both are −1 if there is
// none. Of all keys that bring a pair together, this one reports it.
func (p *Plan) First(diff columns.Mask) (table, key int) {
	for t := range p.tables {
		if !p.tables[t].block.And(diff).IsZero() {
			continue
		}
		for i, mask := range p.Keys(t) {
			if mask.And(diff).IsZero() {
				return t, i
			}
		}
	}
	return -1, -1
}

// String describes the plan, as in "64 bits, k=3: 32/1/2+32/1/2, 4 tables, 6
// keys". For each region that is bits/errors/agree, and /lead unless lead is 1.
func (p *Plan) String() string {
	var regions []string
	for _, r := range p.regions {
		s := fmt.Sprintf("%d/%d/%d", r.bits, r.errors, r.agree)
		if r.lead != 1 {
			s += fmt.Sprintf("/%d", r.lead)
		}
		regions = append(regions, s)
	}
	if regions == nil {
		regions = []string{"all pairs"}
	}
	return fmt.Sprintf("%d bits, k=%d: %s, %d tables, %d keys", p.bits, p.k, strings.Join(regions, "+"), len(p.tables), len(p.keys))
}

func choose(n, m int) float64 {
	c := 1.0
	for i := range m {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// onto turns a plan for as many bits as mask has into one for whole fingerprints:
// bit i of the plan becomes the i-th lowest bit of mask.
func (p *Plan) onto(mask columns.Uint128) *Plan {
	at := places(mask)
	q := &Plan{bits: p.bits, k: p.k, regions: p.regions, tables: slices.Clone(p.tables)}
	for _, key := range p.keys {
		q.keys = append(q.keys, at.deposit(key))
	}
	for i := range q.tables {
		q.tables[i].block = at.deposit(q.tables[i].block)
	}
	return q
}

// bitPlaces has the bits of a mask, the lowest first.
type bitPlaces [128]columns.Uint128

func places(mask columns.Uint128) *bitPlaces {
	var at bitPlaces
	n := 0
	for b := range 128 {
		if m := columns.Bit(b); !m.And(mask).IsZero() {
			at[n] = m
			n++
		}
	}
	return &at
}

func (at *bitPlaces) deposit(x columns.Uint128) columns.Uint128 {
	var y columns.Uint128
	for ; x.Lo != 0; x.Lo &= x.Lo - 1 {
		y = y.Or(at[bits.TrailingZeros64(x.Lo)])
	}
	for ; x.Hi != 0; x.Hi &= x.Hi - 1 {
		y = y.Or(at[64+bits.TrailingZeros64(x.Hi)])
	}
	return y
}

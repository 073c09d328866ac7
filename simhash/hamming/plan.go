package hamming

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/neardup/neardup/simhash/columns"
)

// MaxDistance is the largest k for fingerprints of the given width: beyond it
// the tables' keys become too short to divide the documents.
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

// A region is a run of bits cut into errors+agree blocks of nearly equal
// width. Two fingerprints that differ in at most errors bits of the region
// agree on at least agree of its blocks.
type region struct {
	bits   int
	errors int
	agree  int
	lead   int // how many blocks of a key, the first ones, make up its table's block
}

func (r region) tables() float64 { return choose(r.errors+r.lead, r.lead) }
func (r region) keys() float64   { return choose(r.errors+r.agree, r.agree) }

// A Plan says how fingerprints within distance k are brought together. Its
// regions lie side by side from the most significant bit down. If the sum of
// (errors+1) over the regions exceeds k, then two fingerprints within k differ
// in at most errors bits of at least one region, and so agree on some
// combination of agree of its blocks: a key.
//
// Keys that begin with the same lead blocks, together the table's block, make
// up a table: fingerprints are brought together by a table's block first, and by
// its keys inside what the block brings together.
//
// One region and keys of one block are the k + 1 segments of Manku, Jain and Das
// Sarma (Detecting Near-Duplicates for Web Crawling, WWW 2007, section 3); keys
// of m blocks of n = k + m are their C(n, m) tables. Several regions are the
// multi-index of Norouzi, Punjani and Fleet (Fast Search in Hamming Space with
// Multi-Index Hashing, CVPR 2012) with such keys in each.
//
// A Plan without a region compares everything with everything. Plans are
// immutable.
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

// checkPlan fails where there is no plan: fingerprints have 1 to 128 bits.
func checkPlan(width, k int) error {
	if width < 1 || width > 128 {
		return fmt.Errorf("hamming: plan for %d bits: %w", width, errBits)
	}
	return checkDistance(width, k)
}

// newPlan builds a plan from its regions, for any k: few bits of wide
// fingerprints may vary.
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

// NewPlan returns the plan of one region: width bits in k + agree blocks, of
// which two fingerprints within k agree on agree.
func NewPlan(width, k, agree int) (*Plan, error) {
	if width < 1 || width > 128 {
		return nil, fmt.Errorf("hamming: plan for %d bits: %w", width, errBits)
	}
	return newPlan(width, k, region{bits: width, errors: k, agree: agree, lead: 1})
}

// ByKey returns the plan with a table for each key: what is laid out to find by
// one value at a time cannot tell what a table brings together apart by its
// further keys.
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

// First returns the table and, of its keys, the first key that fingerprints agree
// on which differ in the bits of diff: −1 where there is none. Of all keys that
// bring a pair together this one reports it.
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
// keys": of each region its bits, the bits that may differ, the blocks that agree
// and, unless it is one, how many of these make up the table's block.
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

// onto is a plan for fingerprints made of a plan for as many bits as mask has:
// the bits of mask stand in for the plan's.
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

package hamming

import (
	"math"
	"math/bits"
	"sync"

	"github.com/neardup/neardup/simhash/columns"
)

// A model ranks plans by what they cost for each of n fingerprints, in nanoseconds
// of one core. A fingerprint is brought to its bucket in every table, to its group
// for every key, and compared with the members of that group:
//
//	tables · tableCost + keys · (key + cache misses + compare · group size)
//
// With evenly spread fingerprints and keys of c bits, the group size is n · 2^−c.
// Longer keys make smaller groups, but need more keys: that is what the choice of
// a plan balances.
type model struct {
	key     float64 // bring one to its group of a key, the bucket being in cache
	compare float64 // compare one with one of its group
	group   float64 // groups are not made smaller than this on average
	maxKeys int     // most keys of a plan
	probe   bool    // an index is probed; else a set is joined with itself
}

const (
	compareCost = 0.08 // one comparison of a join
	tableCost   = 6.0  // bring a fingerprint to its bucket of a table, in memory
	missCost    = 3.0  // extra cost for each doubling of a bucket beyond the cache
	missMax     = 12.0 // most extra cost
)

// A join compares every pair once, which is half a comparison for each of the two.
var (
	joining  = model{key: 4, compare: compareCost / 2, group: 16, maxKeys: maxKeys}
	portable = model{key: 4, compare: 0.8 / 2, group: 4, maxKeys: maxKeys} // without SIMD
)

// joiningBy returns the model of a join with or without SIMD.
func joiningBy(simd bool) *model {
	if simd {
		return &joining
	}
	return &portable
}

// probing returns the model of an index of at most so many keys. Its constants were
// measured with BenchmarkProbe.
func probing(keys int) *model {
	return &model{key: 8, compare: 0.9 / lanes, group: 2, maxKeys: keys, probe: true}
}

// region returns the cost of a region.
func (m *model) region(r region, n float64) float64 {
	b := float64(r.bits) / float64(r.errors+r.agree) // of a block
	if b < 1 {
		return math.Inf(1)
	}
	group := max(n*math.Exp2(-b*float64(r.agree)), min(n, m.group))
	tables, miss := r.tables(), 0.0
	if !m.probe {
		bucket := n * math.Exp2(-b*float64(r.lead))
		miss = min(max(0, missCost*math.Log2(bucket/(4*columns.PartitionTarget))), missMax)
		if n <= columns.PartitionTarget {
			tables = 0
		}
	}
	return tables*tableCost + r.keys()*(m.key+miss+m.compare*group)
}

// Cost returns the modelled cost of joining n distinct, evenly spread
// fingerprints, in nanoseconds of one core for each fingerprint. It is for ranking
// plans and leaves out the cost of handling the pairs that are found.
func (p *Plan) Cost(n int) float64 { return p.cost(n, &joining) }

func (p *Plan) cost(n int, m *model) float64 {
	if len(p.regions) == 0 {
		return m.compare * float64(n)
	}
	cost, keys := 0.0, 0.0
	for _, r := range p.regions {
		cost += m.region(r, float64(n))
		keys += r.keys()
	}
	if keys > float64(m.maxKeys) {
		return math.Inf(1)
	}
	return cost
}

type planKey struct {
	bits, k, log int
	model        model
}

// plans caches the chosen plans, planKey to *Plan. Choosing one takes milliseconds,
// and a join needs one for each large group.
var plans sync.Map

// ChoosePlan returns the plan of the lowest modelled cost for n distinct
// fingerprints. It is the same on every machine, and the same for all n up to the
// next power of two.
//
// If comparing all pairs is cheapest, the answer depends on n. For many
// fingerprints, such as 32 bits within 12, it is the plan without regions. For few
// it is the plan of k + 1 blocks, which costs hardly more and has the keys that a
// reader expects.
func ChoosePlan(width, k, n int) (*Plan, error) {
	if err := checkPlan(width, k); err != nil {
		return nil, err
	}
	const few = 1 << 14
	if p := choosePlan(width, k, n, &joining); len(p.regions) > 0 || n > few {
		return p, nil
	}
	return NewPlan(width, k, 1)
}

// choosePlan is ChoosePlan by a model, for any k.
func choosePlan(width, k, n int, m *model) *Plan {
	key := planKey{width, k, bits.Len(uint(max(n, 1) - 1)), *m}
	if p, ok := plans.Load(key); ok {
		return p.(*Plan)
	}
	n = 1 << key.log
	best := &Plan{}
	least := best.cost(n, m)
	for count := 1; count <= k+1 && n >= 64; count++ {
		for agree := 1; agree <= maxAgree; agree++ {
			p := &Plan{regions: m.regions(width, k, n, count, agree)}
			if c := p.cost(n, m); c < least {
				best, least = p, c
			}
		}
	}
	best, _ = newPlan(width, k, best.regions...) // regions that fail here cost +Inf, so they are never the best
	plans.Store(key, best)
	return best
}

const maxAgree = 8

// regions returns count regions for k that are as alike as possible: errors+1 adds
// up to k+1, keys have agree blocks and about equal width, and each lead is the
// cheapest.
func (m *model) regions(width, k, n, count, agree int) []region {
	regions := make([]region, count)
	all := 0.0
	for i := range regions {
		r := &regions[i]
		r.errors, r.agree = (k+1+i)/count-1, agree
		if r.errors == 0 {
			r.agree = 1
		}
		all += r.share()
	}
	from, before := 0, 0.0
	for i := range regions {
		r := &regions[i]
		before += r.share()
		to := int(float64(width)*before/all + 0.5)
		r.bits, r.lead = to-from, 1
		from = to
		for lead := 2; lead <= r.agree; lead++ {
			other := *r
			if other.lead = lead; m.region(other, float64(n)) < m.region(*r, float64(n)) {
				*r = other
			}
		}
	}
	return regions
}

// share is the ratio of a region's bits to those of one of its keys.
func (r region) share() float64 { return float64(r.errors+r.agree) / float64(r.agree) }

package hamming

import (
	"math"
	"math/bits"
	"sync"
)

// A model is what plans are ranked by: the modelled cost of bringing each of n
// fingerprints to its groups and comparing it there, in nanoseconds of one
// core.
type model struct {
	key     float64 // bring one to its group of a key, the bucket being in cache
	compare float64 // compare one with one of its group
	group   float64 // a group is not made smaller than this on average
	maxKeys int     // that a plan may have
	probe   bool    // an index is probed; else a set is joined with itself
}

const (
	compareCost = 0.08 // one comparison of a join
	tableCost   = 6.0  // bring a fingerprint to its bucket of a table, in memory
	missCost    = 3.0  // more, for each doubling of a bucket beyond the cache
	missMax     = 12.0 // at most
)

// Every pair of a join is compared once, which is half a comparison for each.
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

// probing returns the model of an index of at most so many keys, measured with
// BenchmarkProbe.
func probing(keys int) *model {
	return &model{key: 8, compare: 0.9 / lanes, group: 2, maxKeys: keys, probe: true}
}

// region returns the cost of a region, whose blocks are b bits wide on
// average.
func (m *model) region(r region, b, n float64) float64 {
	group := max(n*math.Exp2(-b*float64(r.agree)), min(n, m.group))
	tables, miss := r.tables(), 0.0
	if !m.probe {
		bucket := n * math.Exp2(-b*float64(r.lead))
		miss = min(max(0, missCost*math.Log2(bucket/(4*bucketTarget))), missMax)
		if n <= bucketTarget {
			tables = 0
		}
	}
	return tables*tableCost + r.keys()*(m.key+miss+m.compare*group)
}

// Cost returns the modelled cost of joining n evenly spread distinct
// fingerprints, in nanoseconds of one core a fingerprint. It ranks plans; the
// cost of what is found is not in it.
func (p *Plan) Cost(n int) float64 { return p.cost(n, &joining) }

func (p *Plan) cost(n int, m *model) float64 {
	if len(p.regions) == 0 {
		return m.compare * float64(n)
	}
	cost := 0.0
	for _, r := range p.regions {
		cost += m.region(r, float64(r.bits)/float64(r.errors+r.agree), float64(n))
	}
	return cost
}

type planKey struct {
	bits, k, log int
	model        model
}

// plans keeps the plans that were chosen, planKey to *Plan: choosing one takes
// milliseconds, and a join needs one for each large group.
var plans sync.Map

// ChoosePlan returns the plan of the lowest modelled cost for n distinct
// fingerprints. Only the order of magnitude of n counts.
func ChoosePlan(width, k, n int) (*Plan, error) {
	if err := checkPlan(width, k); err != nil {
		return nil, err
	}
	return choosePlan(width, k, n, &joining), nil
}

// choosePlan is ChoosePlan by a model, for any k.
func choosePlan(width, k, n int, m *model) *Plan {
	key := planKey{width, k, bits.Len(uint(max(n, 1) - 1)), *m}
	if p, ok := plans.Load(key); ok {
		return p.(*Plan)
	}
	n = 1 << key.log
	best, _ := newPlan(width, k)
	if n >= 64 {
		bestCost := best.cost(n, m)
		for b := 1; b <= min(bits.Len(uint(n))+2, width); b++ {
			regions := cheapest(width, k, n, b, m)
			if regions == nil {
				continue
			}
			p, err := newPlan(width, k, regions...)
			if err != nil || len(p.keys) > m.maxKeys {
				continue
			}
			if c := p.cost(n, m); c < bestCost {
				best, bestCost = p, c
			}
		}
	}
	plans.Store(key, best)
	return best
}

// A choice is a region and what it costs, or costs with those after it.
type choice struct {
	region
	cost float64
}

const maxAgree = 8

// cheapest returns the regions of the least cost with keys of b bits, nil if
// there are none. It solves a knapsack: the regions' (errors+1) have to sum to
// k+1 within the bits there are.
func cheapest(width, k, n, b int, m *model) []region {
	options := leads(k, n, b, m)
	best := make([][]choice, k+2) // by what is still needed, and the bits left
	for need := range best {
		best[need] = make([]choice, width+1)
		for w := range best[need] {
			if need > 0 {
				best[need][w] = cheapestFirst(best, options, need, w, b)
			}
		}
	}
	var regions []region
	w := width
	for need := k + 1; need > 0; {
		c := best[need][w]
		if math.IsInf(c.cost, 1) {
			return nil
		}
		regions = append(regions, c.region)
		need -= c.errors + 1
		w -= c.bits
	}
	for i := range w { // the bits left over
		regions[i%len(regions)].bits++
	}
	return regions
}

// leads returns, by errors and agree, the region with the cheapest lead. Its
// bits are left open.
func leads(k, n, b int, m *model) [][maxAgree + 1]choice {
	options := make([][maxAgree + 1]choice, k+1)
	for errs := range options {
		for agree := 1; agree <= maxAgree; agree++ {
			o := &options[errs][agree]
			o.cost = math.Inf(1)
			for lead := 1; lead <= agree; lead++ {
				r := region{errors: errs, agree: agree, lead: lead}
				if c := m.region(r, float64(b)/float64(agree), float64(n)); c < o.cost {
					o.region, o.cost = r, c
				}
			}
		}
	}
	return options
}

// cheapestFirst returns the first of the regions that together cost least, if
// their (errors+1) have to sum to need in w bits.
func cheapestFirst(best [][]choice, options [][maxAgree + 1]choice, need, w, b int) choice {
	first := choice{cost: math.Inf(1)}
	for errs := range need {
		for agree := 1; agree <= maxAgree; agree++ {
			blocks := errs + agree
			wide := (b*blocks + agree - 1) / agree
			if wide > w || wide < blocks || choose(blocks, agree) > 4096 {
				continue
			}
			o := options[errs][agree]
			if c := best[need-errs-1][w-wide].cost + o.cost; c < first.cost {
				o.bits = wide
				first = choice{o.region, c}
			}
			if errs == 0 {
				break
			}
		}
	}
	return first
}

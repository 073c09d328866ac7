package hamming

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/neardup/neardup/simhash/columns"
)

// An Index holds one set of fingerprints, such as this run's. A [Prober] finds, for
// each fingerprint of a batch, such as a library's, all indexed ones within k. An
// Index is immutable and safe for concurrent use.
//
// For every key of its plan it has a copy of all values, in order of their groups,
// and where each group starts. A large group has a node of its own, with further
// keys inside it.
//
// Memory, for fingerprints of up to 64 bits (in parentheses for a
// [columns.Uint128]): 12 to 17 bytes (20 to 25) for each distinct fingerprint, 4
// for each repetition, and 8 to 10 (16 to 18) for each distinct fingerprint and
// key. There are 4 to 6 keys for k = 3. For larger k there are more: as many as fit
// into 64 (128) bytes a fingerprint, or into half a gigabyte if that is more.
// Skewed data, where many fingerprints share a segment, may take as much again.
type Index[F columns.Fingerprint] struct {
	lists *columns.Lists[F]
	k     int
	simd  bool
	plan  *Plan
	top   *node[F]
	model *model
	room  int64 // bytes left for the nodes of large groups
}

// A node holds distinct values, once for each key of a plan, in order of that key's
// groups.
type node[F columns.Fingerprint] struct {
	first  F // one of the values; the others differ from it only in the bits of vary
	vary   columns.Uint128
	tables []nodeTable[F]
}

type nodeTable[F columns.Fingerprint] struct {
	lead   int // there are 1<<lead buckets, and the groups of every key are in their order
	bucket columns.Spread
	keys   []nodeKey[F]
}

type nodeKey[F columns.Fingerprint] struct {
	lookup lookup
	scope  scope
	starts []uint32 // group g is values[starts[g]:starts[g+1]]
	values []F      // in order of groups, with columns.Slack

	large    []uint32 // groups that have a node of their own, ascending
	children []*node[F]
}

// A lookup has what is needed to find a fingerprint's group and compare it there.
// The assembly depends on its layout.
type lookup struct {
	bucket, rest columns.Spread
	width        uint64 // of rest: the group is bucket<<width | rest
	starts       *uint32
	values       unsafe.Pointer
	k            int
	large        int // groups of that size or more are reported, not compared
}

const (
	probeChunk    = 1 << 20 // fingerprints brought to buckets at once
	probeBucket   = 4 << 10
	indexKeyBytes = 64
	indexBytes    = 512 << 20
)

// NewIndex returns an index of the distinct fingerprints of the lists. A Prober
// reports them by their places there. NewIndex fails if k is too large for the
// width.
func NewIndex[F columns.Fingerprint](l *columns.Lists[F], k int, o Options) (*Index[F], error) {
	bits := width[F](o)
	if err := checkDistance(bits, k); err != nil {
		return nil, err
	}
	size := int64(unsafe.Sizeof(*new(F)))
	n := int64(max(l.Len(), 1))
	ix := &Index[F]{lists: l, k: k, simd: o.simd(), room: max(indexKeyBytes/8*size*n, indexBytes)}
	ix.model = probing(int(min(ix.room/(size*n), maxKeys)))
	if ix.plan = o.plan; ix.plan == nil {
		ix.plan = choosePlan(bits, k, l.Len(), ix.model)
	}
	if ix.plan.k < k || ix.plan.bits != bits {
		return nil, fmt.Errorf("hamming: plan %v for %d bits and distance %d: %w", ix.plan, bits, k, errPlan)
	}
	ix.top = ix.node(l.Values(), ix.plan, nil, o.workers(), 0)
	return ix, nil
}

// node builds the node of values: all of the index, or those of a large group.
func (ix *Index[F]) node(values []F, plan *Plan, outer *scope, workers, depth int) *node[F] {
	nd := &node[F]{}
	if len(values) > 0 {
		nd.first, nd.vary = values[0], columns.Varying(values)
	}
	n := len(values)
	lead := min(bits.Len(uint(n/probeBucket)), 13)
	width := bits.Len(uint(n) / uint(ix.model.group))
	nd.tables = make([]nodeTable[F], len(plan.tables))
	var work []F
	for t := range nd.tables {
		table, from := &nd.tables[t], &plan.tables[t]
		mask := leading(from.block, lead)
		table.bucket, table.lead = exactly(mask, columns.DealHash, mask.Ones())
		bounds := []int{0, n}
		routed := values
		if table.lead > 0 {
			if work == nil {
				work = make([]F, n)
			}
			routed, bounds = work, columns.Deal(values, table.bucket, table.lead, workers, work, nil, nil)
		}
		table.keys = make([]nodeKey[F], from.to-from.from)
		for i := range table.keys {
			key := &table.keys[i]
			key.scope = scope{keys: plan.keys, from: from.from + i, to: from.from + i + 1, outer: outer}
			rest := plan.keys[from.from+i].And(mask.Not())
			spread, w := exactly(rest, columns.GroupHash, min(rest.Ones(), width-table.lead))
			key.values = make([]F, n+columns.Slack)
			key.starts = make([]uint32, 1<<(table.lead+w)+1)
			key.lookup = lookup{
				bucket: table.bucket, rest: spread, width: uint64(w),
				starts: &key.starts[0], values: unsafe.Pointer(&key.values[0]), k: ix.k, large: math.MaxInt,
			}
			values, bounds := routed, bounds
			columns.Each(workers, len(bounds)-1, func(int) func(int) {
				return func(b int) {
					key.place(values[bounds[b]:bounds[b+1]], b, uint32(bounds[b]))
				}
			})
			key.starts[len(key.starts)-1] = uint32(n)
		}
	}
	if depth == maxDepth {
		return nd
	}
	for t := range nd.tables {
		for i := range nd.tables[t].keys {
			ix.splitLarge(&nd.tables[t].keys[i], workers, depth)
		}
	}
	return nd
}

// place sorts the values of bucket b into its groups, in key.values from base on.
func (key *nodeKey[F]) place(values []F, b int, base uint32) {
	rest, w := &key.lookup.rest, key.lookup.width
	ends := key.starts[b<<w : (b+1)<<w] // the next place of each group
	for i := range values {
		ends[columns.Number(&values[i], rest)]++
	}
	at := base
	for g, size := range ends {
		ends[g] = at
		at += size
	}
	for i := range values {
		g := columns.Number(&values[i], rest)
		key.values[ends[g]] = values[i]
		ends[g]++
	}
	copy(ends[1:], ends[:len(ends)-1])
	ends[0] = base
}

// splitLarge gives each large group of a key a node of its own.
func (ix *Index[F]) splitLarge(key *nodeKey[F], workers, depth int) {
	for g, from := range key.starts[:len(key.starts)-1] {
		n := key.starts[g+1] - from
		if n < largeGroup {
			continue
		}
		child := ix.group(key.values[from:from+n+columns.Slack], &key.scope, workers, depth)
		key.large = append(key.large, uint32(g))
		key.children = append(key.children, child)
		key.lookup.large = largeGroup
	}
}

// group builds the node of a large group. It has keys of its own if these save work
// and there is room for them; else it is the group as it is, to be compared whole.
// Values has columns.Slack elements behind the group.
func (ix *Index[F]) group(values []F, outer *scope, workers, depth int) *node[F] {
	n := len(values) - columns.Slack
	vary := columns.Varying(values[:n])
	if plan := choosePlan(vary.Ones(), ix.k, n, ix.model); len(plan.regions) > 0 {
		plan = plan.onto(vary)
		need := int64(n) * int64(len(plan.keys)) * (int64(unsafe.Sizeof(values[0])) + 2)
		if need <= ix.room && worthwhile(values[:n], plan.keys) {
			ix.room -= need
			return ix.node(values[:n], plan, outer, workers, depth+1)
		}
	}
	starts := []uint32{0, uint32(n)}
	return &node[F]{values[0], vary, []nodeTable[F]{{keys: []nodeKey[F]{{
		lookup: lookup{starts: &starts[0], values: unsafe.Pointer(&values[0]), k: ix.k, large: math.MaxInt},
		scope:  scope{keys: []columns.Uint128{{}}, to: 1, outer: outer},
		starts: starts,
		values: values,
	}}}}}
}

// exactly is columns.NewSpread for fingerprints of which nothing is known; a width
// of 0 gives the spread that sends all to 0.
func exactly(mask, hash columns.Uint128, width int) (columns.Spread, int) {
	if width <= 0 {
		return columns.Spread{}, 0
	}
	return columns.NewSpread(mask, columns.Everything, width, hash)
}

// leading returns the n most significant bits of mask, or all it has.
func leading(mask columns.Uint128, n int) columns.Uint128 {
	for mask.Ones() > n {
		if mask.Lo != 0 {
			mask.Lo &= mask.Lo - 1
		} else {
			mask.Hi &= mask.Hi - 1
		}
	}
	return mask
}

// A Prober looks fingerprints up in an index. Only one goroutine may use it at a
// time. It holds workspace of 12 bytes for each fingerprint of a batch (20 for a
// [columns.Uint128]), up to a million of them or as many as are indexed.
type Prober[F columns.Fingerprint] struct {
	ix     *Index[F]
	levels []probeLevel[F]
	hits   []probeHit
	visit  func(i int, at uint32, distance int)
	base   int // where the current chunk begins in the batch

	// Found values whose places are not looked up yet, with the probe of each and
	// its distance.
	found     []F
	probes    [columns.FindBatch]uint32
	distances [columns.FindBatch]uint8
	at        [columns.FindBatch]uint32
}

type probeLevel[F columns.Fingerprint] struct {
	probes []F
	places []uint32
	queues [][]uint32 // by child of the current key: the probes for it
	sub    []F
	subs   []uint32
}

// A probeHit says that a probe is within k of some of the 8 values from place on:
// those for which lanes has a bit. If lanes is 0, place is instead the large group
// that the probe belongs to. The assembly depends on its layout.
type probeHit struct {
	probe, lanes uint32
	place        uint64
}

// NewProber returns a Prober. Any number of them may work on one index at a time.
func (ix *Index[F]) NewProber() *Prober[F] {
	return &Prober[F]{ix: ix, hits: make([]probeHit, 1024)}
}

// Probe finds the pairs of a fingerprint of the batch and an indexed one within k of
// it. It calls visit exactly once for each, in no particular order: i is the place
// in the batch, at the place among the distinct fingerprints of the index.
//
// Large batches cost less for each fingerprint, because they are sorted into the
// order of the index, which is then read in order too. Beyond the size of the
// index, or a million if that is more, a larger batch gains nothing.
func (p *Prober[F]) Probe(batch []F, visit func(i int, at uint32, distance int)) {
	p.visit = visit
	chunk := max(probeChunk, p.ix.lists.Len())
	for p.base = 0; p.base < len(batch); p.base += chunk {
		part := batch[p.base:min(p.base+chunk, len(batch))]
		p.node(p.ix.top, part, nil, 0)
		p.flush()
	}
	p.visit = nil
}

// node looks probes up in a node. Places are the probes' places in the chunk; nil
// means that probe i is at place i.
func (p *Prober[F]) node(nd *node[F], probes []F, places []uint32, depth int) {
	if depth == len(p.levels) {
		p.levels = append(p.levels, probeLevel[F]{})
	}
	for t := range nd.tables {
		table := &nd.tables[t]
		ordered, at := probes, places
		if table.lead > 0 && len(probes) >= 16<<table.lead {
			ordered, at = p.levels[depth].order(probes, places, table)
		}
		for i := range table.keys {
			p.key(&table.keys[i], ordered, at, depth)
		}
	}
}

// order sorts probes, with their places, by the buckets of a table.
func (l *probeLevel[F]) order(probes []F, places []uint32, table *nodeTable[F]) ([]F, []uint32) {
	if cap(l.probes) < len(probes) {
		l.probes, l.places = make([]F, len(probes)), make([]uint32, len(probes))
	}
	out, to := l.probes[:len(probes)], l.places[:len(probes)]
	columns.Deal(probes, table.bucket, table.lead, 1, out, places, to)
	return out, to
}

// key compares each probe with its group of a key.
func (p *Prober[F]) key(key *nodeKey[F], probes []F, places []uint32, depth int) {
	queues := p.levels[depth].queues
	for len(queues) < len(key.large) {
		queues = append(queues, nil)
	}
	p.levels[depth].queues = queues
	next, place, found := 0, uint64(0), 0
	for next < len(probes) {
		if p.ix.simd {
			next, place, found = probeSIMD(probes, key, next, place, p.hits)
		} else {
			next, place, found = probe(probes, key, next, place, p.hits)
		}
		for _, h := range p.hits[:found] {
			x := &probes[h.probe]
			at := h.probe
			if places != nil {
				at = places[at]
			}
			if h.lanes == 0 {
				i, _ := slices.BinarySearch(key.large, uint32(h.place))
				queues[i] = append(queues[i], h.probe)
				continue
			}
			p.lanes(key, x, at, h.place, uint8(h.lanes))
		}
	}
	for i, child := range key.children {
		if len(queues[i]) == 0 {
			continue
		}
		l := &p.levels[depth]
		sub, subs := l.sub[:0], l.subs[:0]
		for _, at := range queues[i] {
			// All values of the child agree outside vary: if a probe differs from
			// them in more than k bits there, none of them is near.
			if columns.Diff(&probes[at], &child.first).And(child.vary.Not()).Ones() > p.ix.k {
				continue
			}
			sub = append(sub, probes[at])
			if places != nil {
				at = places[at]
			}
			subs = append(subs, at)
		}
		queues[i] = queues[i][:0]
		l.sub, l.subs = sub, subs
		if len(sub) > 0 {
			p.node(child, sub, subs, depth+1)
		}
	}
}

// lanes adds those of the 8 values from place on for which m has a bit.
func (p *Prober[F]) lanes(key *nodeKey[F], x *F, at uint32, place uint64, m uint8) {
	for ; m != 0; m &= m - 1 {
		i := int(place) + bits.TrailingZeros8(m)
		if i >= len(key.values)-columns.Slack {
			return
		}
		// A value beyond the group differs from the probe in the key, so the scope
		// does not own the pair.
		if v := &key.values[i]; key.scope.owns(columns.Diff(x, v)) {
			p.add(at, v, columns.Distance(x, v))
		}
	}
}

// probe compares the probes from next on with their groups of a key; the group of
// the first from place on. It stops at the end or when hits is full. It returns the
// probe and place to go on from, and the number of hits.
func probe[F columns.Fingerprint](probes []F, key *nodeKey[F], next int, place uint64, hits []probeHit) (int, uint64, int) {
	found := 0
	l := key.lookup
	for ; next < len(probes); next++ {
		x := &probes[next]
		g := columns.Number(x, &l.bucket)<<l.width | columns.Number(x, &l.rest)
		from, to := key.starts[g], key.starts[g+1]
		if int(to-from) >= l.large {
			if found == len(hits) {
				return next, 0, found
			}
			hits[found] = probeHit{uint32(next), 0, g}
			found++
			continue
		}
		for i := max(from, uint32(place)); i < to; i++ {
			if columns.Distance(x, &key.values[i]) <= l.k {
				if found == len(hits) {
					return next, uint64(i), found
				}
				hits[found] = probeHit{uint32(next), 1, uint64(i)}
				found++
			}
		}
		place = 0
	}
	return next, 0, found
}

// add notes that a probe is within k of a value; flush will report it.
func (p *Prober[F]) add(probe uint32, v *F, distance int) {
	if len(p.found) == columns.FindBatch {
		p.flush()
	}
	n := len(p.found)
	p.found = append(p.found, *v)
	p.probes[n], p.distances[n] = probe, uint8(distance)
}

func (p *Prober[F]) flush() {
	p.ix.lists.Find(p.found, p.at[:])
	for i := range p.found {
		p.visit(p.base+int(p.probes[i]), p.at[i], int(p.distances[i]))
	}
	p.found = p.found[:0]
}

package page

import "slices"

// A second model judges a block by what the first said of it, of those around it
// and of those alike, beside the first's features: stacking, Wolpert, "Stacked
// generalization" (1992), along the sequence of blocks. A list of teasers of which
// the first was sure here and there becomes one list, in or out.

// Features of the second look, after those of the first.
const (
	sOwn  feature = iota + featureCount // the block's score
	sPrev                               // of the one before, the one before that, …
	sPrev2
	sPrev3
	sNext // behind
	sNext2
	sNext3
	sNear   // mean of the blocks around, by mass
	sWide   // … of more of them
	sBefore // … of those before
	sBehind
	sParent // mean of the blocks in the parent
	sGrand
	sRun   // … in like siblings of the most repeated element
	sGroup // … in elements alike anywhere
	sChunk
	sBest       // highest of the page
	sMean       // of the page
	sSureSide   // before the sure blocks, among them, behind them
	sSincePrev  // blocks since the last sure one
	sToNext     // to the next
	sSureShare  // of the main text that is expected, what stands before the block
	sExpected   // main text that is expected on the page
	sLikely     // the stretch of likely blocks around the block, for the largest
	sLikelySide // before the largest, in it, behind it
	sLikelyGap  // unlikely blocks between it and the block
	sLikelyMass // their text
	sLikelyCues // what lines say from its end to the block
	secondCount
)

// heap is what some blocks have: their mass, and what of it is expected to be
// main text, in thousandths: whole numbers, so that all machines agree.
type heap struct{ mass, main int64 }

func (h *heap) add(mass, p int64) {
	h.mass += mass
	h.main += mass * p
}

// percent is the share of it that is main text.
func (h *heap) percent() uint8 {
	if h.mass <= 0 {
		return 0
	}
	return uint8(h.main / (10 * h.mass))
}

// grade is a score in seven bits.
func grade(score int32) uint8 { return uint8(min(max(64+score*10/logitScale, 1), 127)) }

const (
	nearReach  = 3
	wideReach  = 10
	sureEnough = 800
	likely     = 500
	likelyGap  = 2 // unlikely blocks in a row that end no stretch of likely ones
)

// expectations are what the first look expects of a page. They are used again.
type expectations struct {
	probabilities []int64 // of each block, in thousandths
	before        []heap  // the blocks before each, and all
	groups, runs  []heap
	best          int64 // probability
	sure, sureEnd int   // from the first sure block to the last; equal where none is
}

// zeroed returns n zero values in the memory of s.
func zeroed[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// expect sets what the scores say.
func (x *Extractor) expect() {
	n := len(x.blocks)
	e := &x.expected
	e.probabilities, e.before = zeroed(e.probabilities, n), zeroed(e.before, n+1)
	e.groups, e.runs = zeroed(e.groups, len(x.groups)), zeroed(e.runs, len(x.runs))
	e.best, e.sure, e.sureEnd = 0, 0, 0
	for i := range n {
		p, mass := int64(1000*probability(x.scores[i])), int64(x.blocks[i].mass)
		e.probabilities[i] = p
		e.before[i+1] = e.before[i]
		e.before[i+1].add(mass, p)
		e.groups[x.grouped[i]].add(mass, p)
		e.best = max(e.best, p)
		if p >= sureEnough {
			if e.sureEnd == 0 {
				e.sure = i
			}
			e.sureEnd = i + 1
		}
		at := x.blocks[i].node
		for up := 0; at >= 0 && up <= maxRepeatedUp; up++ {
			e.runs[x.nodes[at].run].add(mass, p)
			at = x.nodes[at].parent
		}
	}
}

// between is the share of some blocks that is expected to be main text, and 1;
// 0 for no blocks.
func (e *expectations) between(first, end int) uint8 {
	first, end = max(first, 0), min(end, len(e.probabilities))
	if first >= end {
		return 0
	}
	h := heap{e.before[end].mass - e.before[first].mass, e.before[end].main - e.before[first].main}
	return 1 + h.percent()
}

// fillSecond sets the features of the second look from the scores of the first.
func (x *Extractor) fillSecond() {
	x.expect()
	e := &x.expected
	n := len(x.blocks)
	whole := e.before[n]
	for i := range n {
		x.set(sOwn, i, grade(x.scores[i]))
		for d := range 3 {
			if j := i - 1 - d; j >= 0 {
				x.set(sPrev+feature(d), i, grade(x.scores[j]))
			}
			if j := i + 1 + d; j < n {
				x.set(sNext+feature(d), i, grade(x.scores[j]))
			}
		}
		x.set(sNear, i, e.between(i-nearReach, i+nearReach+1))
		x.set(sWide, i, e.between(i-wideReach, i+wideReach+1))
		x.set(sBefore, i, e.between(i-wideReach, i))
		x.set(sBehind, i, e.between(i+1, i+1+wideReach))
		within := func(f feature, n *node) { x.set(f, i, e.between(int(n.first), int(n.end))) }
		node := &x.nodes[x.blocks[i].node]
		parent := &x.nodes[max(node.parent, 0)]
		within(sParent, parent)
		within(sGrand, &x.nodes[max(parent.parent, 0)])
		within(sChunk, &x.nodes[x.places[i].chunk])
		x.set(sGroup, i, e.groups[x.grouped[i]].percent())
		x.set(sRun, i, e.runs[x.places[i].run].percent())
		x.set(sBest, i, uint8(e.best/10))
		x.set(sMean, i, whole.percent())
		if whole.main > 0 {
			x.set(sSureShare, i, uint8(100*e.before[i].main/whole.main))
		}
		x.set(sExpected, i, lg(int32(whole.main/1000)))
	}
	x.fillSure()
	x.fillLikely()
}

// fillLikely sets the features of where a block stands to the stretches of likely
// blocks: an article is the largest, teasers and comments are others behind it.
func (x *Extractor) fillLikely() {
	e := &x.expected
	x.stretches = x.stretches[:0]
	for i, p := range e.probabilities {
		if p < likely {
			continue
		}
		if last := len(x.stretches) - 1; last < 0 || i-x.stretches[last].end > likelyGap {
			x.stretches = append(x.stretches, stretch{first: i})
		}
		at := &x.stretches[len(x.stretches)-1]
		at.end = i + 1
		at.mass += int32(int64(x.blocks[i].mass) * p / 1000)
	}
	var most stretch
	for _, s := range x.stretches {
		if s.mass > most.mass {
			most = s
		}
	}
	for _, s := range x.stretches {
		v := share(s.mass, most.mass)
		for i := s.first; i < s.end; i++ {
			x.set(sLikely, i, v)
		}
	}
	var gap, mass int32
	cues := uint8(0)
	step := func(i int) {
		if e.probabilities[i] < likely {
			gap, mass = gap+1, mass+x.blocks[i].mass
		}
		cues |= x.column(fNotice)[i]
		x.set(sLikelyGap, i, lg(gap))
		x.set(sLikelyMass, i, lg(mass))
	}
	for i := most.end; i < len(x.blocks); i++ {
		x.set(sLikelySide, i, 2)
		step(i)
		x.set(sLikelyCues, i, cues)
	}
	gap, mass = 0, 0
	for i := most.first - 1; i >= 0; i-- {
		step(i)
	}
	for i := most.first; i < most.end; i++ {
		x.set(sLikelySide, i, 1)
	}
}

// fillSure sets the features of where a block stands to the sure ones.
func (x *Extractor) fillSure() {
	e := &x.expected
	last := -1
	for i, p := range e.probabilities {
		if e.sureEnd > 0 {
			x.set(sSureSide, i, 1+side(i, e.sure, e.sureEnd))
		}
		x.setSince(sSincePrev, i, last)
		if p >= sureEnough {
			last = i
		}
	}
	last = -1
	for i := len(e.probabilities) - 1; i >= 0; i-- {
		x.setSince(sToNext, i, last)
		if e.probabilities[i] >= sureEnough {
			last = i
		}
	}
}

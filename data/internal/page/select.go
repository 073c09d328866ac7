package page

import (
	_ "embed" // the model
	"math"
	"slices"
)

// The model judges blocks; `go generate` trains it, on the pages with truth
// that the tests read.
//
//go:generate go test -run ^TestModel$ -update .
//go:embed model.bin
var packed []byte

//go:embed second.bin
var packedSecond []byte

// looks are the two models: the second judges with what the first said of the
// blocks around and of those alike.
type looks struct{ first, second *forest }

func decodeLooks(first, second []byte) (l looks, err error) {
	if l.first, err = decodeForest(first, int(featureCount)); err != nil {
		return looks{}, err
	}
	if l.second, err = decodeForest(second, int(secondCount)); err != nil {
		return looks{}, err
	}
	return l, nil
}

var model, errModel = decodeLooks(packed, packedSecond)

// Selection of blocks by their probabilities to be main text.
const (
	// bestShare is the share of the best expected F1 that a block's probability
	// needs. For given probabilities half of the optimum is the best threshold:
	// Lipton, Elkan, Narayanaswamy, "Optimal thresholding of classifiers to
	// maximize F1 measure" (2014). More was better on pages that the model had not
	// seen: news gain precision, and lists lose little.
	bestShare = 0.75
	// minProbability is what a block needs in any case, on a page that has one
	// with more.
	minProbability = 0.15
	// repeatedMass is the mass from which on a block is left out whose very text
	// was taken before: players, sticky headers, versions for other screens.
	repeatedMass = 30
	// sureHeading is the probability of a first-level heading that needs no text
	// behind it.
	sureHeading = 0.6
	// commentedProse is the mass of prose before the comments on it from which on
	// they are no main text.
	commentedProse = 500
	// mostRaised is how much the second look may add to the logit of the first, on
	// pages that have so much text that is likely, or so much in all.
	mostRaised = 2
	muchLikely = 600
	muchText   = 2000
	// menuLines is how many links that were made one block are a menu.
	menuLines = 256
)

// AppendMain appends the page's main text, a line for each block: the blocks
// that the model takes for it; without such the text that the page brings as
// data; of a page with next to no text its visible text. It appends nothing to
// a page that has none of these, and None tells why.
func (x *Extractor) AppendMain(dst []byte) []byte {
	if _, mass := x.seen(); mass < fewSeen {
		if text := x.appendBrought(dst); len(text) > len(dst) {
			return text
		}
		if x.saysError() {
			x.none = Error
			return dst
		}
		return x.AppendVisible(dst)
	}
	x.judge(model)
	x.none = x.lacks()
	if x.none != "" {
		from := len(dst)
		if dst = x.appendBrought(dst); len(dst) > from {
			x.none = ""
		}
		return dst
	}
	return x.appendChosen(dst)
}

// appendChosen appends the blocks that were judged to be main text.
func (x *Extractor) appendChosen(dst []byte) []byte {
	x.choose()
	return x.join(dst, func(i int) bool { return x.chosen[i] && !x.taken(i) })
}

// choose marks the blocks of the main text: those of enough probability. A
// page's heading goes with the text that follows it, so that pages which differ
// a little do not differ in it too, unless it is sure by itself, or there is
// nothing but headings. What readers say of an article is none of it.
func (x *Extractor) choose() {
	least := x.threshold()
	x.chosen = slices.Grow(x.chosen[:0], len(x.blocks))[:len(x.blocks)]
	if x.highest() < surely && x.chooseTold() {
		return
	}
	followed, any := false, false
	for i := len(x.blocks) - 1; i >= 0; i-- {
		if x.isHeading(i) {
			x.chosen[i] = followed || probability(x.scores[i]) >= sureHeading
			continue
		}
		followed = probability(x.scores[i]) >= least
		x.chosen[i] = followed
		any = any || followed
	}
	for i := 0; i < len(x.blocks) && !any; i++ {
		x.chosen[i] = probability(x.scores[i]) >= least
	}
	x.dropComments()
}

// dropComments leaves out the comments behind an article. The posts of a forum
// are its main text, and are marked alike: they have no article before them.
func (x *Extractor) dropComments() {
	if x.kinds&kindForum != 0 {
		return
	}
	comment := func(i int) bool {
		n := &x.nodes[x.blocks[i].node]
		return (n.above|n.marks)&(1<<markComment) != 0
	}
	prose, first := int32(0), 0
	for ; first < len(x.blocks) && !comment(first); first++ {
		if x.chosen[first] && x.isProse(first) {
			prose += x.blocks[first].mass - x.blocks[first].linked
		}
	}
	if prose < commentedProse {
		return
	}
	for i := first; i < len(x.blocks); i++ {
		x.chosen[i] = x.chosen[i] && !comment(i)
	}
}

// taken reports whether a block of this text was taken before; it is now.
func (x *Extractor) taken(i int) bool {
	if x.measures[i].repeated < 2 || x.blocks[i].mass < repeatedMass {
		return false
	}
	times := &x.counter.counts[x.counter.slot(textKey(x.blockText(i)))]
	again := *times == 0
	*times = 0
	return again
}

func (x *Extractor) judge(m looks) {
	x.fill()
	x.score(m.first)
	x.fillSecond()
	x.seconds = slices.Grow(x.seconds[:0], x.stride)[:x.stride]
	m.second.predict(x.seconds, x.features, x.stride)
	x.settle()
	if !x.dense {
		return
	}
	for i := range x.blocks { // no page that the model knows has the like
		if k := &x.blocks[i]; k.lines >= menuLines && k.linked*2 > k.mass {
			x.scores[i] = -8 * logitScale
		}
	}
}

// settle makes one score of two: the second look's, which may add to the first's
// where there is much text alone. On short pages it took hot lists for the page's own.
func (x *Extractor) settle() {
	likely := int32(0)
	for i := range x.blocks {
		if x.scores[i] >= 0 {
			likely += x.blocks[i].mass
		}
	}
	raised := int32(0)
	if likely >= muchLikely || x.nodes[0].mass >= muchText {
		raised = mostRaised * logitScale
	}
	for i, second := range x.seconds {
		x.scores[i] = min(second, x.scores[i]+raised)
	}
}

// score sets the scores to what the first look says.
func (x *Extractor) score(first *forest) {
	if cap(x.scores) < x.stride {
		x.scores = make([]int32, x.stride+x.stride/4)
	}
	x.scores = x.scores[:x.stride]
	first.predict(x.scores, x.features, x.stride)
}

func probability(score int32) float64 { return 1 / (1 + math.Exp(float64(-score)/logitScale)) }

// isHeading reports whether a block is a first-level heading; not all that is in
// one which was never closed.
func (x *Extractor) isHeading(i int) bool { return x.nodes[x.blocks[i].node].tag == tagH1 }

// highest is the probability of the most probable block that is in no heading: a
// headline alone is no main text, and many pages may share it. On a page of
// nothing else it is that of a heading.
func (x *Extractor) highest() float64 {
	highest, heading := 0.0, 0.0
	for i := range x.blocks {
		if p := probability(x.scores[i]); x.nodes[x.blocks[i].node].within&headings != 0 {
			heading = max(heading, p)
		} else {
			highest = max(highest, p)
		}
	}
	if highest == 0 {
		return heading
	}
	return highest
}

// threshold returns the probability from which on a block is taken.
func (x *Extractor) threshold() float64 {
	const bins = 256
	var masses, expected [bins]float64 // of the blocks by probability
	all := 0.0
	for i := range x.blocks {
		p, mass := probability(x.scores[i]), float64(x.blocks[i].mass)
		bin := min(int(p*bins), bins-1)
		masses[bin] += mass
		expected[bin] += p * mass
		all += p * mass
	}
	best, taken, right := 0.0, 0.0, 0.0
	for bin := bins - 1; bin >= 0; bin-- {
		taken += masses[bin]
		right += expected[bin]
		if taken > 0 {
			best = max(best, 2*right/(taken+all))
		}
	}
	return min(max(best*bestShare, minProbability), x.highest())
}

package page

import (
	"bytes"
	_ "embed" // the model
	"math"
	"slices"
	"unicode"
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
	bestShare = 0.7
	// plainShare is that share on a page that does not say what it is, and proseShare
	// if, besides, mostlyProse of the main text that is expected is prose: older pages
	// and smaller sites put more prose around an article, with less to tell it by.
	plainShare  = 0.75
	proseShare  = 0.85
	mostlyProse = 0.6
	// besideShare is the share of the probability that a block needs which is enough
	// beside a paragraph that is taken: what begins a text is taken with more care than
	// what goes on with it, as Canny, "A computational approach to edge detection"
	// (1986), follows an edge.
	besideShare = 0.6
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
	// they are no main text, and commentedOwn that of prose in no message.
	commentedProse = 500
	commentedOwn   = 200
	// signedComments is how many of what is said below a line like "Comments" are
	// followed by a date, where no class marks comments; commentsWords the most words
	// of such a line.
	signedComments = 2
	commentsWords  = 2
	// mostRaised is how much the second look may add to the logit of the first, on
	// pages that have so much text that is likely, or so much in all.
	mostRaised = 2
	muchLikely = 600
	muchText   = 2000
	// menuLines is how many links that were made one block are a menu.
	menuLines = 256
	// fewBody is the mass that a body has at least without title and summary, and
	// mostTitles what these have at most.
	fewBody    = 60
	mostTitles = 1000
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
	x.takeBody()
	body := x.bodyBlock()
	again := func(i int) bool { return x.chosen[i] && !x.taken(i) }
	for i := body; i < len(x.blocks); i++ { // of blocks with the same text the body has its own
		x.chosen[i] = again(i)
	}
	for i := range body {
		x.chosen[i] = again(i)
	}
	from := len(dst)
	dst = x.join(dst, func(i int) bool { return i < body && x.chosen[i] })
	if len(dst) > from {
		dst = append(dst, '\n')
	}
	x.body = len(dst) - from
	return x.join(dst, func(i int) bool { return i >= body && x.chosen[i] })
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
	x.takeBeside(least)
	x.dropComments()
}

// takeBeside takes what stands beside a paragraph of prose that is taken, in the same
// element: sentences beside one, any text between two. A part of an article that the
// models doubt is more likely to be main text than their doubts say.
func (x *Extractor) takeBeside(least float64) {
	beside := func(i, j int) bool {
		if i < 0 || i >= len(x.blocks) || !x.chosen[i] || !x.isProse(i) {
			return false
		}
		a, b := x.blocks[i].node, x.blocks[j].node
		return a == b || a == x.nodes[b].parent || b == x.nodes[a].parent || x.nodes[a].parent == x.nodes[b].parent
	}
	take := func(j int) {
		k := &x.blocks[j]
		if x.chosen[j] || k.linked*2 >= k.mass || probability(x.scores[j]) < least*besideShare {
			return
		}
		before, behind := beside(j-1, j), beside(j+1, j)
		x.chosen[j] = before && behind || (before || behind) && (x.isProse(j) || x.measures[j].sentences > 0)
	}
	for j := range x.blocks {
		take(j)
	}
	for j := len(x.blocks) - 1; j >= 0; j-- {
		take(j)
	}
}

// bodyBlock returns the block that the body begins with, of a page whose title and
// summary stand before it and have more than half as much text as it has; 0 of
// others. With less of them, a body under another title has a Jaccard similarity of
// .5 or more to itself, and another body under the same title one of .2 or less.
func (x *Extractor) bodyBlock() int {
	body, titles, rest := 0, int32(0), int32(0)
	for i := range x.blocks {
		if !x.chosen[i] {
			continue
		}
		mass := x.blocks[i].mass / max(1, x.measures[i].repeated)
		switch before := body == 0; {
		case x.isTitle(i, before):
			if before {
				titles += mass
			}
		case before:
			body = i
			fallthrough
		default:
			rest += mass
		}
	}
	if rest < fewBody || titles*2 <= rest || titles > mostTitles {
		return 0
	}
	return body
}

// takeBody takes, where titles alone were taken, the likeliest paragraphs of prose
// instead: many pages may share a title, and a summary that repeats it.
func (x *Extractor) takeBody() {
	highest := 0.0
	for i := range x.blocks {
		switch {
		case x.isTitle(i, false):
		case x.chosen[i]:
			return
		case x.isProse(i):
			highest = max(highest, probability(x.scores[i]))
		}
	}
	for i := range x.blocks {
		x.chosen[i] = x.chosen[i] || highest >= surely && x.isProse(i) && probability(x.scores[i]) >= highest*bestShare
	}
}

// isTitle reports whether a block is the page's title, of which it may be a part;
// or its summary, if it stands before the body: what a class says to be one.
func (x *Extractor) isTitle(i int, before bool) bool {
	if x.isHeading(i) || x.column(fTitle)[i] != 0 {
		return true
	}
	text := x.blockText(i)
	for _, title := range [...][]byte{x.shownTitle, x.title} {
		if title = plainTitle(title); len(title) >= 12 && len(text) <= 2*len(title) && bytes.Contains(text, title) {
			return true
		}
	}
	return before && x.column(fNear + feature(markTitle))[i] != 0
}

// plainTitle is a title without the name of the site behind it, and without what
// stands in brackets before it.
func plainTitle(title []byte) []byte {
	if i := bytes.LastIndexAny(title, "_|"); i > 0 {
		title = title[:i]
	}
	if len(title) > 0 && title[0] == '[' {
		if i := bytes.IndexByte(title, ']'); i > 0 {
			title = title[i+1:]
		}
	}
	return bytes.TrimSpace(title)
}

// forumWords are what titles of forums say, in small letters.
var forumWords = [...][]byte{[]byte("forum"), []byte("message board"), []byte("论坛"), []byte("論壇"), []byte("форум"), []byte("Форум"), []byte("フォーラム"), []byte("포럼"), []byte("منتدى")}

// isForum reports whether the page says that it is one of a forum, or of a program for
// forums.
func (x *Extractor) isForum() bool {
	return x.forum || x.kinds&kindForum != 0 || containsAny(x.small(x.title), forumWords[:])
}

// dropComments leaves out the comments behind an article. The posts of a forum
// are its main text, and are marked alike: they have no article before them, but
// for the first post, which is a message as they are.
func (x *Extractor) dropComments() {
	if x.isForum() {
		return
	}
	marks := func(i int) uint32 {
		n := &x.nodes[x.blocks[i].node]
		return n.above | n.marks
	}
	comment := func(i int) bool { return x.chosen[i] && marks(i)&(1<<markComment) != 0 }
	prose, own, site := int32(0), int32(0), x.kinds&kindSite != 0
	for i := range x.blocks {
		switch {
		case comment(i):
			if prose < commentedProse && (own < commentedOwn || site) {
				return
			}
			for j := i; j < len(x.blocks); j++ {
				x.chosen[j] = x.chosen[j] && !comment(j)
			}
			return
		case x.chosen[i] && x.isProse(i):
			mass := (x.blocks[i].mass - x.blocks[i].linked) / max(1, x.measures[i].repeated)
			prose += mass
			if marks(i)&(1<<markMessage) == 0 {
				own += mass
			}
		case own >= commentedOwn && !site && x.beginsComments(i):
			clear(x.chosen[i:])
			return
		}
	}
}

// beginsComments reports whether comments that no class marks begin at a block: a
// line that says so, and behind it, up to another such line, texts with dates below.
func (x *Extractor) beginsComments(i int) bool {
	if x.chosen[i] || !x.saysComments(i) {
		return false
	}
	signed, said := 0, false
	for j := i + 1; j < len(x.blocks) && !x.saysComments(j); j++ {
		if x.chosen[j] {
			said = true
		} else if said && x.measures[j].date {
			signed, said = signed+1, false
		}
	}
	return signed >= signedComments
}

// saysComments reports whether a block is a line like "Comments" or "评论 (12)".
func (x *Extractor) saysComments(i int) bool {
	if x.column(fLineCue)[i]&cueComment == 0 {
		return false
	}
	words := 0
	for range bytes.FieldsFuncSeq(x.blockText(i), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		words++
	}
	return words <= commentsWords
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
	all, prose := 0.0, 0.0
	for i := range x.blocks {
		p, mass := probability(x.scores[i]), float64(x.blocks[i].mass)
		if x.isProse(i) {
			prose += p * mass
		}
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
	share := bestShare
	switch {
	case x.kinds != 0:
	case prose > mostlyProse*all:
		share = proseShare
	default:
		share = plainShare
	}
	return min(max(best*share, minProbability), x.highest())
}

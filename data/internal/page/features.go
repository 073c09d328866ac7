package page

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
)

// A feature is a number from 0 to 127 that the model judges a block by. They
// are kept by feature, then by block: see Extractor.column.
type feature int

// The features. "own" text is text outside links; mass is bytes of text without
// white space, in which a word of Chinese and one of English weigh about the same.
const (
	fMass      feature = iota // of the block
	fWords                    // in it
	fLinked                   // share of it in links
	fPunct                    // punctuation marks for its mass
	fSentences                // full stops
	fWordMass                 // mass of a word
	fDigits                   // share of digits
	fUpper                    // … of capital letters
	fTag                      // of the element that it stands in
	fEnding                   // what it ends with
	fInline                   // whether it has times, labels, buttons
	fDepth                    // elements that it stands in
	fHidden                   // how it is hidden
	fRepeated                 // how often its text is on the page
	fTitle                    // whether the page's title has it

	fParentTag // of the element around the block's
	fParentMass
	fParentLinked
	fParentMean // mass of a block in it
	fGrandTag   // of the one around that
	fGrandMass
	fGrandLinked
	fGrandMean
	fSiblings // blocks in the parent
	fIndex    // the block's place among them

	fChunkTag // the chunk: the largest element around the block that the main element is not in
	fChunkMass
	fChunkLinked
	fChunkMean
	fChunkDepth
	fChunkSide // before the main element, in it, behind it
	fMainMass  // the main element: where most of the page's own text is
	fMainLinked

	fSectionMass // the outermost element around the block with the same kinds of elements around it
	fSectionLinked
	fRepeat // how often the element most repeated around the block is repeated
	fRepeatMass
	fRepeatLinked
	fRepeatDepth

	fRunMean // the siblings alike of that element: mass of one
	fRunLinked
	fRunLongest
	fRunEven // the largest, for the mean
	fRunBlocks

	fGroupBlocks // the blocks of the page in elements like the block's
	fGroupMass
	fGroupLinked
	fGroupMean
	fGroupProse // those of prose

	fBodySide // before the body, the element with most paragraphs of prose, in it, behind it
	fBodyUp   // how far up the element is that both are in
	fBodyMass
	fBodyShare // prose in the elements around the block, for that in the body

	fCoreSide // before the core, the stretch with most text outside links, in it, behind it
	fCoreDistance
	fCoreMass
	fProseBefore // paragraphs of prose before the block
	fProseBehind
	fSinceProse // blocks since the last
	fToProse
	fCues // what headings since the core began say
	fSinceCue
	fLineCue      // what the block's words say, if it is short; see lineCues
	fLineCues     // what those since the first prose say
	fSinceRelated // blocks since one of these
	fSinceComment
	fNearComments // such of the blocks around
	fNearBylines

	fBefore // share of the page's own text before the block
	fBeforeIndex
	fPrevMass // the block before
	fPrevLinked
	fPrevTag
	fPrevPunct
	fNextMass // the block behind
	fNextLinked
	fNextTag
	fNextPunct
	fWindow // the eleven blocks around: own text
	fWindowMass
	fWindowLinked
	fWindowSentences
	fWindowPrices

	fSinceH1 // blocks since the last first-level heading
	fSinceHeading
	fHeadingCue // what the last heading's words say
	fHeadingTag
	fH1Up    // how far up the element is that the block and the page's heading are in
	fH1Mass  // its share of the page
	fH1Depth // how far down from it the heading is
	fH1Side  // before or behind the heading

	fPageMass // the whole page
	fPageLinked
	fPageP  // share of it in paragraphs
	fPageLi // … in lists and tables
	fPageLong
	fPageMax
	fPageRepeat
	fPagePrices
	fPageSentences
	fKinds // what the page says that it is, a feature each

	fNear         = fKinds + kindCount          // marks of the block's element and of the one around it
	fChunk        = fNear + feature(markCount)  // … of the chunk
	fAbove        = fChunk + feature(markCount) // … of all elements around
	fWithin       = fAbove + feature(markCount) // tags of all elements around
	windowReach   = 5
	maxTitled     = 300 // bytes of a block that is looked for in the title
	maxRepeatedUp = 6
)

// What lines, lists and stretches of prose around a block are like.
const (
	fRunDates      feature = iota + fWithin + feature(tagHTML) // lines with a date among like siblings, for each
	fNotice                                                    // what the words of a block that is not long say
	fDate                                                      // whether it is a short line with a date or a time
	fNearDates                                                 // such of the blocks around
	fLinksPrev                                                 // of the blocks before, how many are links
	fLinksNext                                                 // … behind
	fSinceList                                                 // blocks since three links in a row
	fToList                                                    // … to such
	fLinesNext                                                 // blocks behind that are short and no links
	fStretchMass                                               // the stretch of paragraphs of prose around the block, for the largest
	fStretchSide                                               // before the largest, in it, behind it
	fStretchToward                                             // blocks to the largest
	fStretchProse                                              // paragraphs in the largest
	fNoticeSeen                                                // notices since the largest ended
	featureCount
)

// lg is four times the logarithm to base 2 of n + 1, about; at most 127.
func lg(n int32) uint8 {
	v := uint32(n + 1)
	l := bits.Len32(v) - 1
	return uint8(4*l + int(uint64(v)<<2>>l&3))
}

// share is n in percent of all.
func share(n, all int32) uint8 {
	if all <= 0 {
		return 0
	}
	return uint8(min(int64(n)*100/int64(all), 127))
}

func cap7(n int32) uint8 { return uint8(min(n, 127)) }

// measures are counts over a block's text.
type measures struct {
	words, punct, sentences, digits, upper, repeated int32
	ending                                           uint8
	price, date                                      bool
}

// Packed counts of a byte's kinds: capitals, digits, punctuation, full stops.
const (
	countUpper = 1 << (16 * iota)
	countDigit
	countPunct
	countStop
)

var byteCounts = func() (t [256]uint64) {
	for c := 'A'; c <= 'Z'; c++ {
		t[c] = countUpper
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = countDigit
	}
	t[','], t[';'] = countPunct, countPunct
	t['.'], t['!'], t['?'] = countPunct+countStop, countPunct+countStop, countPunct+countStop
	t[0xef] = countPunct // full-width forms
	return t
}()

// stops are the marks that end sentences in other scripts than Latin, by their
// first byte.
var stops = func() (t [256][]string) {
	for _, s := range [...]string{"。", "！", "？", "؟", "۔", "।", "။", "។", "።"} {
		t[s[0]] = append(t[s[0]], s)
	}
	return t
}()

func (x *Extractor) measure(k *block) (m measures) {
	text := x.text[k.start:k.end]
	wide := int32(0)
	for rest := text; len(rest) > 0; {
		part := rest[:min(len(rest), 1<<14)] // a count has 16 bits
		rest = rest[len(part):]
		sum := uint64(0)
		for i, c := range part {
			sum += byteCounts[c]
			if c < 0xd8 { // no other script that is looked for
				continue
			}
			if c >= 0xe3 && i+2 < len(part) { // a character of three bytes
				wide++
			}
			for _, stop := range stops[c] {
				if len(part)-i >= len(stop) && string(part[i:i+len(stop)]) == stop {
					sum += (countPunct | countStop) &^ byteCounts[c]
				}
			}
		}
		m.upper += int32(sum & 0xffff)
		m.digits += int32(sum >> 16 & 0xffff)
		m.punct += int32(sum >> 32 & 0xffff)
		m.sentences += int32(sum >> 48)
	}
	m.words = k.spaces + 1 + wide/2
	switch last := text[len(text)-1]; last {
	case '.', '!', '?', '"', ')', 0x82, 0x81, 0x9f, 0x9d: // the last four end full stops and quotation marks
		m.ending = 1
	case ':':
		m.ending = 2
	case '>', '|', '/', 0xbb:
		m.ending = 3
	}
	m.date = m.digits >= 3 && len(text) < maxDated && hasDate(text)
	m.price = m.digits > 0 && len(text) < maxTitled && hasPrice(text)
	return m
}

// maxDated is the length up to which a block is a line with a date.
const maxDated = 120

// hasDate reports whether a text has a year, 1990 to 2099, or a time of day.
func hasDate(text []byte) bool {
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	for i, c := range text {
		switch {
		case c == ':' && digit(i-1) && digit(i+1) && digit(i+2) && !digit(i+3):
			return true
		case (c == '2' && digit(i+1) && text[i+1] == '0' || c == '1' && digit(i+1) && text[i+1] == '9') && digit(i+2) && digit(i+3) && !digit(i+4) && !digit(i-1):
			return true
		}
	}
	return false
}

var currencies = [...][]byte{[]byte("$"), []byte("€"), []byte("£"), []byte("¥"), []byte("￥"), []byte("元")}

func hasPrice(text []byte) bool {
	for _, c := range currencies {
		if bytes.Contains(text, c) {
			return true
		}
	}
	return false
}

// Cues: words that tell what follows a heading, of three kinds.
var cueWords = [...][][]byte{
	bytes.Split([]byte("related|recommend|popular|trending|most read|you may|you might|also like|latest|more from|more stor|see also|next|previous|read more|learn more|"+
		"相关|推荐|热门|热点|排行|猜你喜欢|更多|上一篇|下一篇|精彩|相關|推薦|熱門|延伸閱讀"), []byte("|")),
	bytes.Split([]byte("comment|reply|replies|leave a|"+
		"评论|回复|留言|評論|网友"), []byte("|")),
	bytes.Split([]byte("share|subscribe|newsletter|sign up|log in|sign in|cookie|privacy|terms|follow us|contact|"+
		"分享|订阅|登录|注册|隐私|声明"), []byte("|")),
}

// cues returns those of a heading, as bits.
func (x *Extractor) cues(text []byte) (set uint8) {
	x.small(text[:min(len(text), 240)])
	for i, list := range cueWords {
		for _, w := range list {
			if bytes.Contains(x.lower, w) {
				set |= 1 << i
				break
			}
		}
	}
	return set | lineCues(x.lower)&(cueRelated|cueComment|cueShare) // in other languages
}

// counter counts keys: an open-addressing table that is used again. Its keys
// are keyed hashes, so that no page can choose where they meet.
type counter struct {
	keys   []uint64
	counts []int32
}

func (c *counter) reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	if cap(c.keys) < size {
		c.keys, c.counts = make([]uint64, size), make([]int32, size)
	}
	c.keys, c.counts = c.keys[:size], c.counts[:size]
	clear(c.keys)
	clear(c.counts)
}

// seed keys the hashes. It differs from process to process; what is counted
// does not.
var seed = maphash.MakeSeed()

// slot returns where key, a hash by seed, is counted.
func (c *counter) slot(key uint64) int {
	key |= 1
	for i := key >> 32; ; i++ {
		i &= uint64(len(c.keys) - 1)
		if c.keys[i] == key {
			return int(i)
		}
		if c.keys[i] == 0 {
			c.keys[i] = key
			return int(i)
		}
	}
}

// textKey tells texts apart, by all of their bytes.
func textKey(b []byte) uint64 { return maphash.Bytes(seed, b) }

// group is what elements or blocks that are alike have in common.
type group struct{ count, mass, linked, blocks, longest, prose, dates int32 }

// groupOf returns the index of a key's group in groups, a new one if need be.
func (c *counter) groupOf(key uint64, groups []group) (int32, []group) {
	at := &c.counts[c.slot(key)]
	if *at == 0 {
		groups = append(groups, group{})
		*at = int32(len(groups))
	}
	return *at - 1, groups
}

func pairKey(a, b uint32) uint64 {
	var key [8]byte
	binary.LittleEndian.PutUint32(key[:], a)
	binary.LittleEndian.PutUint32(key[4:], b)
	return maphash.Bytes(seed, key[:])
}

// proseMass is the mass outside links from which on a block with a full stop is
// a paragraph of prose, and longMass that of one without: some scripts have none.
const (
	proseMass = 80
	longMass  = 300
)

func (x *Extractor) isProse(i int) bool {
	k := &x.blocks[i]
	own := k.mass - k.linked
	return k.linked*3 < k.mass && (own >= proseMass && x.measures[i].sentences > 0 || own >= longMass)
}

// count sets how often texts and elements are repeated, and what repeated ones
// are like.
func (x *Extractor) count() {
	x.runs = x.runs[:0]
	x.counter.reset(len(x.nodes))
	for i := range x.nodes {
		n := &x.nodes[i]
		n.run, x.runs = x.counter.groupOf(pairKey(uint32(n.parent), n.sign), x.runs)
		g := &x.runs[n.run]
		g.count++
		g.mass += n.mass
		g.linked += n.linked
		g.blocks += n.end - n.first
		g.longest = max(g.longest, n.mass)
	}
	for i := range x.nodes {
		n := &x.nodes[i]
		n.repeat = x.runs[n.run].count
	}
	x.measures = x.measures[:0]
	x.counter.reset(len(x.blocks))
	for i := range x.blocks {
		k := &x.blocks[i]
		m := x.measure(k)
		s := x.counter.slot(textKey(x.text[k.start:k.end]))
		x.counter.counts[s]++
		m.repeated = int32(s)
		x.measures = append(x.measures, m)
	}
	for i := range x.measures {
		m := &x.measures[i]
		m.repeated = x.counter.counts[m.repeated]
		if !m.date {
			continue
		}
		at := x.blocks[i].node
		for up := 0; at >= 0 && up <= maxRepeatedUp; up++ {
			x.runs[x.nodes[at].run].dates++
			at = x.nodes[at].parent
		}
	}
}

// group sets what blocks in elements alike have in common, and returns the
// body: the element with most paragraphs of prose.
func (x *Extractor) group() (body int32) {
	x.groups, x.grouped = x.groups[:0], x.grouped[:0]
	x.grouping.reset(len(x.blocks))
	for i := range x.blocks {
		k := &x.blocks[i]
		n := &x.nodes[k.node]
		p := &x.nodes[max(n.parent, 0)]
		var g int32
		g, x.groups = x.grouping.groupOf(pairKey(n.sign, p.sign), x.groups)
		x.grouped = append(x.grouped, g)
		c := &x.groups[g]
		c.count++
		c.mass += k.mass
		c.linked += k.linked
		if x.isProse(i) {
			c.prose++
			own := k.mass - k.linked
			p.prose += own
			x.nodes[max(p.parent, 0)].prose += own / 2
		}
	}
	for i := range x.nodes {
		if x.nodes[i].prose > x.nodes[body].prose {
			body = int32(i)
		}
	}
	return body
}

// core returns the blocks from first to end whose text outside links outweighs
// what else there is by most: a maximum subarray.
func (x *Extractor) core() (first, end int) {
	var sum, best, from int
	for i := range x.blocks {
		k := &x.blocks[i]
		own := int(min(k.mass-k.linked, 400))
		if x.measures[i].sentences == 0 {
			own /= 2
		}
		if sum <= 0 {
			sum, from = 0, i
		}
		sum += own - 2*int(min(k.linked, 400)) - 40
		if sum > best {
			best, first, end = sum, from, i+1
		}
	}
	return first, end
}

// place is where a block stands: its chunk, and the run of its most repeated
// element.
type place struct{ chunk, run int32 }

// Paths that a node is on, as bits of node.on.
const (
	onMain = 1 << iota // from the root to the main element
	onH1               // from the root to the page's heading
	onBody             // from the root to the body
	onTold             // none: it has a paragraph that tells something
)

// ancestors are those of the elements around a node, itself among them, that the
// features ask for.
type ancestors struct {
	chunk   int32 // the outermost that is not on the path to the main element, or the node itself if it is on it
	section int32 // the outermost that is in the same tags
	h1      int32 // the innermost on the path to the page's heading
	body    int32 // the innermost on the path to the body
}

// findAncestors finds those of all nodes, a node's from its parent's, which stands before
// it: climbing from each block takes the square of the depth.
func (x *Extractor) findAncestors() {
	x.ancestors = slices.Grow(x.ancestors[:0], len(x.nodes))[:len(x.nodes)]
	x.ancestors[0] = ancestors{}
	for i := 1; i < len(x.nodes); i++ {
		n := &x.nodes[i]
		up := &x.nodes[n.parent]
		l := x.ancestors[n.parent]
		if up.on&onMain != 0 {
			l.chunk = int32(i)
		}
		if up.within != n.within {
			l.section = int32(i)
		}
		if n.on&onH1 != 0 {
			l.h1 = int32(i)
		}
		if n.on&onBody != 0 {
			l.body = int32(i)
		}
		x.ancestors[i] = l
	}
}

// path marks the nodes from at to the root.
func (x *Extractor) path(at int32, bit uint8) {
	for ; at >= 0; at = x.nodes[at].parent {
		x.nodes[at].on |= bit
	}
}

// furniture are elements that are not looked for the main element in.
const furniture = 1<<tagNav | 1<<tagFooter | 1<<tagAside | 1<<tagDialog

// main returns the node that most of the page's own text is in: from the root,
// the child that has 70 percent of its parent's or more, again and again.
func (x *Extractor) main() int32 {
	for i := len(x.nodes) - 1; i > 0; i-- {
		n := &x.nodes[i]
		if n.within&furniture != 0 || n.hidden&(hiddenStyle|hiddenFallback) != 0 {
			continue
		}
		if p := &x.nodes[n.parent]; p.heir == 0 || n.own() >= x.nodes[p.heir].own() {
			p.heir = int32(i)
		}
	}
	at := int32(0)
	for {
		n := &x.nodes[at]
		if n.heir == 0 || int64(x.nodes[n.heir].own())*100 < int64(n.own())*70 {
			return at
		}
		at = n.heir
	}
}

// heading returns the node of the page's heading; -1 when it has none.
func (x *Extractor) heading() int32 {
	found := int32(-1)
	for i := range x.nodes {
		n := &x.nodes[i]
		if n.tag != tagH1 || n.mass == 0 || n.hidden != 0 {
			continue
		}
		if n.above&(1<<markHeader) == 0 {
			return int32(i)
		}
		if found < 0 {
			found = int32(i)
		}
	}
	return found
}

// column returns a feature of all blocks, padded to a multiple of 8.
func (x *Extractor) column(f feature) []uint8 {
	return x.features[int(f)*x.stride : int(f+1)*x.stride]
}

func (x *Extractor) fill() {
	x.count()
	x.stride = (len(x.blocks) + 7) &^ 7
	size := int(secondCount) * x.stride
	if cap(x.features) < size {
		x.features = make([]uint8, size+size/4)
	}
	x.features = x.features[:size]
	clear(x.features)

	x.places = slices.Grow(x.places[:0], len(x.blocks))[:len(x.blocks)]
	main, heading, body := x.main(), x.heading(), x.group()
	x.path(main, onMain)
	x.path(heading, onH1)
	x.path(body, onBody)
	x.findAncestors()
	x.fillPage()
	x.fillSequence()
	x.fillProse()
	for i := range x.blocks {
		x.fillText(i)
		x.fillPlace(i, main, heading)
		x.fillBody(i, body)
		x.fillMarks(i)
	}
}

func (x *Extractor) set(f feature, i int, v uint8) { x.features[int(f)*x.stride+i] = v }

// setSince sets a feature of block i to how far block j is; none is -1.
func (x *Extractor) setSince(f feature, i, j int) {
	if j < 0 {
		x.set(f, i, 127)
	} else {
		x.set(f, i, lg(int32(max(i-j, j-i))))
	}
}

// fillPage sets the features that all blocks share.
func (x *Extractor) fillPage() {
	root := &x.nodes[0]
	var p, li, long, longest, repeats, prices, sentences int32
	for i := range x.blocks {
		k, m := &x.blocks[i], &x.measures[i]
		n := &x.nodes[k.node]
		if n.tag == tagP {
			p += k.mass
		}
		if n.within&(1<<tagLi|1<<tagTd) != 0 {
			li += k.mass
		}
		if k.mass > 200 && k.linked*3 < k.mass {
			long++
		}
		longest = max(longest, k.mass-k.linked)
		if m.price {
			prices++
		}
		sentences += m.sentences
	}
	for i := range x.nodes {
		if n := &x.nodes[i]; n.repeat >= 4 && n.own() > 30 {
			repeats++
		}
	}
	all := func(f feature, v uint8) {
		column := x.column(f)
		for i := range column {
			column[i] = v
		}
	}
	all(fPageMass, lg(root.mass))
	all(fPageLinked, share(root.linked, root.mass))
	all(fPageP, share(p, root.mass))
	all(fPageLi, share(li, root.mass))
	all(fPageLong, lg(long))
	all(fPageMax, lg(longest))
	all(fPageRepeat, lg(repeats))
	all(fPagePrices, lg(prices))
	all(fPageSentences, lg(sentences))
	for b := range feature(kindCount) {
		all(fKinds+b, x.kinds>>b&1)
	}
}

// headings are the elements of headings.
const headings = 1<<tagH1 | 1<<tagH2 | 1<<tagH3 | 1<<tagH4

// fillSequence sets the features of a block's neighbours and of what came before.
func (x *Extractor) fillSequence() {
	root := &x.nodes[0]
	n := len(x.blocks)
	var mass, linked, sentences, prices int32 // of the window
	add := func(i int, sign int32) {
		if i < 0 || i >= n {
			return
		}
		k, m := &x.blocks[i], &x.measures[i]
		mass += sign * k.mass
		linked += sign * k.linked
		sentences += sign * m.sentences
		if m.price {
			prices += sign
		}
	}
	for i := range windowReach {
		add(i, 1)
	}
	before := int32(0)
	h1, heading := -1, -1
	var cue, tag uint8
	for i := range x.blocks {
		k := &x.blocks[i]
		add(i+windowReach, 1)
		add(i-windowReach-1, -1)
		x.set(fWindow, i, lg(mass-linked))
		x.set(fWindowMass, i, lg(mass/(2*windowReach+1)))
		x.set(fWindowLinked, i, share(linked, mass))
		x.set(fWindowSentences, i, lg(sentences))
		x.set(fWindowPrices, i, cap7(prices))

		x.set(fBefore, i, share(before, root.own()))
		x.set(fBeforeIndex, i, share(int32(i), int32(n)))
		before += k.mass - k.linked

		at := &x.nodes[k.node]
		if at.within&(1<<tagH1) != 0 {
			h1 = i
		}
		if at.within&headings != 0 {
			heading, tag, cue = i, uint8(at.tag), x.cues(x.text[k.start:k.end])
		}
		x.setSince(fSinceH1, i, h1)
		x.setSince(fSinceHeading, i, heading)
		x.set(fHeadingCue, i, cue)
		x.set(fHeadingTag, i, tag)

		if i > 0 {
			x.neighbour(i, i-1, fPrevMass)
		}
		if i+1 < n {
			x.neighbour(i, i+1, fNextMass)
		}
	}
}

// neighbour sets what block j is to block i; the features stand in a row from
// first on.
func (x *Extractor) neighbour(i, j int, first feature) {
	k := &x.blocks[j]
	x.set(first, i, lg(k.mass))
	x.set(first+1, i, share(k.linked, k.mass))
	x.set(first+2, i, uint8(x.nodes[k.node].tag))
	x.set(first+3, i, cap7(x.measures[j].punct*1000/max(k.mass, 1)))
}

// fillText sets the features of a block's own text.
func (x *Extractor) fillText(i int) {
	k, m := &x.blocks[i], &x.measures[i]
	n := &x.nodes[k.node]
	x.set(fMass, i, lg(k.mass))
	x.set(fWords, i, lg(m.words))
	x.set(fLinked, i, share(k.linked, k.mass))
	x.set(fPunct, i, cap7(m.punct*1000/k.mass))
	x.set(fSentences, i, cap7(m.sentences))
	x.set(fWordMass, i, cap7(k.mass*4/m.words))
	x.set(fDigits, i, share(m.digits, k.mass))
	x.set(fUpper, i, share(m.upper, k.mass))
	x.set(fTag, i, uint8(n.tag))
	x.set(fEnding, i, m.ending)
	x.set(fInline, i, k.inline)
	x.set(fDepth, i, cap7(int32(n.depth)))
	x.set(fHidden, i, n.hidden)
	x.set(fRepeated, i, cap7(m.repeated))
	text := x.text[k.start:k.end]
	if len(x.title) == 0 || len(text) >= maxTitled {
		return
	}
	if len(text) >= 4 {
		switch {
		case bytes.HasPrefix(x.title, text):
			x.set(fTitle, i, 2)
		case bytes.Contains(x.title, text):
			x.set(fTitle, i, 1)
		}
	}
}

// fillPlace sets the features of where a block stands among the elements.
func (x *Extractor) fillPlace(i int, main, heading int32) {
	k := &x.blocks[i]
	root := &x.nodes[0]
	n := &x.nodes[k.node]
	parent := &x.nodes[max(n.parent, 0)]
	grand := &x.nodes[max(parent.parent, 0)]
	around := func(first feature, n *node) { // tag, mass, linked, mean
		x.set(first, i, uint8(n.tag))
		x.set(first+1, i, lg(n.mass))
		x.set(first+2, i, share(n.linked, n.mass))
		x.set(first+3, i, n.mean())
	}
	around(fParentTag, parent)
	around(fGrandTag, grand)
	x.set(fSiblings, i, lg(parent.end-parent.first))
	x.set(fIndex, i, lg(int32(i)-parent.first))

	l := &x.ancestors[k.node]
	x.places[i].chunk = l.chunk
	c := &x.nodes[l.chunk]
	around(fChunkTag, c)
	x.set(fChunkMass, i, share(c.mass, root.mass))
	x.set(fChunkDepth, i, cap7(int32(c.depth)))
	for b := range feature(markCount) {
		x.set(fChunk+b, i, uint8(c.marks>>b&1))
	}
	m := &x.nodes[main]
	switch {
	case int32(i) >= m.end:
		x.set(fChunkSide, i, 2)
	case int32(i) >= m.first:
		x.set(fChunkSide, i, 1)
	}
	x.set(fMainMass, i, share(m.own(), root.own()))
	x.set(fMainLinked, i, share(m.linked, m.mass))

	s := &x.nodes[l.section]
	x.set(fSectionMass, i, share(s.mass, root.mass))
	x.set(fSectionLinked, i, share(s.linked, s.mass))

	x.fillRepeat(i)
	if heading < 0 {
		return
	}
	shared := &x.nodes[l.h1]
	x.set(fH1Up, i, cap7(1+int32(n.depth)-int32(shared.depth)))
	x.set(fH1Mass, i, share(shared.own(), root.own()))
	x.set(fH1Depth, i, cap7(int32(x.nodes[heading].depth)-int32(shared.depth)))
	x.set(fH1Side, i, 1)
	if int32(i) >= x.nodes[heading].first {
		x.set(fH1Side, i, 2)
	}
}

// fillRepeat sets the features of the most repeated element around a block.
func (x *Extractor) fillRepeat(i int) {
	at := &x.nodes[x.blocks[i].node]
	most, found, depth := int32(1), at, uint8(0)
	for up := uint8(1); at.parent >= 0 && up <= maxRepeatedUp; up++ {
		if at.repeat >= 3 && at.repeat > most {
			most, found, depth = at.repeat, at, up
		}
		at = &x.nodes[at.parent]
	}
	p := &x.nodes[max(found.parent, 0)]
	x.set(fRepeat, i, cap7(most))
	x.set(fRepeatMass, i, lg(found.mass))
	x.set(fRepeatLinked, i, share(p.linked, p.mass))
	x.set(fRepeatDepth, i, depth)
	x.places[i].run = found.run
	r := &x.runs[found.run]
	x.set(fRunMean, i, lg(r.mass/r.count))
	x.set(fRunLinked, i, share(r.linked, r.mass))
	x.set(fRunLongest, i, lg(r.longest))
	x.set(fRunEven, i, cap7(int32(int64(r.longest)*8*int64(r.count)/int64(max(r.mass, 1)))))
	x.set(fRunBlocks, i, cap7(r.blocks*4/r.count))
	x.set(fRunDates, i, cap7(r.dates*8/r.count))
}

// side tells whether a place is before a stretch, in it or behind it.
func side(i, first, end int) uint8 {
	switch {
	case i >= end:
		return 2
	case i >= first:
		return 1
	}
	return 0
}

// fillBody sets the features of where a block stands to the body, and of what
// is like it.
func (x *Extractor) fillBody(i int, body int32) {
	n, b, root := &x.nodes[x.blocks[i].node], &x.nodes[body], &x.nodes[0]
	x.set(fBodySide, i, side(i, int(b.first), int(b.end)))
	up := int32(n.depth) - int32(x.nodes[x.ancestors[x.blocks[i].node].body].depth)
	prose := n.prose
	for at, left := n, min(up, 2); left > 0; left-- {
		at = &x.nodes[at.parent]
		prose = max(prose, at.prose)
	}
	x.set(fBodyUp, i, cap7(up))
	x.set(fBodyMass, i, share(b.own(), root.own()))
	x.set(fBodyShare, i, share(prose, b.prose))
	g := &x.groups[x.grouped[i]]
	x.set(fGroupBlocks, i, lg(g.count))
	x.set(fGroupMass, i, share(g.mass, root.mass))
	x.set(fGroupLinked, i, share(g.linked, g.mass))
	x.set(fGroupMean, i, lg(g.mass/g.count))
	x.set(fGroupProse, i, share(g.prose, g.count))
}

// fillProse sets the features of where a block stands to the core and to the
// paragraphs of prose.
func (x *Extractor) fillProse() {
	first, end := x.core()
	mass := int32(0)
	for i := first; i < end; i++ {
		mass += x.blocks[i].mass - x.blocks[i].linked
	}
	all := int32(0)
	for i := range x.blocks {
		if x.isProse(i) {
			all++
		}
	}
	coreMass := share(mass, x.nodes[0].own())
	before, last, lastCue := int32(0), -1, -1
	cues := uint8(0)
	for i := range x.blocks {
		x.set(fCoreSide, i, side(i, first, end))
		x.set(fCoreDistance, i, lg(int32(max(0, first-i, i-end+1))))
		x.set(fCoreMass, i, coreMass)
		x.set(fProseBefore, i, lg(before))
		x.setSince(fSinceProse, i, last)
		if x.isProse(i) {
			before, last = before+1, i
		}
		x.set(fProseBehind, i, lg(all-before))
		if i == first {
			cues, lastCue = 0, -1
		}
		if x.nodes[x.blocks[i].node].within&headings != 0 {
			if c := x.column(fHeadingCue)[i]; c != 0 {
				cues, lastCue = cues|c, i
			}
		}
		x.set(fCues, i, cues)
		x.setSince(fSinceCue, i, lastCue)
	}
	x.fillCues()
	x.fillLists()
	x.fillStretches()
	next := -1
	for i := len(x.blocks) - 1; i >= 0; i-- {
		x.setSince(fToProse, i, next)
		if x.isProse(i) {
			next = i
		}
	}
}

// listReach is how many blocks before and behind are looked at for lists.
const listReach = 8

// fillLists sets the features of lists of links around a block.
func (x *Extractor) fillLists() {
	n := len(x.blocks)
	link := func(i int) int32 {
		if i < 0 || i >= n {
			return 0
		}
		if k := &x.blocks[i]; k.linked*4 > k.mass*3 {
			return 1
		}
		return 0
	}
	short := func(i int) int32 {
		if i < 0 || i >= n {
			return 0
		}
		if k := &x.blocks[i]; k.mass-k.linked < 60 && k.linked*2 < k.mass {
			return 1
		}
		return 0
	}
	var before, behind, lines int32
	for i := 1; i <= listReach; i++ {
		behind += link(i)
		lines += short(i)
	}
	row, last := 0, -1
	for i := range n {
		x.set(fLinksPrev, i, uint8(before))
		x.set(fLinksNext, i, uint8(behind))
		x.set(fLinesNext, i, uint8(lines))
		x.setSince(fSinceList, i, last)
		row++
		if link(i) == 0 {
			row = 0
		}
		if row >= 3 {
			last = i
		}
		before += link(i) - link(i-listReach)
		behind += link(i+listReach+1) - link(i+1)
		lines += short(i+listReach+1) - short(i+1)
	}
	row, last = 0, -1
	for i := n - 1; i >= 0; i-- {
		x.setSince(fToList, i, last)
		row++
		if link(i) == 0 {
			row = 0
		}
		if row >= 3 {
			last = i
		}
	}
}

// stretchGap is how many blocks from one paragraph of prose to the next end a
// stretch of them.
const stretchGap = 3

// stretch is a run of paragraphs of prose.
type stretch struct {
	first, end int
	mass       int32 // outside links
	count      int32
}

// findStretches sets the page's stretches, and returns the one with most.
func (x *Extractor) findStretches() (most stretch) {
	x.stretches = x.stretches[:0]
	for i := range x.blocks {
		if !x.isProse(i) {
			continue
		}
		if last := len(x.stretches) - 1; last < 0 || i-x.stretches[last].end >= stretchGap {
			x.stretches = append(x.stretches, stretch{first: i})
		}
		at := &x.stretches[len(x.stretches)-1]
		at.end = i + 1
		at.count++
		at.mass += x.blocks[i].mass - x.blocks[i].linked
	}
	for _, s := range x.stretches {
		if s.mass > most.mass {
			most = s
		}
	}
	return most
}

// fillStretches sets the features of where a block stands to the stretches of
// paragraphs of prose, and to the one with most.
func (x *Extractor) fillStretches() {
	most := x.findStretches()
	masses := x.column(fStretchMass)
	for _, s := range x.stretches {
		v := share(s.mass, most.mass)
		for i := max(0, s.first-stretchGap+1); i < min(len(x.blocks), s.end+stretchGap-1); i++ {
			masses[i] = max(masses[i], v)
		}
	}
	notices := int32(0)
	for i := range x.blocks {
		x.set(fStretchSide, i, side(i, most.first, most.end))
		x.set(fStretchToward, i, lg(int32(max(0, most.first-i, i-most.end+1))))
		x.set(fStretchProse, i, lg(most.count))
		if i >= most.end && x.column(fNotice)[i] != 0 {
			notices++
		}
		x.set(fNoticeSeen, i, cap7(notices))
	}
}

// maxNotice is the mass up to which a block is looked at for what it says.
const maxNotice = 400

// cueReach is how many blocks before and behind are near.
const cueReach = 8

// fillCues sets the features of what short lines say.
func (x *Extractor) fillCues() {
	own, seen := x.column(fLineCue), uint8(0)
	prose, related, comment := false, -1, -1
	var comments, bylines int32
	add := func(i int, sign int32) {
		if i >= 0 && i < len(x.blocks) {
			comments += sign * int32(own[i]>>1&1)
			bylines += sign * int32(own[i]>>3&1)
		}
	}
	for i := range x.blocks {
		if mass := x.blocks[i].mass; mass <= maxNotice {
			cues := lineCues(x.blockText(i))
			x.set(fNotice, i, cues)
			if mass <= maxCueLine {
				own[i] = cues
			}
		}
		if x.measures[i].date {
			x.set(fDate, i, 1)
		}
	}
	dates := int32(0)
	dated := func(i int, sign int32) {
		if i >= 0 && i < len(x.blocks) && x.measures[i].date {
			dates += sign
		}
	}
	for i := range cueReach {
		add(i, 1)
		dated(i, 1)
	}
	for i := range x.blocks {
		add(i+cueReach, 1)
		add(i-cueReach-1, -1)
		dated(i+cueReach, 1)
		dated(i-cueReach-1, -1)
		x.set(fNearDates, i, cap7(dates))
		x.set(fNearComments, i, cap7(comments))
		x.set(fNearBylines, i, cap7(bylines))
		if !prose && x.isProse(i) {
			prose, seen, related, comment = true, 0, -1, -1
		}
		if own[i]&cueRelated != 0 {
			related = i
		}
		if own[i]&cueComment != 0 {
			comment = i
		}
		seen |= own[i]
		x.set(fLineCues, i, seen)
		x.setSince(fSinceRelated, i, related)
		x.setSince(fSinceComment, i, comment)
	}
}

// fillMarks sets the features of the elements around, a bit each.
func (x *Extractor) fillMarks(i int) {
	n := &x.nodes[x.blocks[i].node]
	near := n.marks
	if n.parent >= 0 {
		near |= x.nodes[n.parent].marks
	}
	for set, f := near, fNear; set != 0; set &= set - 1 {
		x.set(f+feature(bits.TrailingZeros32(set)), i, 1)
	}
	for set := n.above; set != 0; set &= set - 1 {
		x.set(fAbove+feature(bits.TrailingZeros32(set)), i, 1)
	}
	for set := n.within & (1<<tagHTML - 1); set != 0; set &= set - 1 {
		x.set(fWithin+feature(bits.TrailingZeros64(set)), i, 1)
	}
}

package page

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
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
	featureCount  = fWithin + feature(tagHTML)
	windowReach   = 5
	maxTitled     = 300 // bytes of a block that is looked for in the title
	maxRepeatedUp = 6
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
	price                                            bool
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

func (x *Extractor) measure(k *block) (m measures) {
	text := x.text[k.start:k.end]
	wide := int32(0)
	for rest := text; len(rest) > 0; {
		part := rest[:min(len(rest), 1<<14)] // a count has 16 bits
		rest = rest[len(part):]
		sum := uint64(0)
		for i, c := range part {
			sum += byteCounts[c]
			if c >= 0xe3 && i+2 < len(part) { // a character of three bytes
				wide++
				if c == 0xe3 && part[i+1] == 0x80 && part[i+2] == 0x82 { // the full stop of Chinese
					sum += countPunct + countStop
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
	m.price = m.digits > 0 && len(text) < maxTitled && hasPrice(text)
	return m
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

// Cues: words that tell what follows a heading.
var cueWords = [...][]string{
	{"related", "recommend", "popular", "trending", "most read", "you may", "you might", "also like", "latest", "more from", "more stor", "see also", "next", "previous", "read more", "learn more",
		"相关", "推荐", "热门", "热点", "排行", "猜你喜欢", "更多", "上一篇", "下一篇", "精彩", "相關", "推薦", "熱門", "延伸閱讀"},
	{"comment", "reply", "replies", "leave a", "评论", "回复", "留言", "評論", "网友"},
	{"share", "subscribe", "newsletter", "sign up", "log in", "sign in", "cookie", "privacy", "terms", "follow us", "contact", "分享", "订阅", "登录", "注册", "隐私", "声明"},
}

// cues returns those of a heading, as bits.
func (x *Extractor) cues(text []byte) (set uint8) {
	x.small(text[:min(len(text), 240)])
	for i, list := range cueWords {
		for _, w := range list {
			if bytes.Contains(x.lower, []byte(w)) {
				set |= 1 << i
				break
			}
		}
	}
	return set
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
type group struct{ count, mass, linked, blocks, longest, prose int32 }

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
// a paragraph of prose.
const proseMass = 80

func (x *Extractor) isProse(i int) bool {
	k := &x.blocks[i]
	return k.mass-k.linked >= proseMass && k.linked*3 < k.mass && x.measures[i].sentences > 0
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

// Paths that a node is on, as bits of node.on.
const (
	onMain = 1 << iota // from the root to the main element
	onH1               // from the root to the page's heading
	onBody             // from the root to the body
	onTold             // none: it has a paragraph that tells something
)

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
	size := int(featureCount) * x.stride
	if cap(x.features) < size {
		x.features = make([]uint8, size+size/4)
	}
	x.features = x.features[:size]
	clear(x.features)

	main, heading, body := x.main(), x.heading(), x.group()
	x.path(main, onMain)
	x.path(heading, onH1)
	x.path(body, onBody)
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
		since := func(f feature, j int) {
			if j < 0 {
				x.set(f, i, 127)
			} else {
				x.set(f, i, lg(int32(i-j)))
			}
		}
		since(fSinceH1, h1)
		since(fSinceHeading, heading)
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

	chunk := k.node
	for chunk > 0 && x.nodes[x.nodes[chunk].parent].on&onMain == 0 {
		chunk = x.nodes[chunk].parent
	}
	c := &x.nodes[chunk]
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

	s := n
	for s.parent >= 0 && x.nodes[s.parent].within == s.within {
		s = &x.nodes[s.parent]
	}
	x.set(fSectionMass, i, share(s.mass, root.mass))
	x.set(fSectionLinked, i, share(s.linked, s.mass))

	x.fillRepeat(i)
	if heading < 0 {
		return
	}
	shared, up := n, int32(1)
	for shared.on&onH1 == 0 {
		shared, up = &x.nodes[shared.parent], up+1
	}
	x.set(fH1Up, i, cap7(up))
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
	r := &x.runs[found.run]
	x.set(fRunMean, i, lg(r.mass/r.count))
	x.set(fRunLinked, i, share(r.linked, r.mass))
	x.set(fRunLongest, i, lg(r.longest))
	x.set(fRunEven, i, cap7(int32(int64(r.longest)*8*int64(r.count)/int64(max(r.mass, 1)))))
	x.set(fRunBlocks, i, cap7(r.blocks*4/r.count))
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
	at, up, prose := n, int32(0), n.prose
	for at.on&onBody == 0 {
		at, up = &x.nodes[at.parent], up+1
		if up < 3 {
			prose = max(prose, at.prose)
		}
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
	since := func(f feature, i, j int) {
		if j < 0 {
			x.set(f, i, 127)
		} else {
			x.set(f, i, lg(int32(max(i-j, j-i))))
		}
	}
	before, last, lastCue := int32(0), -1, -1
	cues := uint8(0)
	for i := range x.blocks {
		x.set(fCoreSide, i, side(i, first, end))
		x.set(fCoreDistance, i, lg(int32(max(0, first-i, i-end+1))))
		x.set(fCoreMass, i, coreMass)
		x.set(fProseBefore, i, lg(before))
		since(fSinceProse, i, last)
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
		since(fSinceCue, i, lastCue)
	}
	x.fillCues(since)
	next := -1
	for i := len(x.blocks) - 1; i >= 0; i-- {
		since(fToProse, i, next)
		if x.isProse(i) {
			next = i
		}
	}
}

// cueReach is how many blocks before and behind are near.
const cueReach = 8

// fillCues sets the features of what short lines say.
func (x *Extractor) fillCues(since func(f feature, i, j int)) {
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
		if x.blocks[i].mass <= maxCueLine {
			own[i] = lineCues(x.blockText(i))
		}
	}
	for i := range cueReach {
		add(i, 1)
	}
	for i := range x.blocks {
		add(i+cueReach, 1)
		add(i-cueReach-1, -1)
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
		since(fSinceRelated, i, related)
		since(fSinceComment, i, comment)
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

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
	x.lower = x.lower[:0]
	for _, c := range text[:min(len(text), 240)] {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		x.lower = append(x.lower, c)
	}
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

// count sets how often texts and elements are repeated.
func (x *Extractor) count() {
	x.counter.reset(len(x.nodes))
	siblings := func(n *node) int {
		var key [8]byte
		binary.LittleEndian.PutUint32(key[:], uint32(n.parent))
		binary.LittleEndian.PutUint32(key[4:], n.sign)
		return x.counter.slot(maphash.Bytes(seed, key[:]))
	}
	for i := range x.nodes {
		n := &x.nodes[i]
		s := siblings(n)
		x.counter.counts[s]++
		n.repeat = int32(s)
	}
	for i := range x.nodes {
		n := &x.nodes[i]
		n.repeat = x.counter.counts[n.repeat]
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

// Paths that a node is on, as bits of node.on.
const (
	onMain = 1 << iota // from the root to the main element
	onH1               // from the root to the page's heading
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

	main, heading := x.main(), x.heading()
	x.path(main, onMain)
	x.path(heading, onH1)
	x.fillPage()
	x.fillSequence()
	for i := range x.blocks {
		x.fillText(i)
		x.fillPlace(i, main, heading)
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

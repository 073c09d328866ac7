package page

import "bytes"

// node is an element that holds blocks: all but inline ones.
type node struct {
	parent int32
	tag    tag
	hidden uint8  // ways in which it is hidden, as bits
	on     uint8  // paths that it is on, as bits
	depth  uint16 // elements around it
	name   uint64 // nameKey
	within uint64 // tags of the elements that it is in, its own among them, as bits
	sign   uint32 // of its name and class: what siblings that repeat have in common
	marks  uint32 // of its class and id, as bits
	above  uint32 // marks of all elements around it
	first  int32  // block in it
	end    int32  // one past its last
	mass   int32  // bytes of text without white space
	linked int32  // of them in links
	nested int32  // of an inline element: those of its name within it
	repeat int32  // siblings of its sign, itself among them
	run    int32  // those siblings, in Extractor.runs
	prose  int32  // mass of the paragraphs of prose in it, and half of those one level further in
	heir   int32  // the child with most of its own text; 0 for none
}

// own is the mass outside links.
func (n *node) own() int32 { return n.mass - n.linked }

func (n *node) mean() uint8 { return lg(n.mass / max(n.end-n.first, 1)) }

// block is a stretch of text that no element breaks.
type block struct {
	start, end int32 // in the text
	node       int32
	mass       int32 // bytes without white space
	linked     int32 // of them in links
	spaces     int32
	lines      int32 // blocks that were made one with it
	inline     uint8 // inline elements in it: time, label, button
}

// Ways in which an element is hidden.
const (
	hiddenFallback = 1 << iota // it is shown where scripts, frames or plug-ins are not
	hiddenStyle                // by an attribute or its style, or a template
	hiddenAria                 // from screen readers only
)

const (
	maxDepth = 250  // elements that are nested deeper are taken for text of the one they are in; browsers end at 512
	maxMarks = 64   // words of a class or id that are looked at
	maxLine  = 4096 // bytes of a title or description that are looked at

	// Of a page with more elements or blocks, or more blocks for its size than
	// any that is meant for readers, like siblings are made one: see compact.
	// What is still too many is taken for text of what it follows. It keeps
	// memory and time within bounds.
	maxNodes   = 1 << 18
	maxBlocks  = 1 << 17
	fewBlocks  = 1 << 9
	blockBytes = 64
)

// scanner reads a page once, from front to back, into nodes and blocks. Its
// memory is used again for the next page.
type scanner struct {
	nodes    []node
	blocks   []block
	text     []byte // of all blocks, back to back
	title    []byte
	language []byte
	kinds    uint8 // what the page says that it is
	forum    bool  // a program for forums made it

	scripts, frames [][]byte // of the page: what may bring text as data
	password        bool     // it asks for one
	scripted        bool     // it has scripts

	// What the page wants shown with links to it.
	description, shownTitle []byte

	stack   []int32 // open nodes, outermost first
	tooDeep int     // elements open that are nested too deep for it
	block   int     // the open block, -1 for none
	space   bool    // white space came since the last character
	newline bool    // … or a line break that counts
	linked  bool    // in a link
	inline  uint8   // open inline elements that matter, as in block
	pre     int     // pre elements that are open
	titled  bool    // a title element came
	xml     bool    // it is a page of XHTML
	limit   int     // blocks that it may have
	dense   bool    // blocks were made one, as there were too many
	full    bool    // it has as many blocks or elements as it may
	moved   []int32 // of compact

	entities map[string]string // named character references that pages used
	scratch  []byte
}

func (s *scanner) reset(size int) {
	s.nodes = append(s.nodes[:0], node{parent: -1, tag: tagBody})
	s.blocks, s.text, s.title, s.language = s.blocks[:0], s.text[:0], s.title[:0], s.language[:0]
	s.stack = append(s.stack[:0], 0)
	s.tooDeep, s.block, s.space, s.newline, s.linked, s.inline, s.pre, s.titled = 0, -1, false, false, false, 0, 0, false
	s.dense, s.full, s.limit = false, false, min(maxBlocks, fewBlocks+size/blockBytes)
	s.scripts, s.frames, s.password, s.scripted = s.scripts[:0], s.frames[:0], false, false
	s.kinds, s.forum, s.description, s.shownTitle = 0, false, s.description[:0], s.shownTitle[:0]
}

// scan reads a page, which is UTF-8.
func (s *scanner) scan(b []byte) {
	s.reset(len(b))
	s.xml = bytes.HasPrefix(b[:min(len(b), 64)], []byte("<?xml"))
	for len(b) > 0 {
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			i = len(b)
		}
		if i > 0 {
			s.chars(b[:i])
			if b = b[i:]; len(b) == 0 {
				break
			}
		}
		if len(b) == 1 {
			s.chars(b)
			break
		}
		switch c := b[1]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			b = s.startTag(b)
		case c == '/':
			b = s.endTag(b)
		case c == '!':
			b = skipDeclaration(b)
		case c == '?':
			b = after(b, '>')
		default:
			s.chars(b[:1])
			b = b[1:]
		}
	}
	s.closeBlock()
	for len(s.stack) > 0 {
		s.pop()
	}
	if s.dense {
		s.mergeBlocks()
	}
}

// after returns what stands behind the first c; nothing when there is none.
func after(b []byte, c byte) []byte {
	i := bytes.IndexByte(b, c)
	if i < 0 {
		return nil
	}
	return b[i+1:]
}

var commentEnd = []byte("--")

// skipDeclaration passes over a comment, or another <! … >, at the start of b.
func skipDeclaration(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte("<!--")) {
		return after(b, '>')
	}
	b = b[4:]
	if bytes.HasPrefix(b, []byte(">")) {
		return b[1:]
	}
	if bytes.HasPrefix(b, []byte("->")) {
		return b[2:]
	}
	for {
		i := bytes.Index(b, commentEnd)
		if i < 0 {
			return nil
		}
		b = b[i+1:]
		switch {
		case len(b) > 1 && b[1] == '>':
			return b[2:]
		case len(b) > 2 && b[1] == '!' && b[2] == '>':
			return b[3:]
		}
	}
}

// startTag takes the start tag at the start of b.
func (s *scanner) startTag(b []byte) []byte {
	n := 2
	for n < len(b) && !nameEnd[b[n]] {
		n++
	}
	key := nameKey(b[1:n])
	t := tag(tagNames[key])
	var a attributes
	b, closed := a.parse(b[n:])
	if b == nil && !closed {
		return nil // the page ends in the tag
	}
	if t == tagHTML {
		s.xml = s.xml || a.xml
	}
	if s.xml && a.empty && holdsText&(1<<t) != 0 {
		return b
	}
	switch t {
	case tagInline, tagTime, tagLabel, tagButton:
		s.startInline(t, key, &a)
	case tagA:
		s.linked = a.href
		s.startInline(t, key, &a)
	case tagBr:
		s.newline = true
	case tagVoid, tagMeta, tagHead:
		switch {
		case t == tagMeta:
			s.meta(&a)
		case key == inputKey:
			s.password = s.password || foldEqual(a.kind, "password")
		}
	case tagHr:
		s.endBlock()
	case tagHTML:
		if len(s.language) == 0 {
			s.language = append(s.language, a.lang...)
		}
	case tagTitle:
		if s.in(tagSVG) {
			return skipRaw(b, []byte("title"))
		}
		rest := skipRaw(b, []byte("title"))
		if !s.titled {
			s.titled = true
			content := b[:len(b)-len(rest)]
			if i := bytes.LastIndex(content, []byte("</")); i >= 0 {
				content = content[:i]
			}
			s.title = s.line(s.title, content)
		}
		return rest
	case tagSelect:
		return skipSelect(b)
	case tagRaw:
		rest := skipRaw(b, rawName(key))
		switch {
		case len(a.srcdoc) > 0:
			if len(s.frames) < mostScripts {
				s.frames = append(s.frames, a.srcdoc)
			}
		case key == scriptKey:
			s.scripted = true
			s.bring(&a, b[:len(b)-len(rest)])
		}
		if len(a.kind) > 0 && bytes.Contains(a.kind, []byte("ld+json")) {
			s.kinds |= kindsOf(b[:len(b)-len(rest)])
		}
		return rest
	case tagPlaintext:
		s.endBlock()
		s.chars(b)
		return nil
	case tagBody:
		if len(s.language) == 0 {
			s.language = append(s.language, a.lang...)
		}
		if len(s.nodes) == 1 {
			s.mark(&s.nodes[0], &a)
		}
	default:
		s.startBlock(t, key, &a)
	}
	return b
}

// holdsText are the elements without markup in them. In a page of XHTML, and
// there alone, one of them may end where it begins.
const holdsText = 1<<tagRaw | 1<<tagSelect | 1<<tagTitle

// rawName is the name of an element of raw text.
func rawName(key uint64) []byte {
	for _, name := range [...]string{"script", "style", "iframe", "noembed", "textarea"} {
		if nameKey([]byte(name)) == key {
			return []byte(name)
		}
	}
	return nil
}

// skipRaw returns what stands behind the end tag of a raw text element of that
// name, b being its content and what follows; nothing when it is not closed.
func skipRaw(b, name []byte) []byte {
	for {
		i := bytes.Index(b, []byte("</"))
		if i < 0 {
			return nil
		}
		b = b[i+2:]
		if len(b) > len(name) && nameEnd[b[len(name)]] && foldEqual(b[:len(name)], string(name)) {
			return after(b, '>')
		}
	}
}

// skipSelect returns what stands behind a list of options, b being its content
// and what follows. Where its end tag is missing it ends, as in browsers, with
// the first tag that is none of an option: an element that breaks the line, or
// another form field.
func skipSelect(b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '<')
		if i < 0 || i+1 == len(b) {
			return nil
		}
		b = b[i:]
		n := 1
		if b[1] == '/' {
			n = 2
		}
		end := n
		for end < len(b) && !nameEnd[b[end]] {
			end++
		}
		key := nameKey(b[n:end])
		switch t := tag(tagNames[key]); {
		case b[1] == '!':
			b = skipDeclaration(b)
		case n == end || b[n]|0x20 < 'a' || b[n]|0x20 > 'z' || t <= lastInline && t != tagOther || t == tagOption || t == tagBr || t == tagHr || t == tagVoid && key != inputKey:
			b = b[n:] // of an option, or no tag
		case t == tagRaw && n == 1:
			b = skipRaw(b[end:], rawName(key))
		case t == tagSelect && n == 2:
			return after(b, '>')
		default:
			return b
		}
	}
}

var inputKey, scriptKey = nameKey([]byte("input")), nameKey([]byte("script"))

// in reports whether an element of that tag is open.
func (s *scanner) in(t tag) bool {
	return s.nodes[s.stack[len(s.stack)-1]].within&(1<<t) != 0
}

// startInline takes an inline element: it matters when it hides its content.
func (s *scanner) startInline(t tag, key uint64, a *attributes) {
	top := &s.nodes[s.stack[len(s.stack)-1]]
	if top.tag <= lastInline && top.name == key {
		top.nested++
	}
	if a.hidden || len(a.style) > 0 && hides(a.style) {
		s.push(t, key, a)
	}
	s.inline |= inlineBits[t]
}

// inlineBits are the inline elements that matter, as in block.
var inlineBits = [tagCount]uint8{tagTime: 1, tagLabel: 2, tagButton: 4}

// endsParagraph closes what the start of a block closes.
func (s *scanner) endsParagraph(t tag) {
	switch t {
	case tagLi:
		s.closeTo(t, 1<<tagUl|1<<tagTable)
	case tagDt, tagDd:
		s.closeTo(tagDt, 1<<tagDl|1<<tagTable)
		s.closeTo(tagDd, 1<<tagDl|1<<tagTable)
	case tagTr:
		s.closeTo(t, 1<<tagTable)
	case tagTd:
		s.closeTo(t, 1<<tagTable|1<<tagTr)
	case tagOption:
		s.closeTo(t, 0)
	case tagOther, tagFallback, tagTemplate, tagSVG:
		return
	}
	if s.in(tagP) {
		s.closeTo(tagP, barriers|1<<tagDiv|1<<tagLi|1<<tagSection)
	}
}

// barriers are the elements that an end tag within them does not reach beyond.
const barriers = 1<<tagTd | 1<<tagTable | 1<<tagFallback | 1<<tagTemplate | 1<<tagFigcaption

// closeTo closes the innermost open element of that tag and all within it, if
// there is none of the barrier's between.
func (s *scanner) closeTo(t tag, barrier uint64) bool {
	if !s.in(t) {
		return false
	}
	for i := len(s.stack) - 1; i > 0; i-- {
		n := &s.nodes[s.stack[i]]
		if n.tag == t {
			s.endBlock()
			for len(s.stack) > i {
				s.pop()
			}
			return true
		}
		if barrier&(1<<n.tag) != 0 {
			return false
		}
	}
	return false
}

// breaksOut are the elements that end an SVG image that was not closed.
const breaksOut = 1<<tagDiv | 1<<tagP | 1<<tagH1 | 1<<tagH2 | 1<<tagH3 | 1<<tagH4 | 1<<tagUl | 1<<tagLi | 1<<tagDl | 1<<tagDt | 1<<tagDd |
	1<<tagTable | 1<<tagPre | 1<<tagBlockquote | 1<<tagBody

// startBlock takes an element that breaks the line.
func (s *scanner) startBlock(t tag, key uint64, a *attributes) {
	if breaksOut&(1<<t) != 0 && s.in(tagSVG) {
		s.closeTo(tagSVG, 0)
	}
	s.endBlock()
	s.endsParagraph(t)
	if s.push(t, key, a) && t == tagPre {
		s.pre++
	}
}

// push opens an element, unless it is nested too deep.
func (s *scanner) push(t tag, key uint64, a *attributes) bool {
	if len(s.nodes) >= maxNodes && s.block < 0 && !s.full {
		s.compact()
	}
	if len(s.stack) >= maxDepth || len(s.nodes) >= maxNodes {
		s.tooDeep++
		return false
	}
	up := s.stack[len(s.stack)-1]
	p := &s.nodes[up]
	n := node{
		parent: up, tag: t, name: key, hidden: p.hidden &^ hiddenAria, above: p.above | p.marks, within: p.within | 1<<t,
		depth: p.depth + 1, first: int32(len(s.blocks)),
	}
	s.mark(&n, a)
	switch {
	case t == tagFallback:
		n.hidden |= hiddenFallback
	case t == tagTemplate && !a.shadowRoot:
		n.hidden |= hiddenStyle
	}
	s.stack = append(s.stack, int32(len(s.nodes)))
	s.nodes = append(s.nodes, n)
	return true
}

// mark sets what the attributes say of an element.
func (s *scanner) mark(n *node, a *attributes) {
	n.sign = uint32(n.name*0x9e3779b97f4a7c15>>40) ^ 1
	if len(a.class) > 0 {
		n.marks |= words(a.class)
		h := n.sign
		for _, c := range a.class[:min(len(a.class), 24)] {
			h = (h ^ uint32(c)) * 16777619
		}
		n.sign = h
	}
	if len(a.id) > 0 {
		n.marks |= words(a.id)
	}
	if len(a.role) > 0 {
		n.marks |= words(a.role)
	}
	if len(a.item) > 0 {
		n.marks |= words(a.item)
	}
	if a.hidden || len(a.style) > 0 && hides(a.style) {
		n.hidden |= hiddenStyle
	}
	if a.ariaHidden {
		n.hidden |= hiddenAria
	}
}

// endTag takes the end tag at the start of b.
func (s *scanner) endTag(b []byte) []byte {
	n := 2
	for n < len(b) && !nameEnd[b[n]] {
		n++
	}
	if n == 2 {
		return after(b, '>')
	}
	key := nameKey(b[2:n])
	t := tag(tagNames[key])
	b = after(b[n:], '>')
	switch t {
	case tagInline, tagTime, tagLabel, tagButton, tagA:
		if t == tagA {
			s.linked = false
		}
		if top := &s.nodes[s.stack[len(s.stack)-1]]; top.tag <= lastInline && top.tag != tagOther && top.name == key {
			if top.nested--; top.nested < 0 {
				s.pop()
			}
		}
		s.inline &^= inlineBits[t]
	case tagBr:
		s.newline = true
	case tagVoid, tagMeta, tagHead, tagHTML, tagBody, tagRaw, tagSelect, tagTitle, tagHr:
	case tagP:
		if !s.closeTo(t, barriers) {
			s.endBlock()
		}
	default:
		s.endBlock()
		s.closeElement(t, key)
	}
	return b
}

// closeElement closes the innermost element of that name, if one is open that
// the end tag reaches.
func (s *scanner) closeElement(t tag, key uint64) {
	if s.tooDeep > 0 {
		s.tooDeep--
		return
	}
	if !s.in(t) {
		return
	}
	barrier := uint64(barriers)
	switch t {
	case tagTd, tagTr:
		barrier = 1 << tagTable
	case tagTable, tagTemplate, tagFallback:
		barrier = 1 << tagTemplate
	case tagLi:
		barrier |= 1 << tagUl
	case tagSVG:
		barrier = 0
	}
	barrier &^= 1 << t
	for i := len(s.stack) - 1; i > 0; i-- {
		n := &s.nodes[s.stack[i]]
		if n.tag == t && (t != tagOther || n.name == key) {
			for len(s.stack) > i {
				s.pop()
			}
			return
		}
		if barrier&(1<<n.tag) != 0 {
			return
		}
	}
}

func (s *scanner) pop() {
	last := len(s.stack) - 1
	if t := s.nodes[s.stack[last]].tag; t <= lastInline && t != tagOther { // it may end within a block
		s.breakText()
	}
	n := &s.nodes[s.stack[last]]
	s.stack = s.stack[:last]
	n.end = int32(len(s.blocks))
	if n.tag == tagPre {
		s.pre--
	}
	if n.parent >= 0 {
		p := &s.nodes[n.parent]
		p.mass += n.mass
		p.linked += n.linked
	}
}

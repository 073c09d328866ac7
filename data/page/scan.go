package page

import (
	"bytes"
	"html"
	"unicode/utf8"
)

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
	heir   int32  // the child with most of its own text; 0 for none
}

// own is the mass outside links.
func (n *node) own() int32 { return n.mass - n.linked }

// mean is the mass of a block.
func (n *node) mean() uint8 { return lg(n.mass / max(n.end-n.first, 1)) }

// block is a stretch of text that no element breaks.
type block struct {
	start, end int32 // in the text
	node       int32
	mass       int32 // bytes without white space
	linked     int32 // of them in links
	spaces     int32
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

	// Of a page with more elements or blocks the further ones are taken for
	// text of those they follow: it keeps memory within bounds.
	maxNodes  = 1 << 18
	maxBlocks = 1 << 17
)

// Classes of bytes in text.
const (
	charText = iota
	charSpace
	charAmp
	charWide // may start a space of more than one byte
)

var chars = func() (t [256]uint8) {
	for _, c := range " \t\n\v\f\r\x00\x1c\x1d\x1e\x1f" {
		t[c] = charSpace
	}
	t['&'] = charAmp
	t[0xc2], t[0xe1], t[0xe2], t[0xe3], t[0xef] = charWide, charWide, charWide, charWide, charWide
	return t
}()

// scanner reads a page once, from front to back, into nodes and blocks. Its
// memory is used again for the next page.
type scanner struct {
	nodes    []node
	blocks   []block
	text     []byte // of all blocks, back to back
	title    []byte
	language []byte
	kinds    uint8 // what the page says that it is

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

	entities map[string]string // named character references that pages used
	scratch  []byte
}

func (s *scanner) reset() {
	s.nodes = append(s.nodes[:0], node{parent: -1, tag: tagBody})
	s.blocks, s.text, s.title, s.language = s.blocks[:0], s.text[:0], s.title[:0], s.language[:0]
	s.stack = append(s.stack[:0], 0)
	s.tooDeep, s.block, s.space, s.newline, s.linked, s.inline, s.pre, s.titled = 0, -1, false, false, false, 0, 0, false
	s.kinds, s.description, s.shownTitle = 0, s.description[:0], s.shownTitle[:0]
}

// scan reads a page, which is UTF-8.
func (s *scanner) scan(b []byte) {
	s.reset()
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

// Bytes that end a name in a tag: of the tag, or of an attribute.
var nameEnd = func() (t [256]bool) {
	for _, c := range " \t\n\f\r/>=" {
		t[c] = true
	}
	return t
}()

// attributes are those of a start tag that matter.
type attributes struct {
	class, id, lang, style, role, item, content, name, kind []byte

	href, hidden, ariaHidden, shadowRoot bool
}

// startTag takes the start tag at the start of b.
func (s *scanner) startTag(b []byte) []byte {
	n := 2
	for n < len(b) && !nameEnd[b[n]] {
		n++
	}
	key := nameKey(b[1:n])
	t := tag(tagNames.find(key))
	var a attributes
	b, closed := a.parse(b[n:])
	if b == nil && !closed {
		return nil // the page ends in the tag
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
		if t == tagMeta {
			s.meta(&a)
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
	case tagRaw:
		rest := skipRaw(b, rawName(key))
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

// meta takes a meta element.
func (s *scanner) meta(a *attributes) {
	switch string(a.name) {
	case "og:type":
		s.kinds |= kindOf(a.content)
	case "og:title":
		s.shownTitle = s.line(s.shownTitle[:0], a.content)
	case "description", "og:description":
		if len(a.content) > len(s.description) && len(s.description) < maxLine/2 {
			s.description = s.line(s.description[:0], a.content)
		}
	default:
		if len(s.language) == 0 && bytes.EqualFold(a.name, []byte("content-language")) {
			s.language = append(s.language, a.content...)
		}
	}
}

// What a page says that it is, to search engines.
const (
	kindArticle = 1 << iota
	kindProduct
	kindForum
	kindList
	kindSite
	kindCount = iota
)

// kindOf is the kind of a type of schema.org or Open Graph.
func kindOf(name []byte) uint8 {
	switch {
	case bytes.Contains(name, []byte("rticle")) || bytes.Contains(name, []byte("Posting")) && !bytes.Contains(name, []byte("Forum")) || bytes.Contains(name, []byte("Recipe")):
		return kindArticle
	case bytes.Contains(name, []byte("roduct")) || bytes.Contains(name, []byte("Offer")):
		return kindProduct
	case bytes.Contains(name, []byte("Forum")) || bytes.Contains(name, []byte("QAPage")) || bytes.Contains(name, []byte("Answer")):
		return kindForum
	case bytes.Contains(name, []byte("ItemList")) || bytes.Contains(name, []byte("Collection")):
		return kindList
	case bytes.Contains(name, []byte("website")):
		return kindSite
	}
	return 0
}

// kindsOf are those of JSON-LD.
func kindsOf(b []byte) (kinds uint8) {
	for {
		i := bytes.Index(b, []byte(`"@type"`))
		if i < 0 {
			return kinds
		}
		b = b[i+7:]
		kinds |= kindOf(b[:min(len(b), 40)])
	}
}

// parse reads the attributes of a tag, whose name ends where b starts, and
// returns what stands behind the tag; closed is false where the page ends first.
func (a *attributes) parse(b []byte) (rest []byte, closed bool) {
	i := 0
	for {
		for i < len(b) && (b[i] <= ' ' || b[i] == '/') {
			i++
		}
		if i >= len(b) {
			return nil, false
		}
		if b[i] == '>' {
			return b[i+1:], true
		}
		from := i
		i++ // an attribute's name may start with =
		for i < len(b) && !nameEnd[b[i]] {
			i++
		}
		name := b[from:i]
		for i < len(b) && b[i] <= ' ' {
			i++
		}
		var value []byte
		if i < len(b) && b[i] == '=' {
			i++
			for i < len(b) && b[i] <= ' ' {
				i++
			}
			switch {
			case i >= len(b):
				return nil, false
			case b[i] == '"' || b[i] == '\'':
				end := bytes.IndexByte(b[i+1:], b[i])
				if end < 0 {
					return nil, false
				}
				value = b[i+1 : i+1+end]
				i += end + 2
			default:
				from := i
				for i < len(b) && b[i] > ' ' && b[i] != '>' {
					i++
				}
				value = b[from:i]
			}
		}
		a.set(name, value)
	}
}

// set keeps an attribute if it matters.
func (a *attributes) set(name, value []byte) {
	switch len(name) {
	case 2:
		if foldEqual(name, "id") {
			a.id = value
		}
	case 4:
		switch {
		case foldEqual(name, "href"):
			a.href = true
		case foldEqual(name, "lang"):
			a.lang = value
		case foldEqual(name, "role"):
			a.role = value
		case foldEqual(name, "name"):
			a.name = value
		case foldEqual(name, "type"):
			a.kind = value
		}
	case 5:
		switch {
		case foldEqual(name, "class"):
			a.class = value
		case foldEqual(name, "style"):
			a.style = value
		}
	case 6:
		a.hidden = a.hidden || foldEqual(name, "hidden")
	case 7:
		if foldEqual(name, "content") {
			a.content = value
		}
	case 8:
		switch {
		case foldEqual(name, "property"):
			a.name = value
		case foldEqual(name, "itemprop"):
			a.item = value
		case foldEqual(name, "itemtype"):
			a.kind = value
		case a.lang == nil && foldEqual(name, "xml:lang"):
			a.lang = value
		}
	case 10:
		if foldEqual(name, "http-equiv") {
			a.name = value
		}
	case 11:
		a.ariaHidden = a.ariaHidden || foldEqual(name, "aria-hidden") && foldEqual(value, "true")
	case 14:
		a.shadowRoot = a.shadowRoot || foldEqual(name, "shadowrootmode")
	}
}

// foldEqual compares with a name in lower case.
func foldEqual(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != name[i] && b[i] != name[i] {
			return false
		}
	}
	return true
}

// hides reports whether a style hides what has it.
func hides(style []byte) bool {
	for _, p := range [...]struct{ property, value string }{{"display", "none"}, {"visibility", "hidden"}} {
		rest := style
		for {
			i := bytes.Index(rest, []byte(p.property))
			if i < 0 {
				break
			}
			rest = bytes.TrimLeft(rest[i+len(p.property):], " ")
			if len(rest) > 0 && rest[0] == ':' && bytes.HasPrefix(bytes.TrimLeft(rest[1:], " "), []byte(p.value)) {
				return true
			}
		}
	}
	return false
}

// rawName is the name of an element of raw text.
func rawName(key uint64) []byte {
	for _, name := range [...]string{"script", "style", "iframe", "noembed", "textarea", "select", "datalist"} {
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
	switch t {
	case tagTime:
		s.inline |= 1
	case tagLabel:
		s.inline |= 2
	case tagButton:
		s.inline |= 4
	}
}

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

// words returns the marks of the words of a class or an id: runs of letters,
// which a change from lower to upper case ends too.
func words(b []byte) (marks uint32) {
	for i, n := 0, 0; i < len(b) && n < maxMarks; n++ {
		for i < len(b) && (b[i]|0x20 < 'a' || b[i]|0x20 > 'z') {
			i++
		}
		var k uint64
		length := 0
		for i < len(b) && b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z' {
			if length < 8 {
				k |= uint64(b[i]|0x20) << (8 * length)
			}
			length++
			if i+1 < len(b) && b[i] >= 'a' && b[i+1]&0x20 == 0 {
				i++
				break
			}
			i++
		}
		if length > 1 {
			if m := markWords.find(k + uint64(length)<<56); m != 0 {
				marks |= 1 << m
			}
		}
	}
	return marks
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
	t := tag(tagNames.find(key))
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
		switch t {
		case tagTime:
			s.inline &^= 1
		case tagLabel:
			s.inline &^= 2
		case tagButton:
			s.inline &^= 4
		}
	case tagBr:
		s.newline = true
	case tagVoid, tagMeta, tagHead, tagHTML, tagBody, tagRaw, tagTitle, tagHr:
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

// pop closes the innermost element.
func (s *scanner) pop() {
	last := len(s.stack) - 1
	n := &s.nodes[s.stack[last]]
	s.stack = s.stack[:last]
	n.end = int32(len(s.blocks))
	if n.tag == tagPre {
		s.pre--
	}
	if n.tag <= lastInline && n.tag != tagOther { // it may end within a block
		s.breakText()
	}
	if n.parent >= 0 {
		p := &s.nodes[n.parent]
		p.mass += n.mass
		p.linked += n.linked
	}
}

// chars takes text.
func (s *scanner) chars(b []byte) {
	for i := 0; i < len(b); {
		switch chars[b[i]] {
		case charSpace:
			if s.pre > 0 && b[i] == '\n' {
				s.newline = true
			}
			s.space = true
			i++
		case charAmp:
			decoded, n := s.reference(b[i:])
			s.decoded(decoded)
			i += n
		case charWide:
			if n := wideSpace(b[i:]); n > 0 {
				s.space = s.space || n < 1<<8 // not for those without width
				i += n & 0xff
				continue
			}
			fallthrough
		default:
			from := i
			i++
			for i < len(b) && chars[b[i]] == charText {
				i++
			}
			s.emit(b[from:i])
		}
	}
}

// decoded takes the text of a character reference, which may be a space.
func (s *scanner) decoded(b []byte) {
	if len(b) == 0 {
		return
	}
	if chars[b[0]] == charSpace {
		s.space = true
		return
	}
	if n := wideSpace(b); n > 0 {
		s.space = s.space || n < 1<<8
		return
	}
	s.emit(b)
}

// wideSpace returns the length of the space of several bytes that b starts
// with, 0 when it starts with none, and 256 more when it has no width.
func wideSpace(b []byte) int {
	switch {
	case len(b) >= 2 && b[0] == 0xc2:
		switch b[1] {
		case 0xa0, 0x85:
			return 2
		case 0xad: // soft hyphen
			return 2 | 1<<8
		}
	case len(b) >= 3:
		switch r, _ := utf8.DecodeRune(b[:3]); {
		case r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000, r == 0x1680:
			return 3
		case r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff:
			return 3 | 1<<8
		}
	}
	return 0
}

// emit appends characters that are no white space to the open block.
func (s *scanner) emit(b []byte) {
	if s.block < 0 {
		up := s.stack[len(s.stack)-1]
		s.block = len(s.blocks)
		s.blocks = append(s.blocks, block{start: int32(len(s.text)), node: up})
		s.space, s.newline = false, false
	} else if s.space || s.newline {
		if s.newline {
			s.text = append(s.text, '\n')
		} else {
			s.text = append(s.text, ' ')
		}
		s.blocks[s.block].spaces++
		s.space, s.newline = false, false
	}
	s.text = append(s.text, b...)
	k := &s.blocks[s.block]
	k.mass += int32(len(b))
	if s.linked {
		k.linked += int32(len(b))
	}
	k.inline |= s.inline
}

// breakText ends the open block, but not the line: what follows is of another
// node.
func (s *scanner) breakText() {
	space := s.space
	s.endBlock()
	s.space = space
}

// endBlock ends the open block, unless there are too many.
func (s *scanner) endBlock() {
	if len(s.blocks) >= maxBlocks {
		s.newline = true
		return
	}
	s.closeBlock()
}

// closeBlock ends the open block.
func (s *scanner) closeBlock() {
	if s.block >= 0 {
		k := &s.blocks[s.block]
		k.end = int32(len(s.text))
		n := &s.nodes[k.node]
		n.mass += k.mass
		n.linked += k.linked
		s.block = -1
	}
	s.space, s.newline = false, false
}

// reference decodes the character reference at the start of b, and returns how
// long it is there.
func (s *scanner) reference(b []byte) ([]byte, int) {
	if len(b) > 2 && b[1] == '#' {
		return s.numeric(b)
	}
	n := 1
	for n < len(b) && n < 33 && (b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z' || b[n] >= '0' && b[n] <= '9') {
		n++
	}
	if n == 1 {
		return b[:1], 1
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	name := b[:n]
	text, ok := s.entities[string(name)]
	if !ok {
		text = html.UnescapeString(string(name))
		if text == string(name) {
			return b[:1], 1 // no reference: the rest is text
		}
		if s.entities == nil {
			s.entities = make(map[string]string)
		}
		if len(s.entities) < 4096 {
			s.entities[string(name)] = text
		}
	}
	s.scratch = append(s.scratch[:0], text...)
	return s.scratch, n
}

// numeric decodes &#65; and &#x41;.
func (s *scanner) numeric(b []byte) ([]byte, int) {
	n, base := 2, rune(10)
	if b[2]|0x20 == 'x' {
		n, base = 3, 16
	}
	var r rune
	from := n
	for ; n < len(b); n++ {
		d := rune(b[n])
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case base == 16 && d|0x20 >= 'a' && d|0x20 <= 'f':
			d = d | 0x20 - 'a' + 10
		default:
			d = -1
		}
		if d < 0 {
			break
		}
		if r = r*base + d; r > utf8.MaxRune {
			r = utf8.MaxRune + 1
		}
	}
	if n == from {
		return b[:1], 1
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	switch {
	case r >= 0x80 && r <= 0x9f:
		r = windows1252[r-0x80]
	case r == 0, !utf8.ValidRune(r):
		r = utf8.RuneError
	}
	s.scratch = utf8.AppendRune(s.scratch[:0], r)
	return s.scratch, n
}

// windows1252 are the characters that references to 0x80 to 0x9f mean.
var windows1252 = [32]rune{
	0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d, 0x8f,
	0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
}

// line appends text with its references decoded and its white space folded.
func (s *scanner) line(dst, b []byte) []byte {
	if len(b) > maxLine {
		for b = b[:maxLine+1]; !utf8.RuneStart(b[len(b)-1]); {
			b = b[:len(b)-1]
		}
		b = b[:len(b)-1]
	}
	// It is made where a block's text is, and taken away again.
	s.closeBlock()
	from, blocks := len(s.text), len(s.blocks)
	s.chars(b)
	dst = append(dst, s.text[from:]...)
	s.text, s.blocks, s.block, s.space, s.newline = s.text[:from], s.blocks[:blocks], -1, false, false
	return dst
}

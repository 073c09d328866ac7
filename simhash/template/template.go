package template

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// ownLeast is the fewest letters that must be left of a page without its template. With
// fewer the page counts as nothing but template.
const ownLeast = 5

// Model holds the templates of many sites. Any number of goroutines may read it at the
// same time. A nil Model knows no site.
type Model struct {
	sites map[uint64]*site // by the hash of its name
}

// site is the template of a site.
type site struct {
	pages  uint32   // how many it was learned from
	blocks []uint64 // the upper 48 bits of the blocks' hashes, with and without digits, ascending
	heads  []uint64 // a bitmap of the blocks' heads, by the lower bits of a head
}

func newSite(pages uint32, blocks []uint64) *site {
	words := 8 // few other blocks pass for one of a few
	for words < len(blocks)/8 && words < 1<<headBits/64 {
		words *= 2
	}
	s := &site{pages, blocks, make([]uint64, words)}
	for _, h := range blocks {
		head := h >> (64 - letterBits - headBits)
		s.heads[head/64%uint64(words)] |= 1 << (head % 64)
	}
	return s
}

// next moves to the next block of text and reports whether it belongs to the template.
// If its head rules that out and letters is false, next does not hash the block but
// only looks for its end.
func (s *site) next(b *block, text []byte, letters bool) (more, shared bool) {
	if !b.begin(text) {
		return false, false
	}
	head := b.head()
	if may := s.heads[head/64%uint64(len(s.heads))]&(1<<(head%64)) != 0; !may && !letters {
		b.skip(text)
		return true, false
	}
	b.finish(text)
	if b.letters == 0 {
		return true, false
	}
	if _, shared = slices.BinarySearch(s.blocks, b.hash>>letterBits); !shared {
		_, shared = slices.BinarySearch(s.blocks, b.exact>>letterBits)
	}
	return true, shared
}

// Sites returns how many sites have a template.
func (m *Model) Sites() int {
	if m == nil {
		return 0
	}
	return len(m.sites)
}

// site returns the template of a site, or nil if it has none.
func (m *Model) site(name []byte) *site {
	if m == nil || len(m.sites) == 0 {
		return nil
	}
	return m.sites[siteHash(name)]
}

// Site returns how many blocks a site's template has and from how many pages it was
// learned. Both are 0 for a site without a template.
func (m *Model) Site(name []byte) (blocks, pages int) {
	if s := m.site(name); s != nil {
		return len(s.blocks), int(s.pages)
	}
	return 0, 0
}

// Left says what Suppress removed from a text.
type Left struct {
	Characters int  // how many it removed
	All        bool // fewer than five letters remain: the page is nothing but template
}

// Suppress appends text to dst, without the blocks of the template of the site called
// name. The rest keeps its order; a line break stands where blocks were.
func (m *Model) Suppress(dst, name, text []byte) (own []byte, left Left) {
	from := len(dst)
	letters := m.each(name, text, func(piece []byte, shared bool) {
		if !shared {
			dst = append(dst, piece...)
			return
		}
		left.Characters += utf8.RuneCount(piece)
		if n := len(dst); n > from && dst[n-1] != '\n' {
			dst = append(dst, '\n')
		}
	})
	left.All = left.Characters > 0 && letters < ownLeast
	return dst, left
}

// Each divides a text into pieces and calls yield with each, in order. Shared says
// whether the piece consists of blocks of the site's template.
func (m *Model) Each(name, text []byte, yield func(piece []byte, shared bool)) {
	m.each(name, text, yield)
}

// each is Each. It returns the number of letters in the pieces that are not shared;
// it may stop counting once that is ownLeast or more.
func (m *Model) each(name, text []byte, yield func(piece []byte, shared bool)) (letters int) {
	s := m.site(name)
	if s == nil {
		yield(text, false)
		return ownLeast
	}
	start, was := 0, false // of the piece
	for b := (block{}); ; {
		more, shared := s.next(&b, text, letters < ownLeast)
		if !more {
			break
		}
		if !shared {
			letters += b.letters
		}
		if was && b.letters == 0 && len(bytes.TrimSpace(text[b.start:b.end])) == 0 {
			shared = true // the white space that follows
		}
		if shared != was && b.start > start {
			yield(text[start:b.start], was)
			start = b.start
		}
		was = shared
	}
	if start < len(text) {
		yield(text[start:], was)
	}
	return letters
}

// Merge adds the templates of other to m, so that templates of earlier nights serve
// sites of which this night saw too few pages. A site that both know gets the blocks
// of both.
func (m *Model) Merge(other *Model) {
	if other == nil {
		return
	}
	if m.sites == nil {
		m.sites = make(map[uint64]*site, len(other.sites))
	}
	for name, s := range other.sites {
		own, known := m.sites[name]
		if known {
			blocks := slices.Concat(s.blocks, own.blocks)
			slices.Sort(blocks)
			s = newSite(max(s.pages, own.pages), slices.Compact(blocks))
		}
		m.sites[name] = s
	}
}

// Site returns the site of a document: the host of its id, without user and port, if
// the id is a URL. All other documents belong to one site with an empty name.
func Site(id []byte) []byte {
	i := bytes.Index(id, []byte("://"))
	if i <= 0 {
		return nil
	}
	host := id[i+3:]
	if end := bytes.IndexAny(host, "/?#"); end >= 0 {
		host = host[:end]
	}
	if at := bytes.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if bytes.HasPrefix(host, []byte{'['}) { // IPv6
		if end := bytes.IndexByte(host, ']'); end >= 0 {
			return host[:end+1]
		}
		return host
	}
	if colon := bytes.IndexByte(host, ':'); colon >= 0 {
		host = host[:colon]
	}
	return host
}

// siteHash is that of a host in lower case.
func siteHash(site []byte) uint64 {
	h := uint64(hashSeed)
	for _, c := range site {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint64(c)) * hashPrime
	}
	return mix(h)
}

// FNV-1a's constants.
const (
	hashSeed  = 0xcbf29ce484222325
	hashPrime = 0x100000001b3
)

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// block is a stretch of a text, including the mark that ends it. The upper bits of its
// hashes are the hash of its head, which is its first letters. So a block whose head no
// block of a template has need not be hashed to its end.
type block struct {
	start, end int
	letters    int    // characters that count: ASCII letters, and all beyond ASCII
	hash       uint64 // of these, ASCII letters in lower case
	exact      uint64 // of these and the digits

	state, first uint64 // of the letters' hash: so far, and behind the head
	digits       uint64 // their hash
	ended        bool
}

const (
	headBits  = 12
	headBytes = 6 // of letters
)

// Kinds of byte.
const (
	skipped  = iota // no part of a hash: spaces, most punctuation
	digit           // part of the exact one
	letter          // ASCII
	lead            // the first byte of a character beyond ASCII
	wide            // the same, of one that may end a block
	follow          // a further one
	boundary        // ends a block
)

var kinds, ends = func() (kinds [256]byte, ends [256]bool) {
	for c := range kinds {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			kinds[c] = letter
		case c >= '0' && c <= '9':
			kinds[c] = digit
		case c == 0xc2, c == 0xe3, c == 0xef:
			kinds[c] = wide
		case c >= 0xc0:
			kinds[c] = lead
		case c >= 0x80:
			kinds[c] = follow
		}
	}
	for _, c := range "\n\r\t|.!?;>" {
		kinds[c] = boundary
	}
	for c, kind := range kinds {
		ends[c] = kind == boundary || kind == wide
	}
	return kinds, ends
}()

// wideBoundaries end a block too: 。！？；｜»·
func wideBoundary(text []byte) int {
	switch text[0] {
	case 0xc2: // » ·
		if len(text) > 1 && (text[1] == 0xbb || text[1] == 0xb7) {
			return 2
		}
	case 0xe3: // 。
		if len(text) > 2 && text[1] == 0x80 && text[2] == 0x82 {
			return 3
		}
	case 0xef: // ！？；｜
		if len(text) > 2 {
			switch {
			case text[1] == 0xbc && (text[2] == 0x81 || text[2] == 0x9f || text[2] == 0x9b),
				text[1] == 0xbd && text[2] == 0x9c:
				return 3
			}
		}
	}
	return 0
}

// next moves to the next block of text; b starts as the zero block.
func (b *block) next(text []byte) bool {
	if !b.begin(text) {
		return false
	}
	b.finish(text)
	return true
}

// begin moves to the next block and reads its head.
func (b *block) begin(text []byte) bool {
	if b.end >= len(text) {
		return false
	}
	*b = block{start: b.end, end: b.end, state: hashSeed}
	b.read(text, headBytes)
	b.first = mix(b.state)
	return true
}

// head is that of the block, headBits of hash.
func (b *block) head() uint64 { return b.first >> (64 - headBits) }

func (b *block) finish(text []byte) {
	b.read(text, len(text))
	const low = 1<<(64-headBits) - 1
	b.hash = b.first&^low | mix(b.state)&low
	b.exact = b.first&^low | mix(mix(b.state)+b.digits)&low
}

// skip looks for the end of the block.
func (b *block) skip(text []byte) {
	for !b.ended {
		i := b.end
		for i < len(text) && !ends[text[i]] {
			i++
		}
		switch {
		case i == len(text):
			b.end, b.ended = i, true
		case kinds[text[i]] == boundary:
			b.end, b.ended = i+1, true
		default:
			n := wideBoundary(text[i:])
			b.end, b.ended = i+max(n, 1), n > 0
		}
	}
}

// read reads on, up to so many bytes of letters.
func (b *block) read(text []byte, n int) {
	h, i := b.state, b.end
	for ; i < len(text) && n > 0 && !b.ended; i++ {
		c := text[i]
		switch kinds[c] {
		case letter:
			b.letters++
			h = (h ^ uint64(c|0x20)) * hashPrime
			n--
		case wide:
			if w := wideBoundary(text[i:]); w > 0 {
				i += w - 1
				b.ended = true
				break
			}
			fallthrough
		case lead:
			b.letters++
			fallthrough
		case follow:
			h = (h ^ uint64(c)) * hashPrime
			n--
		case digit:
			b.digits = (b.digits ^ uint64(c)) * hashPrime
		case boundary:
			b.ended = true
		}
	}
	b.state, b.end = h, i
	b.ended = b.ended || i == len(text)
}

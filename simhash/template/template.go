package template

import (
	"bytes"
	"slices"
)

// ownLeast is the fewest letters of its own that a page has: a text with
// fewer, once its template is left out, stays whole.
const ownLeast = 5

// Model is the templates of many sites. It may be read concurrently. A nil
// Model knows no site.
type Model struct {
	sites map[uint64][]uint64 // by the site's hash: of its template's blocks, the upper 48 bits, ascending
}

// Sites returns how many sites have a template.
func (m *Model) Sites() int {
	if m == nil {
		return 0
	}
	return len(m.sites)
}

// Blocks returns how many blocks the template of a site has; 0 without one.
func (m *Model) Blocks(site []byte) int {
	if m == nil {
		return 0
	}
	return len(m.sites[siteHash(site)])
}

// Suppress appends text without the blocks of its site's template to dst, and
// returns how many bytes were left out. What is left keeps its order; a line
// break stands where blocks were. A text that would keep fewer than five
// letters is nothing but template, and is appended whole.
func (m *Model) Suppress(dst, site, text []byte) (_ []byte, left int) {
	if m == nil || len(m.sites) == 0 {
		return append(dst, text...), 0
	}
	set := m.sites[siteHash(site)]
	if len(set) == 0 {
		return append(dst, text...), 0
	}
	from, own := len(dst), 0
	for b := (block{}); b.next(text); {
		if b.letters == 0 {
			if left > 0 && (len(dst) == from || dst[len(dst)-1] == '\n') && len(bytes.TrimSpace(text[b.start:b.end])) == 0 {
				left += b.end - b.start
				continue
			}
		} else {
			if _, in := slices.BinarySearch(set, b.hash>>letterBits); in {
				left += b.end - b.start
				if n := len(dst); n > from && dst[n-1] != '\n' {
					dst = append(dst, '\n')
				}
				continue
			}
		}
		own += b.letters
		dst = append(dst, text[b.start:b.end]...)
	}
	if left > 0 && own < ownLeast {
		return append(dst[:from], text...), 0
	}
	return dst, left
}

// Merge adds the templates of older for those sites that m has none of: what
// an earlier night has learned serves where this one saw too little.
func (m *Model) Merge(older *Model) {
	if older == nil {
		return
	}
	if m.sites == nil {
		m.sites = make(map[uint64][]uint64, len(older.sites))
	}
	for site, set := range older.sites {
		if _, known := m.sites[site]; !known {
			m.sites[site] = set
		}
	}
}

// Site returns the host of a document's id that is a URL, without port and
// user; empty for an id that is none: it belongs to no site.
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

// block is a stretch of a text, the mark that ends it included.
type block struct {
	start, end int
	letters    int    // characters that count: ASCII letters, and all beyond ASCII
	hash       uint64 // of these, ASCII letters in lower case
}

// Kinds of byte.
const (
	skipped  = iota // no part of the hash: digits, spaces, most punctuation
	letter          // ASCII
	lead            // the first byte of a character beyond ASCII
	follow          // a further one
	boundary        // ends a block
)

var kinds = func() (t [256]byte) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			t[c] = letter
		case c >= 0xc0:
			t[c] = lead
		case c >= 0x80:
			t[c] = follow
		}
	}
	for _, c := range "\n\r\t|.!?;>" {
		t[c] = boundary
	}
	return t
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
	if b.end >= len(text) {
		return false
	}
	b.start, b.letters = b.end, 0
	h := uint64(hashSeed)
	i := b.start
	for i < len(text) {
		c := text[i]
		i++
		switch kinds[c] {
		case letter:
			b.letters++
			h = (h ^ uint64(c|0x20)) * hashPrime
			continue
		case lead:
			if n := wideBoundary(text[i-1:]); n > 0 {
				i += n - 1
				break
			}
			b.letters++
			h = (h ^ uint64(c)) * hashPrime
			continue
		case follow:
			h = (h ^ uint64(c)) * hashPrime
			continue
		case skipped:
			continue
		}
		break
	}
	b.end, b.hash = i, mix(h)
	return true
}

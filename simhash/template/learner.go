package template

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"github.com/neardup/neardup/simhash/columns"
)

// MinPages is the least number of sampled pages of a site with a template, and
// share of them have a block that is of it.
const (
	MinPages = 20
	share    = 0.5
)

// Bounds of a sample.
const (
	siteMax   = 4096    // pages of a site, as long as there is room for all sites
	siteLeast = 48      // and where there is not, before pages of all sites are thinned out
	allPages  = 1 << 17 // pages of all sites

	// pageBlocks is the most blocks of a page that are looked at: half from
	// its start, half from its end, where templates stand.
	pageBlocks = 512
	// pageShingles is the most shingles of a page that are kept.
	pageShingles = 64
)

// Conditions for a block that many pages share to be part of the template. The block
// has enough letters. And these pages, without what they share, still have text of
// their own, which differs from page to page.
const (
	// sharedBy is how many sampled pages have a block that is not on
	// share of them: that of a section, of a column, or of a list that changes.
	sharedBy = 8
	// ownMedian is the fewest letters of its own that the middle one of the
	// pages has. Where they have fewer, the pages are copies of each other.
	ownMedian = 20
	// ownAlike is the largest share of a page's own shingles that the next page
	// has too. Where it is more, the pages are versions of each other.
	ownAlike = 0.3
	// blockLeast is the fewest letters of a block, namelessLeast where ids name
	// no site: a sentence.
	blockLeast, namelessLeast = 2, 20
	// judged is how many of the pages are looked at.
	judged = 64
)

// Learner samples the pages of every site: those with the smallest keys, which are
// hashes of their ids. If all samples together become too large, it first drops pages
// of large sites, then of all sites, so that small ones lose their template. The sample
// depends on the pages alone, not on their order or on how they were spread over
// learners that are merged. Only one goroutine may use a Learner at a time.
type Learner struct {
	least    int                // MinPages
	sites    map[uint64][]*page // each ascending by key
	pages    int
	room     int    // for pages in all
	siteMax  int    // pages of a site
	limit    uint64 // pages of a greater key are passed over
	blocks   []entry
	shingles fewest
}

type page struct {
	key      uint64    // of site and id
	id       []byte    // nil of one of an earlier night
	rest     uint32    // letters of the page that are not in blocks
	blocks   []entry   // distinct, ascending
	shingles []shingle // distinct, ascending
}

type entry struct {
	hash  uint64 // of its letters; the lower 16 bits are their number, at most 65,535
	exact uint64 // of letters and digits; the lower 16 bits are 0
}

const letterBits = 16

func entryOf(b *block) entry {
	const low = 1<<letterBits - 1
	return entry{b.hash&^low | min(uint64(b.letters), low), b.exact &^ low}
}

func (e entry) letters() uint32 { return uint32(e.hash & (1<<letterBits - 1)) }

// keys are what a template knows the block by.
func (e entry) keys() (letters, exact uint64) { return e.hash >> letterBits, e.exact >> letterBits }

func (e entry) compare(f entry) int {
	return cmp.Or(cmp.Compare(e.hash, f.hash), cmp.Compare(e.exact, f.exact))
}

// NewLearner returns a learner that has seen nothing.
func NewLearner() *Learner {
	return &Learner{least: MinPages, sites: map[uint64][]*page{}, room: allPages, siteMax: siteMax, limit: 1<<64 - 1}
}

// Add shows the learner a page. It keeps nothing of what it is given. It passes
// over a page of the same site, id and text as another.
func (l *Learner) Add(site, id, text []byte) {
	at := siteHash(site)
	key := mix(at + siteHash(id))
	if !l.wants(at, key) {
		return
	}
	p := &page{key: key, id: bytes.Clone(id)}
	l.blocks = l.blocks[:0]
	l.shingles.reset()
	for b := (block{}); b.next(text); {
		if b.letters > 0 {
			l.blocks = append(l.blocks, entryOf(&b))
			l.shingles.add(uint32(b.hash>>letterBits), text[b.start:b.end])
		}
	}
	all := l.blocks
	if n := len(all); n > pageBlocks {
		for _, e := range all[pageBlocks/2 : n-pageBlocks/2] {
			p.rest += e.letters()
		}
		all = append(all[:pageBlocks/2], all[n-pageBlocks/2:]...)
	}
	slices.SortFunc(all, entry.compare)
	p.blocks = slices.Clone(slices.Compact(all))
	p.shingles = slices.Clone(l.shingles.sorted())
	l.keep(at, p)
}

// wants reports whether a page of that key would be sampled.
func (l *Learner) wants(site, key uint64) bool {
	if key > l.limit {
		return false
	}
	pages := l.sites[site]
	return len(pages) < l.siteMax || key <= pages[len(pages)-1].key
}

// keep takes a page into the sample, and another out where there are too many.
func (l *Learner) keep(site uint64, p *page) {
	if !l.wants(site, p.key) {
		return
	}
	pages := l.sites[site]
	i, had := slices.BinarySearchFunc(pages, p, (*page).compare)
	if had {
		return
	}
	pages = slices.Insert(pages, i, p)
	l.pages++
	if len(pages) > l.siteMax {
		pages = slices.Delete(pages, len(pages)-1, len(pages))
		l.pages--
	}
	l.sites[site] = pages
	for l.pages > l.room {
		if l.siteMax > siteLeast {
			l.siteMax = max(l.siteMax/2, siteLeast)
		} else {
			l.limit >>= 1
		}
		l.thin()
	}
}

// compare orders pages by key, those of one key (an id that comes twice) by
// what is in them.
func (p *page) compare(q *page) int {
	return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.rest, q.rest),
		slices.CompareFunc(p.blocks, q.blocks, entry.compare), slices.Compare(p.shingles, q.shingles))
}

// thin drops the pages that are beyond the bounds.
func (l *Learner) thin() {
	for site, pages := range l.sites {
		n := min(len(pages), l.siteMax)
		for n > 0 && pages[n-1].key > l.limit {
			n--
		}
		l.pages -= len(pages) - n
		if n == 0 {
			delete(l.sites, site)
		} else {
			clear(pages[n:])
			l.sites[site] = pages[:n]
		}
	}
}

// Merge adds what another learner has sampled, which is not to be used again.
func (l *Learner) Merge(other *Learner) {
	l.limit, l.siteMax = min(l.limit, other.limit), min(l.siteMax, other.siteMax)
	l.thin()
	for site, pages := range other.sites {
		for _, p := range pages {
			l.keep(site, p)
		}
	}
}

// fewMost is how many pages of earlier nights add to what is sampled of a site.
const fewMost = 2 * MinPages

// Few yields the sampled pages of sites with too few pages for a template and without
// one in m, so that a learner of a later night can add them to its own. It calls yield
// with the id of each page and with the form that AddHistory reads, in an order that
// depends on the pages alone. It stops at yield's first error and returns it.
func (l *Learner) Few(m *Model, yield func(id, page []byte) error) error {
	var form []byte
	for _, name := range slices.Sorted(maps.Keys(l.sites)) {
		pages := l.sites[name]
		if _, known := m.sites[name]; known || len(pages) >= l.least {
			continue
		}
		for i := range pages {
			form = appendPage(form[:0], pages[i])
			if err := yield(pages[i].id, form); err != nil {
				return err
			}
		}
	}
	return nil
}

// AddHistory adds a page that Few of an earlier night yielded. It reports whether it
// added the page: it does only if this learner sampled pages of the same site, but few,
// and has no page of that id. So the caller has to begin with the newest night. The
// caller must call Few and MarshalBinary before, so that a night hands on only its own
// pages. The error is errDamaged.
func (l *Learner) AddHistory(id, form []byte) (added bool, err error) {
	at := siteHash(Site(id))
	key := mix(at + siteHash(id))
	pages := l.sites[at]
	i, had := slices.BinarySearchFunc(pages, key, func(p *page, key uint64) int { return cmp.Compare(p.key, key) })
	if len(pages) == 0 || len(pages) >= fewMost || had || l.pages >= l.room || key > l.limit {
		return false, nil
	}
	in := &cursor{left: form}
	p := in.page()
	p.key = key
	if err := in.end(); err != nil {
		return false, err
	}
	l.sites[at] = slices.Insert(pages, i, p)
	l.pages++
	return true, nil
}

// Sites returns how many sites were sampled, and most, the largest number of pages that
// were sampled of one site.
func (l *Learner) Sites() (sites, most int) {
	for _, pages := range l.sites {
		most = max(most, len(pages))
	}
	return len(l.sites), most
}

// Model returns the templates of the sampled sites. A site's template has the blocks
// that the share of its pages have, whatever their digits. For a site with a name it
// also has those that sharedBy pages have with the same digits; for documents without a
// site it has only blocks as long as a sentence. A block does not count if the pages
// that have it are copies or versions of each other.
func (l *Learner) Model() *Model {
	names := slices.Collect(maps.Keys(l.sites))
	names = slices.DeleteFunc(names, func(name uint64) bool { return len(l.sites[name]) < l.least })
	found := make([][]uint64, len(names)) // blocks of each
	columns.Each(runtime.GOMAXPROCS(0), len(names), func(int) func(int) {
		return func(i int) {
			pages := l.sites[names[i]]
			minority, least := sharedBy, uint32(blockLeast)
			if names[i] == siteHash(nil) { // of many sources: the formulas of some are no template of all
				minority, least = len(pages)+1, namelessLeast
			}
			found[i] = template(pages, minority, least)
		}
	})
	m := &Model{sites: map[uint64]*site{}}
	for i, blocks := range found {
		if len(blocks) > 0 {
			m.sites[names[i]] = newSite(uint32(len(l.sites[names[i]])), blocks)
		}
	}
	return m
}

// template returns the blocks of the template of a site's pages, ascending:
// those that share of the pages have, and those that so many have just so, of at
// least so many letters.
func template(pages []*page, minority int, letters uint32) []uint64 {
	least := share * float64(len(pages))
	count := counts(pages, min(minority, int(math.Ceil(least))))
	candidates := map[uint64][]int{} // with the first of their pages
	for i := range pages {
		for _, e := range pages[i].blocks {
			if e.letters() < letters {
				continue
			}
			hash, exact := e.keys()
			if float64(count[hash]) < least {
				if hash = exact; count[exact] < minority {
					continue
				}
			}
			if on := candidates[hash]; len(on) < judged && (len(on) == 0 || on[len(on)-1] != i) {
				candidates[hash] = append(on, i)
			}
		}
	}
	own := make([]ownPart, len(pages))
	for i := range pages {
		own[i] = pages[i].without(candidates)
	}
	var blocks []uint64
	for hash, on := range candidates {
		if differ(pages, own, on) {
			blocks = append(blocks, hash)
		}
	}
	slices.Sort(blocks)
	return blocks
}

// counts says how many of the pages have a block, by its keys, of those that so
// many have. Most blocks are on one page: they are counted in a sketch first, that
// the exact count need not name them.
func counts(pages []*page, least int) map[uint64]int {
	const most = 1 << 20
	blocks := 0
	for _, p := range pages {
		blocks += len(p.blocks)
	}
	sketch := make([]uint16, min(most, 1<<bits.Len(uint(8*blocks)))) // few share one by chance
	last := uint64(len(sketch) - 1)
	each(pages, func(key uint64) {
		if n := &sketch[mix(key)&last]; *n < math.MaxUint16 {
			*n++
		}
	})
	count := map[uint64]int{}
	each(pages, func(key uint64) {
		if int(sketch[mix(key)&last]) >= min(least, math.MaxUint16) {
			count[key]++
		}
	})
	return count
}

// each calls yield with the keys of all blocks of pages, each once a page.
func each(pages []*page, yield func(key uint64)) {
	for i := range pages {
		last := ^uint64(0)
		for _, e := range pages[i].blocks {
			letters, exact := e.keys()
			if letters != last {
				yield(letters)
			}
			yield(exact)
			last = letters
		}
	}
}

// ownPart is what a page has of its own.
type ownPart struct {
	letters  uint32
	shingles []shingle // ascending
}

func (p *page) without(blocks map[uint64][]int) (own ownPart) {
	own.letters = p.rest
	shared := map[uint32]bool{}
	for _, e := range p.blocks {
		letters, exact := e.keys()
		if blocks[letters] != nil || blocks[exact] != nil {
			shared[uint32(e.hash>>letterBits)] = true
		} else {
			own.letters += e.letters()
		}
	}
	for _, s := range p.shingles {
		if !shared[s.block()] {
			own.shingles = append(own.shingles, s)
		}
	}
	return own
}

// differ reports whether some of the pages, given with what each has of its
// own, say something, and not the same.
func differ(pages []*page, own []ownPart, on []int) bool {
	letters := make([]uint32, len(on))
	common, all := 0, 0
	for n, i := range on {
		letters[n] = own[i].letters
		had, of := pages[on[(n+1)%len(on)]].covers(own[i].shingles)
		common, all = common+had, all+of
	}
	slices.Sort(letters)
	return letters[len(letters)/2] >= ownMedian && float64(common) <= ownAlike*float64(all)
}

// covers counts how many of the shingles, ascending, the page has, and of how
// many it can say so: it keeps those of the smallest hashes.
func (p *page) covers(shingles []shingle) (had, of int) {
	last := ^uint32(0)
	if len(p.shingles) == pageShingles {
		last = p.shingles[pageShingles-1].hash()
	}
	rest := p.shingles
	for _, s := range shingles {
		if s.hash() > last {
			break
		}
		for len(rest) > 0 && rest[0].hash() < s.hash() {
			rest = rest[1:]
		}
		of++
		if len(rest) > 0 && rest[0].hash() == s.hash() {
			had++
		}
	}
	return had, of
}

// shingle is six successive letters of a block: their hash in the upper half, the
// block's in the lower.
type shingle uint64

func shingleOf(hash, block uint32) shingle { return shingle(hash)<<32 | shingle(block) }

func (s shingle) hash() uint32  { return uint32(s >> 32) }
func (s shingle) block() uint32 { return uint32(s) }

const (
	shingleLetters = 6
	shingleSample  = 8 // one shingle in so many is taken, by its hash
)

// fewest takes the shingles of a page, and keeps the pageShingles smallest of a
// sample of them, each once.
type fewest struct {
	kept    []shingle
	below   shingle  // no greater one is among the smallest
	letters []uint64 // of a block
}

func (f *fewest) reset() { f.kept, f.below = f.kept[:0], ^shingle(0) }

// sorted returns those that are kept, ascending.
func (f *fewest) sorted() []shingle {
	slices.Sort(f.kept)
	f.kept = slices.Compact(f.kept)
	if len(f.kept) >= pageShingles {
		f.kept = f.kept[:pageShingles]
		f.below = f.kept[pageShingles-1]
	}
	return f.kept
}

// add takes the shingles of a block's text, its digits left out.
func (f *fewest) add(block uint32, text []byte) {
	f.letters = slices.Grow(f.letters[:0], len(text)+1)[:len(text)+1]
	letters, n := f.letters, 0
	for i := 0; i < len(text); {
		c := uint64(text[i] | 0x20)
		kind := kinds[text[i]]
		i++
		if kind == lead || kind == wide {
			for ; i < len(text) && kinds[text[i]] == follow; i++ {
				c = c<<8 | uint64(text[i])
			}
		}
		letters[n] = c // the next overwrites it unless this is a letter
		n += counted[kind]
	}
	// The hash is that of Rabin and Karp: Σ letter · base^age.
	const base = hashPrime
	h := uint64(0)
	for i, c := range letters[:n] {
		if h = h*base + c; i >= shingleLetters {
			h -= letters[i-shingleLetters] * power
		}
		if i < shingleLetters-1 {
			continue
		}
		s := mix(h)
		if s%shingleSample != 0 {
			continue
		}
		if s := shingleOf(uint32(s>>32), block); s <= f.below {
			if f.kept = append(f.kept, s); len(f.kept) == 2*pageShingles {
				f.sorted()
			}
		}
	}
}

// counted is 1 for a kind of byte that begins a letter.
var counted = [boundary + 1]int{letter: 1, lead: 1, wide: 1}

// power is base to the power of shingleLetters, modulo 2⁶⁴.
const power = hashPrime * hashPrime * hashPrime * hashPrime * hashPrime * hashPrime & (1<<64 - 1)

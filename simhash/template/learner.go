package template

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Options of a Learner. The zero value of a field means its default.
type Options struct {
	Share    float64 // of a site's sampled pages that have a block of its template; 0: 0.5
	MinPages int     // a site of fewer sampled pages has no template; 0: 20
	SiteMax  int     // pages of a site that are sampled; 0: 48
	Pages    int     // pages of all sites that are held at a time, of at most 4 KiB each; 0: 131,072
}

// errOptions says what is wrong with Options.
var errOptions = errors.New("template options")

// Check returns the first mistake, with what to write instead.
func (o Options) Check() error {
	o = o.filled()
	switch {
	case !(o.Share > 0 && o.Share <= 1):
		return fmt.Errorf("%w: share %v: write a number above 0 and at most 1", errOptions, o.Share)
	case o.MinPages < 2:
		return fmt.Errorf("%w: min pages %d: write 2 or more", errOptions, o.MinPages)
	case o.SiteMax < o.MinPages:
		return fmt.Errorf("%w: site max %d: write at least the min pages, %d", errOptions, o.SiteMax, o.MinPages)
	case o.Pages < o.SiteMax:
		return fmt.Errorf("%w: pages %d: write at least the site max, %d", errOptions, o.Pages, o.SiteMax)
	}
	return nil
}

func (o Options) filled() Options {
	if o.Share == 0 {
		o.Share = 0.5
	}
	if o.MinPages == 0 {
		o.MinPages = 20
	}
	if o.SiteMax == 0 {
		o.SiteMax = 48
	}
	if o.Pages == 0 {
		o.Pages = 1 << 17
	}
	return o
}

// pageBlocks is the most blocks of a page that are looked at: half from its
// start, half from its end, where templates stand.
const pageBlocks = 512

// ownMedian is the fewest letters of its own that the middle one of a site's
// pages has. Where they have fewer, the pages are copies of each other, and
// what they share is not their template.
const ownMedian = 20

// Learner samples pages: of a site those of the smallest keys, hashes of their
// ids. Where there are more than Pages, the pages of all sites are thinned
// out, so small sites lose their template first. What it has sampled depends on
// the pages alone, not on their order, nor on how they were spread over
// learners that are merged. One goroutine uses it at a time.
type Learner struct {
	options Options
	sites   map[uint64][]page // each ascending by key
	pages   int
	limit   uint64 // pages of a greater key are passed over
	blocks  []entry
}

// page is a sampled page.
type page struct {
	key    uint64  // of site and id
	blocks []entry // distinct, ascending
	rest   uint32  // letters of the page that are not in blocks
}

// entry is a block of a page: its hash, of which the lower 16 bits are
// letters, at most 65,535.
type entry uint64

const letterBits = 16

func entryOf(b *block) entry {
	return entry(b.hash&^(1<<letterBits-1) | min(uint64(b.letters), 1<<letterBits-1))
}

func (e entry) hash() uint64    { return uint64(e) >> letterBits }
func (e entry) letters() uint32 { return uint32(e & (1<<letterBits - 1)) }

// NewLearner returns a learner that has seen nothing.
func NewLearner(o Options) (*Learner, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return &Learner{options: o.filled(), sites: map[uint64][]page{}, limit: 1<<64 - 1}, nil
}

// Add shows the learner a page. It keeps nothing of what it is given. A page
// of no site is passed over; so is one of the same site, id and text as
// another.
func (l *Learner) Add(site, id, text []byte) {
	if len(site) == 0 {
		return
	}
	at := siteHash(site)
	key := mix(at + siteHash(id))
	if !l.wants(at, key) {
		return
	}
	p := page{key: key}
	l.blocks = l.blocks[:0]
	for b := (block{}); b.next(text); {
		if b.letters > 0 {
			l.blocks = append(l.blocks, entryOf(&b))
		}
	}
	all := l.blocks
	if n := len(all); n > pageBlocks {
		for _, e := range all[pageBlocks/2 : n-pageBlocks/2] {
			p.rest += e.letters()
		}
		all = append(all[:pageBlocks/2], all[n-pageBlocks/2:]...)
	}
	p.blocks = distinct(slices.Clone(all))
	l.keep(at, p)
}

// distinct sorts blocks and leaves out repeated ones.
func distinct(blocks []entry) []entry {
	slices.Sort(blocks)
	return slices.Clip(slices.CompactFunc(blocks, func(a, b entry) bool { return a.hash() == b.hash() }))
}

// wants reports whether a page of that key would be sampled.
func (l *Learner) wants(site, key uint64) bool {
	if key > l.limit {
		return false
	}
	pages := l.sites[site]
	return len(pages) < l.options.SiteMax || key <= pages[len(pages)-1].key
}

// keep takes a page into the sample, and another out where there are too many.
func (l *Learner) keep(site uint64, p page) {
	if !l.wants(site, p.key) {
		return
	}
	pages := l.sites[site]
	i, had := slices.BinarySearchFunc(pages, p, page.compare)
	if had {
		return
	}
	pages = slices.Insert(pages, i, p)
	l.pages++
	if len(pages) > l.options.SiteMax {
		pages = slices.Delete(pages, len(pages)-1, len(pages))
		l.pages--
	}
	l.sites[site] = pages
	for l.pages > l.options.Pages {
		l.limit >>= 1
		l.thin()
	}
}

// compare orders pages by key, those of one key (an id that comes twice) by
// what is in them.
func (p page) compare(q page) int {
	return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.rest, q.rest), slices.Compare(p.blocks, q.blocks))
}

// thin drops the pages whose key is beyond the limit.
func (l *Learner) thin() {
	for site, pages := range l.sites {
		n := len(pages)
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

// Merge adds what another learner has sampled, which must have the same
// options and is not to be used again.
func (l *Learner) Merge(other *Learner) error {
	if l.options != other.options {
		return fmt.Errorf("%w: learners of %+v and %+v: write the same for both", errOptions, l.options, other.options)
	}
	if other.limit < l.limit {
		l.limit = other.limit
		l.thin()
	}
	for site, pages := range other.sites {
		for _, p := range pages {
			l.keep(site, p)
		}
	}
	return nil
}

// Model returns the templates of what was sampled.
func (l *Learner) Model() *Model {
	m := &Model{sites: map[uint64][]uint64{}}
	count := map[uint64]int{}
	for site, pages := range l.sites {
		if len(pages) < l.options.MinPages {
			continue
		}
		clear(count)
		for _, p := range pages {
			for _, e := range p.blocks {
				count[e.hash()]++
			}
		}
		var set []uint64
		for h, n := range count {
			if float64(n) >= l.options.Share*float64(len(pages)) {
				set = append(set, h)
			}
		}
		slices.Sort(set)
		if len(set) > 0 && middleOwn(pages, set) >= ownMedian {
			m.sites[site] = set
		}
	}
	return m
}

// middleOwn is the median of the letters that pages have of their own.
func middleOwn(pages []page, set []uint64) uint32 {
	own := make([]uint32, len(pages))
	for i, p := range pages {
		own[i] = p.rest
		for _, e := range p.blocks {
			if _, in := slices.BinarySearch(set, e.hash()); !in {
				own[i] += e.letters()
			}
		}
	}
	slices.Sort(own)
	return own[len(own)/2]
}

package passage

import (
	"cmp"
	"math"
	"slices"
)

// Rules say what is a hit.
type Rules struct {
	Share float64 // of an item's letters that a document has to have, or of a document's letters that an item has
	Run   int     // weight of a run from which on it is a hit however small the share; 0: none is
	Least int     // weight from which on a document may be a piece of an item
}

// Verdict says what a document and an item have in common.
type Verdict uint8

// The verdicts, the weightiest first.
const (
	Copy      Verdict = iota + 1 // nearly all of each stands in the other
	Carries                      // the document has nearly all of the item, and more
	Contained                    // the item has nearly all of the document, and more
	Shared                       // both have a long run
)

// String is the name that tables have.
func (v Verdict) String() string {
	return [...]string{"", "copy", "carries", "contained", "shared"}[v]
}

// Hit is a stretch of a document that stands in an item, but for edits. Places count
// letters.
type Hit struct {
	Item             int
	Verdict          Verdict
	From, To         int     // the stretch of the document
	ItemFrom, ItemTo int     // that of the item
	Equal            int     // letters that the two have in common there
	Run              int     // the longest run of them without an edit
	Share            float64 // of the item's letters
	Covered          float64 // of the document's letters
	Parts            []Span  // of the stretch, in order: what the item has
}

// Searcher finds what documents and items have in common. It reuses its buffers, so
// only one goroutine may use it at a time.
type Searcher struct {
	index *Index
	rules Rules

	roller  roller
	hashes  [1024]uint64
	seeds   []seed
	weight  int // of the document
	aligner aligner
	runs    []Span // that the document and an item have in common
	long    []Span // those that weigh enough to be a hit
	windows []Span // where there may be one
	short   shortGrams
	group   group
	parts   []Span // of the hits
	hits    []Hit
}

// seed is a gram that a document and an item have in common: it ends at letter doc of
// the document.
type seed struct {
	posting
	doc uint32
}

// place orders seeds by item, then by document letter: an item has a gram once.
func (s *seed) place() uint64 { return uint64(s.item)<<32 | uint64(s.doc) }

// NewSearcher returns a Searcher.
func NewSearcher(x *Index, r Rules) *Searcher { return &Searcher{index: x, rules: r} }

// Search returns the hits of a document, given its letters, sorted by item, then by
// place. They are valid until the next call. Of a longer document only the first 2³²
// letters are searched.
func (s *Searcher) Search(doc []uint32) []Hit {
	s.hits, s.seeds, s.parts = s.hits[:0], s.seeds[:0], s.parts[:0]
	s.short.of = nil // the next document may stand in the same buffer
	if uint64(len(doc)) > math.MaxUint32 {
		doc = doc[:math.MaxUint32]
	}
	x := s.index
	s.roller = roller{letters: doc}
	from := 0
	for n := s.roller.fill(s.hashes[:]); n > 0; n = s.roller.fill(s.hashes[:]) {
		for i, h := range s.hashes[:n] {
			bit := h >> x.shift
			if x.filter[bit/64]>>(bit%64)&1 != 0 && h != 0 {
				s.look(doc, from+i, h)
			}
		}
		from += n
	}
	if len(s.seeds) == 0 {
		return nil
	}
	s.weight = WeightOf(doc)
	slices.SortFunc(s.seeds, func(a, b seed) int { return cmp.Compare(a.place(), b.place()) })
	for seeds := s.seeds; len(seeds) > 0; {
		n := 1
		for n < len(seeds) && seeds[n].item == seeds[0].item {
			n++
		}
		s.settle(doc, seeds[:n])
		seeds = seeds[n:]
	}
	return s.hits
}

// look takes the items that have the gram of that hash, which ends at letter end.
func (s *Searcher) look(doc []uint32, end int, hash uint64) {
	x := s.index
	tag := tagOf(hash)
	for i := hash >> 1 & x.mask; x.slots[i].tag != 0; i = (i + 1) & x.mask {
		at := x.slots[i].at
		if x.slots[i].tag == tag && slices.Equal(gramAt(doc, end), gramAt(x.Item(int(at.item)), int(at.end))) {
			s.seeds = append(s.seeds, seed{at, uint32(end)})
		}
	}
}

// part is a stretch that an alignment found.
type part struct {
	from, to, itemFrom, itemTo int
	equal, run                 int
}

// settle aligns the document with one item at its seeds, which are in order of their
// places, and adds the hits. It joins parts that stand near each other into one hit: a
// question and its answers, in whatever order, or a text of which one paragraph was
// replaced.
func (s *Searcher) settle(doc []uint32, seeds []seed) {
	number := int(seeds[0].item)
	item := s.index.Item(number)
	s.promising(doc, item, seeds)
	g := &s.group
	g.parts = g.parts[:0]
	done := 0 // letters of the document before have been aligned
	apart := max(mostApart, len(item)/2)
	for _, w := range s.windows {
		if !s.likely(doc, item, s.index.weights[number], w) {
			continue
		}
		for len(seeds) > 0 && int(seeds[0].doc) < w.From-apart {
			seeds = seeds[1:]
		}
		for ; len(seeds) > 0 && int(seeds[0].doc) < w.To+apart; seeds = seeds[1:] {
			at := seeds[0]
			if int(at.doc) < done {
				continue
			}
			p := s.align(doc, item, int(at.doc), int(at.end), done)
			done = p.to
			if len(g.parts) > 0 {
				near := p.from-g.to() <= apart && len(g.parts) < mostParts
				switch again := near && g.again(&p); {
				case again && phrase*p.equal < g.equal():
					continue
				case again, !near:
					s.judge(doc, item, number)
					g.parts = g.parts[:0]
				}
			}
			g.parts = append(g.parts, p)
		}
	}
	if len(g.parts) > 0 {
		s.judge(doc, item, number)
	}
}

// seenShare is the share of the shorter text that must stand in runs which both have, one
// letter for so much weight: a 20th of an alphabet's letters, three 20ths of Chinese.
// Of texts in which each letter was edited with probability e, (1 + ge)(1 − e)ᵍ of the
// letters stand in runs of a gram's g letters: for e = .15 it is a tenth of an
// alphabet's, for e = .3 a fifth of Chinese.
const seenShare = 20

// Span is letters of a document: from From to To − 1.
type Span struct{ From, To int }

// promising finds where a document and an item may have a hit, by the runs around their
// seeds: where one weighs enough by itself, or those of a stretch twice as long as the item
// are together more than the phrases that texts of one kind share. To look at a run takes a
// hundredth of an alignment, or less.
func (s *Searcher) promising(doc, item []uint32, seeds []seed) {
	least := min(s.weight, s.index.weights[seeds[0].item])
	s.windows, s.runs, s.long = s.windows[:0], s.runs[:0], s.long[:0]
	seen, first, to := 0, 0, 0 // letters of the runs from the first on, and where the last one ends
	for _, at := range seeds {
		d, i := int(at.doc)+1, int(at.end)+1
		if d <= to {
			continue
		}
		back, on := 0, 0
		for back < min(d, i) && doc[d-back-1] == item[i-back-1] {
			back++
		}
		for on < min(len(doc)-d, len(item)-i) && doc[d+on] == item[i+on] {
			on++
		}
		run := Span{max(d-back, to), d + on}
		to = run.To
		s.runs = append(s.runs, run)
		seen += run.To - run.From
		for ; s.runs[first].From < to-2*len(item); first++ {
			seen -= s.runs[first].To - s.runs[first].From
		}
		long := s.rules.Run > 0 && heaviest*(back+on) >= s.rules.Run && WeightOf(doc[d-back:to]) >= s.rules.Run
		if long {
			s.long = append(s.long, run)
		}
		switch {
		case seenShare*seen >= least:
			run.From = s.runs[first].From
		case !long:
			continue
		}
		for n := len(s.windows); n > 0 && run.From <= s.windows[n-1].To; n-- {
			run.From = min(run.From, s.windows[n-1].From)
			s.windows = s.windows[:n-1]
		}
		s.windows = append(s.windows, run)
	}
}

// mostApart is how many letters of a document may lie between parts of an item.
const mostApart = 200

// align aligns around a seed; letters of the document before after are taken.
func (s *Searcher) align(doc, item []uint32, d, i, after int) part {
	back := s.aligner.extend(doc, item, d, i, d+1-after, i+1, -1)
	on := s.aligner.extend(doc, item, d+1, i+1, len(doc)-d-1, len(item)-i-1, 1)
	return part{
		from: d + 1 - back.doc, to: d + 1 + on.doc, itemFrom: i + 1 - back.item, itemTo: i + 1 + on.item,
		equal: back.equal + on.equal, run: max(back.run, on.run, back.first+on.first),
	}
}

// group is the parts of an item that stand near each other in a document, in the
// order of the document.
type group struct{ parts []part }

func (g *group) to() int { return g.parts[len(g.parts)-1].to }

// equal is how many letters its parts have in common with the item.
func (g *group) equal() (n int) {
	for i := range g.parts {
		n += g.parts[i].equal
	}
	return n
}

// phrase is how many times as many letters as a part the others have, where it is a phrase
// that stands near the item once more, and not the beginning of the item's next copy.
const phrase = 16

// fresh is how many letters of the item p has that no part of the first n has.
func (g *group) fresh(p *part, n int) (letters int) {
	letters = p.itemTo - p.itemFrom
	from := p.itemFrom
	for from < p.itemTo { // the next letter that is not covered, and the end of the gap
		covered := false
		gap := p.itemTo
		for _, q := range g.parts[:n] {
			if q.itemFrom <= from && from < q.itemTo {
				letters -= min(q.itemTo, p.itemTo) - from
				from, covered = q.itemTo, true
				break
			}
			if q.itemFrom > from {
				gap = min(gap, q.itemFrom)
			}
		}
		if !covered {
			from = gap
		}
	}
	return letters
}

// again reports whether p repeats what the parts have of the item.
func (g *group) again(p *part) bool {
	return 2*g.fresh(p, len(g.parts)) < p.itemTo-p.itemFrom
}

// mostParts is how many parts are one.
const mostParts = 1024

// judge adds the group if it is a hit.
func (s *Searcher) judge(doc, item []uint32, number int) {
	g := &s.group
	h := Hit{Item: number, From: len(doc), ItemFrom: len(item)}
	for i := range g.parts {
		p := &g.parts[i]
		h.Equal += p.equal * g.fresh(p, i) / max(p.itemTo-p.itemFrom, 1)
		h.From, h.To = min(h.From, p.from), max(h.To, p.to)
		h.ItemFrom, h.ItemTo = min(h.ItemFrom, p.itemFrom), max(h.ItemTo, p.itemTo)
		h.Run = max(h.Run, p.run)
	}
	h.Share, h.Covered = float64(h.Equal)/float64(len(item)), float64(h.Equal)/float64(len(doc))
	most, mostOf := h.Share >= s.rules.Share, h.Covered >= s.rules.Share && WeightOf(doc[h.From:h.To]) >= s.rules.Least
	switch {
	case most && h.Covered >= s.rules.Share:
		h.Verdict = Copy
	case most:
		h.Verdict = Carries
	case mostOf:
		h.Verdict = Contained
	case slices.ContainsFunc(s.long, func(run Span) bool { return run.From < h.To && h.From < run.To }):
		h.Verdict = Shared
	default:
		return
	}
	first := len(s.parts)
	for i := range g.parts {
		s.parts = append(s.parts, Span{g.parts[i].from, g.parts[i].to})
	}
	h.Parts = s.parts[first:]
	s.hits = append(s.hits, h)
}

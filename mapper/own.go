package mapper

import (
	"slices"

	"github.com/neardup/neardup/simhash/sketch"
)

// Own tells what of a text is its own and what other pages have too: a column's note, an
// author's line, an appeal for money, the formula of a notice. Such parts stand in many
// pages that otherwise have nothing in common, so a text is not contained in another one
// because both have them.
//
// Reset sets the text, Add the other pages that share much with it, and Within judges.
// Own reuses its buffers, so only one goroutine may use it at a time.
type Own struct {
	text  []uint64   // shingles
	pages []uint8    // by shingle: how many pages have it
	rests [][]uint64 // of each of these pages, the shingles that the text lacks
	in    []int      // of the page at hand: places in text
	rest  []uint64
}

// OwnPages is how many pages that are unlike each other have a shingle that is not the
// text's own. A story and its updates, or several digests, hardly are so many.
const OwnPages = 6

const (
	// ownLeast is the least share of a text that is its own.
	ownLeast = 0.4

	// restLeast is the fewest shingles that a page must have beside the text's. A page of
	// fewer is a copy of it.
	restLeast = 20

	// restAlike is the share, of the smaller one, from which two pages' rests are alike.
	// Such pages are versions of one page, and count once.
	restAlike = 0.3

	// restsMost is how many pages are looked at: more tell nothing new.
	restsMost = 32
)

// Reset begins with a text, given by its shingles. It retains them.
func (o *Own) Reset(text []uint64) {
	o.text = text
	o.pages = append(o.pages[:0], make([]uint8, len(text))...)
	o.rests = o.rests[:0]
}

// Add takes in another page, given by its shingles, unless it is a version of one that
// was added before.
func (o *Own) Add(page []uint64) {
	if len(o.rests) == restsMost {
		return
	}
	o.in, o.rest = o.in[:0], o.rest[:0]
	i := 0
	for _, s := range page {
		for i < len(o.text) && o.text[i] < s {
			i++
		}
		if i < len(o.text) && o.text[i] == s {
			o.in = append(o.in, i)
		} else {
			o.rest = append(o.rest, s)
		}
	}
	if len(o.rest) < restLeast {
		return
	}
	for _, other := range o.rests {
		if float64(sketch.Shared(o.rest, other)) >= restAlike*float64(min(len(o.rest), len(other))) {
			return
		}
	}
	o.rests = append(o.rests, slices.Clone(o.rest))
	for _, i := range o.in {
		o.pages[i]++
	}
}

// Shared reports whether some of the text may not be its own.
func (o *Own) Shared() bool { return len(o.rests) >= OwnPages }

// Within reports whether a page, given by its shingles, has what is the text's own: at
// least the share of limit of it. It is false if too little of the text is its own.
func (o *Own) Within(page []uint64, limit float64) bool {
	own, both, i := 0, 0, 0
	for at, s := range o.text {
		if o.pages[at] >= OwnPages {
			continue
		}
		own++
		for i < len(page) && page[i] < s {
			i++
		}
		if i < len(page) && page[i] == s {
			both++
		}
	}
	return float64(own) >= ownLeast*float64(len(o.text)) && float64(both) >= limit*float64(own)
}

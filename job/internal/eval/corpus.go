package eval

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/labels"
)

// Document is one document of the laboratory.
type Document struct {
	ID       string
	Title    []byte
	Text     []byte // what is compared
	Headline []byte // title and summary of short news, which stand before it and are not
	Category string // may be empty
	Night    string // an earlier one, of a document of it
}

// Pair is two documents by their number, A < B.
type Pair struct{ A, B int32 }

// pairOf puts two numbers in order.
func pairOf(a, b int32) Pair { return Pair{min(a, b), max(a, b)} }

func (p Pair) compare(q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) }

// Corpus is documents and the pairs of them that are labelled, distinct and in
// order.
type Corpus struct {
	Documents []Document
	Labelled  []Pair          // as near-duplicates
	Denied    []Pair          // as none
	Elsewhere int             // labelled pairs with a document of an earlier night
	Unsure    []Pair          // as neither: they count as neither right nor wrong
	Kinds     map[Pair]string // how a labelled pair came about, where that is known
	Skipped   int             // records that are no documents, and what Add passed over

	numbers map[string]int32 // of documents by id: see number
	known   int              // documents that are in it
}

// errUnknownID says that a label names a document that is not there.
var errUnknownID = errors.New("no document of this id")

// Add appends a document, of which it keeps copies. One whose id is there
// already is passed over and counted, as a run does.
func (c *Corpus) Add(d *data.Document) error {
	if _, had := c.number(string(d.ID)); had {
		c.Skipped++
		return nil
	}
	c.Documents = append(c.Documents, Document{ID: string(d.ID), Title: bytes.Clone(d.Title), Text: bytes.Clone(d.Compared())})
	return nil
}

// number returns the place of the document of an id, of several the first.
func (c *Corpus) number(id string) (int32, bool) {
	if c.numbers == nil {
		c.numbers = make(map[string]int32, len(c.Documents))
	}
	for ; c.known < len(c.Documents); c.known++ {
		id := c.Documents[c.known].ID
		if _, had := c.numbers[id]; !had {
			c.numbers[id] = int32(c.known)
		}
	}
	n, ok := c.numbers[id]
	return n, ok
}

// ofNight reports whether an id is NIGHT/ID, as a review names a document of an earlier
// night.
func ofNight(id string) bool {
	night, _, cut := strings.Cut(id, "/")
	return cut && library.IsNight(night)
}

// Label adds what is said of pairs of ids. Pairs with documents of earlier nights,
// as a review of a run with a library has them, are counted and left out: their
// documents are not in the corpus.
func (c *Corpus) Label(pairs []labels.Pair) error {
	for i := range pairs {
		p := &pairs[i]
		a, okA := c.number(p.A)
		b, okB := c.number(p.B)
		switch {
		case !okA && ofNight(p.A), !okB && ofNight(p.B):
			c.Elsewhere++
			continue
		case !okA:
			return fmt.Errorf("labels: %q: %w", p.A, errUnknownID)
		case !okB:
			return fmt.Errorf("labels: %q: %w", p.B, errUnknownID)
		case a == b:
			continue
		}
		pair := pairOf(a, b)
		if p.Kind != "" {
			if c.Kinds == nil {
				c.Kinds = map[Pair]string{}
			}
			c.Kinds[pair] = p.Kind
		}
		switch p.Answer {
		case labels.Yes:
			c.Labelled = append(c.Labelled, pair)
		case labels.No:
			c.Denied = append(c.Denied, pair)
		case labels.Unsure:
			c.Unsure = append(c.Unsure, pair)
		}
	}
	for _, list := range []*[]Pair{&c.Labelled, &c.Denied, &c.Unsure} {
		slices.SortFunc(*list, Pair.compare)
		*list = slices.Compact(*list)
	}
	return nil
}

// halfOf returns 0 or 1 by a hash of an id: what is tuned on one half of the
// pairs is reported on the other.
func halfOf(id string) int {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id)
	return int(h.Sum64() >> 7 & 1)
}

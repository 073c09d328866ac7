package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
)

// Document is one document of the laboratory.
type Document struct {
	ID       string
	Title    []byte
	Text     []byte
	Category string // may be empty
}

// Pair is two documents by their number, A < B.
type Pair struct{ A, B int32 }

// pairOf puts two numbers in order.
func pairOf(a, b int32) Pair { return Pair{min(a, b), max(a, b)} }

func (p Pair) compare(q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) }

// Corpus is documents and the pairs of them that are labelled as
// near-duplicates, distinct and in order.
type Corpus struct {
	Documents []Document
	Labelled  []Pair
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
	c.Documents = append(c.Documents, Document{ID: string(d.ID), Title: bytes.Clone(d.Title), Text: bytes.Clone(d.Text)})
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

// Label adds pairs of ids to the labelled ones.
func (c *Corpus) Label(pairs [][2]string) error {
	for _, p := range pairs {
		a, okA := c.number(p[0])
		b, okB := c.number(p[1])
		switch {
		case !okA:
			return fmt.Errorf("labels: %q: %w", p[0], errUnknownID)
		case !okB:
			return fmt.Errorf("labels: %q: %w", p[1], errUnknownID)
		case a != b:
			c.Labelled = append(c.Labelled, pairOf(a, b))
		}
	}
	slices.SortFunc(c.Labelled, Pair.compare)
	c.Labelled = slices.Compact(c.Labelled)
	return nil
}

// ErrLabels says that a row of labels has neither a pair nor a cluster.
var ErrLabels = errors.New("write a and b, or id and cluster")

// ReadLabels reads labelled pairs of ids from a file of JSON lines, or a table
// that data/source reads: either two ids a row, named a and b, or one id and
// its cluster, named id and cluster, where all documents of a cluster are
// pairs. In JSON an id may be a number. A file without a pair is an ErrLabels.
func ReadLabels(path string) ([][2]string, error) {
	l := labels{clusters: map[string][]string{}}
	splits, err := source.Expand([]string{path}, source.ExpandOptions{})
	if err != nil {
		return nil, fmt.Errorf("labels: %s: %w", path, err)
	}
	for _, split := range splits {
		if split.Start == 0 {
			l.rows = 0
		}
		switch {
		case split.Format != "jsonl":
			err = l.readTable(split)
		case split.Start == 0: // lines need not be records: the file is read whole
			err = l.readJSON(split.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("labels: %s: %w", split.Path, err)
		}
	}
	if len(l.pairs) == 0 {
		return nil, fmt.Errorf("labels: %s: no labelled pair: %w", path, ErrLabels)
	}
	return l.pairs, nil
}

// labels collects pairs and clusters.
type labels struct {
	pairs    [][2]string
	clusters map[string][]string
	rows     int // of the file that is read
}

// add takes the next row: a pair, or an id and its cluster.
func (l *labels) add(a, b, id, cluster string) error {
	l.rows++
	switch {
	case a != "" && b != "":
		l.pairs = append(l.pairs, [2]string{a, b})
	case id != "" && cluster != "":
		for _, other := range l.clusters[cluster] {
			l.pairs = append(l.pairs, [2]string{other, id})
		}
		l.clusters[cluster] = append(l.clusters[cluster], id)
	default:
		return fmt.Errorf("row %d: %w", l.rows, ErrLabels)
	}
	return nil
}

func (l *labels) readJSON(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	rows := json.NewDecoder(file)
	rows.UseNumber()
	for err == nil {
		var row map[string]any
		if err = rows.Decode(&row); err == nil {
			text := func(name string) string {
				switch v := row[name].(type) {
				case string:
					return v
				case json.Number:
					return v.String()
				}
				return ""
			}
			err = l.add(text("a"), text("b"), text("id"), text("cluster"))
		}
	}
	return errors.Join(l.ended(err), file.Close())
}

// ended returns nil at the end of the rows, else an ErrLabels of the row.
func (l *labels) ended(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, ErrLabels):
		return err
	}
	return fmt.Errorf("row %d: %w: %w", l.rows+1, ErrLabels, err)
}

// readTable reads the columns a and b as id and text of documents, or else id
// and cluster.
func (l *labels) readTable(split data.Split) error {
	in, err := source.Open(split, data.ReaderOptions{Columns: data.Columns{ID: "a", Text: "b"}})
	clusters := err != nil
	if clusters {
		var second error
		if in, second = source.Open(split, data.ReaderOptions{Columns: data.Columns{ID: "id", Text: "cluster"}}); second != nil {
			return fmt.Errorf("%w: %w", ErrLabels, errors.Join(err, second))
		}
	}
	var d data.Document
	for err = in.Read(&d); err == nil; {
		if a, b := string(d.ID), string(d.Text); clusters {
			err = l.add("", "", a, b)
		} else {
			err = l.add(a, b, "", "")
		}
		if err == nil {
			err = in.Read(&d)
		}
	}
	return errors.Join(l.ended(err), in.Close())
}

// halfOf returns 0 or 1 by a hash of an id: what is tuned on one half of the
// pairs is reported on the other.
func halfOf(id string) int {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id)
	return int(h.Sum64() >> 7 & 1)
}

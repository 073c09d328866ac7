package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
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
	Skipped   int             // records that Read passed over

	numbers  map[string]int32 // of the first documents by id: see number
	numbered int              // that many
}

// errUnknownID says that a label names a document that is not there.
var errUnknownID = errors.New("no document of this id")

// Read appends the documents of r to the corpus. Records that are no documents
// and documents whose id is there already are passed over and counted, as a run
// does.
func (c *Corpus) Read(r data.Reader) error {
	var d data.Document
	for {
		err := r.Read(&d)
		if errors.Is(err, io.EOF) {
			return nil
		}
		_, bad := data.IsBadRecord(err)
		if err != nil && !bad {
			return err
		}
		if _, had := c.number(string(d.ID)); bad || had {
			c.Skipped++
			continue
		}
		c.Documents = append(c.Documents, Document{ID: string(d.ID), Title: bytes.Clone(d.Title), Text: bytes.Clone(d.Text)})
	}
}

// number returns the place of the document of an id, of several the first.
func (c *Corpus) number(id string) (int32, bool) {
	if c.numbers == nil {
		c.numbers = make(map[string]int32, len(c.Documents))
	}
	for ; c.numbered < len(c.Documents); c.numbered++ {
		id := c.Documents[c.numbered].ID
		if _, had := c.numbers[id]; !had {
			c.numbers[id] = int32(c.numbered)
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

// maxLabelLine is the most bytes of a line of labels.
const maxLabelLine = 1 << 20

// byteOrderMark is what some programs put before UTF-8.
const byteOrderMark = "\ufeff"

// ReadLabels reads labelled pairs of ids, as JSON lines or as CSV with a
// header: either two ids a row, named a and b, or one id and its cluster,
// named id and cluster, where all documents of a cluster are pairs. An id may be
// a number. The format is seen from the first byte.
func ReadLabels(r io.Reader) ([][2]string, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := in.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = in.Discard(len(mark))
	}
	for {
		c, err := in.Peek(1)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("labels: %w", err)
		}
		if !strings.ContainsRune(" \t\r\n", rune(c[0])) {
			var l labels
			if c[0] == '{' {
				err = l.readJSON(in)
			} else {
				err = l.readCSV(in)
			}
			return l.pairs, err
		}
		_, _ = in.ReadByte()
	}
}

// labels collects pairs and clusters.
type labels struct {
	pairs    [][2]string
	clusters map[string][]string
}

// name is an id or a cluster in JSON: a string, or a number as it is written.
type name string

// UnmarshalJSON implements json.Unmarshaler.
func (n *name) UnmarshalJSON(value []byte) error {
	var number json.Number
	if json.Unmarshal(value, &number) == nil && number != "" && value[0] != '"' {
		*n = name(number)
		return nil
	}
	return json.Unmarshal(value, (*string)(n))
}

// ErrLabels says that a row of labels has neither a pair nor a cluster.
var ErrLabels = errors.New("write a and b, or id and cluster")

func (l *labels) add(row int, a, b, id, cluster string) error {
	switch {
	case a != "" && b != "":
		l.pairs = append(l.pairs, [2]string{a, b})
	case id != "" && cluster != "":
		if l.clusters == nil {
			l.clusters = map[string][]string{}
		}
		for _, other := range l.clusters[cluster] {
			l.pairs = append(l.pairs, [2]string{other, id})
		}
		l.clusters[cluster] = append(l.clusters[cluster], id)
	default:
		return fmt.Errorf("labels: row %d: %w", row, ErrLabels)
	}
	return nil
}

func (l *labels) readJSON(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLabelLine)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var row struct{ A, B, ID, Cluster name }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return fmt.Errorf("labels: row %d: %w: %w", n, ErrLabels, err)
		}
		if err := l.add(n, string(row.A), string(row.B), string(row.ID), string(row.Cluster)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("labels: row %d: %w", n+1, err)
	}
	return nil
}

func (l *labels) readCSV(in io.Reader) error {
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	column := map[string]int{}
	for i, name := range header {
		column[strings.ToLower(strings.TrimSpace(name))] = i
	}
	for n := 2; ; n++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("labels: %w", err)
		}
		value := func(name string) string {
			if i, ok := column[name]; ok {
				return row[i]
			}
			return ""
		}
		if err := l.add(n, value("a"), value("b"), value("id"), value("cluster")); err != nil {
			return err
		}
	}
}

// halfOf returns 0 or 1 by a hash of an id: what is tuned on one half of the
// pairs is reported on the other.
func halfOf(id string) int {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id)
	return int(h.Sum64() >> 7 & 1)
}

// ReadLabelsParquet reads labelled pairs from a Parquet file of the columns
// that ReadLabels takes.
func ReadLabelsParquet(path string) ([][2]string, error) {
	open := func(id, text string) (*parquet.Reader, error) {
		return parquet.Open(data.Split{Path: path, Format: "parquet", End: -1}, data.ReaderOptions{Columns: data.Columns{ID: id, Text: text}})
	}
	clusters := false
	in, err := open("a", "b")
	if err != nil {
		clusters = true
		var second error
		if in, second = open("id", "cluster"); second != nil {
			return nil, fmt.Errorf("labels: %w: %w", ErrLabels, errors.Join(err, second))
		}
	}
	var l labels
	var d data.Document
	for row := 1; ; row++ {
		err := in.Read(&d)
		if errors.Is(err, io.EOF) {
			return l.pairs, in.Close()
		}
		if _, bad := data.IsBadRecord(err); err != nil && !bad {
			return nil, errors.Join(fmt.Errorf("labels: %w", err), in.Close())
		}
		a, b := string(d.ID), string(d.Text)
		if err != nil { // a value is missing
			a, b = "", ""
		}
		if clusters {
			err = l.add(row, "", "", a, b)
		} else {
			err = l.add(row, a, b, "", "")
		}
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
	}
}

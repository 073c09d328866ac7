package labels

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data/charset"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// ErrLabels says that a row of labels has neither a pair nor a cluster.
var ErrLabels = errors.New("write a and b, or id and cluster")

// The columns of a file of labels. Every other one is refused: what is not
// understood might be what the row says.
const (
	columnA       = "a"
	columnB       = "b"
	columnID      = "id"
	columnCluster = "cluster"
	columnVerdict = "verdict"
	columnWho     = "who"
	columnWhen    = "when"
	columnWhy     = "why"
	columnKind    = "kind"
)

// columns are the names of a column, in lower case.
var columns = map[string]string{
	"a": columnA, "b": columnB, "id": columnID, "cluster": columnCluster, "kind": columnKind,
	"verdict": columnVerdict, "same": columnVerdict, "label": columnVerdict, "duplicate": columnVerdict, "is_duplicate": columnVerdict, "判定": columnVerdict,
	"who": columnWho, "reader": columnWho, "when": columnWhen, "time": columnWhen, "why": columnWhy, "note": columnWhy,
}

const columnsHelp = "a and b, or id and cluster; beside a and b verdict (or same, label, duplicate), who, when, why (or note), kind"

// Read reads the labels of files, folders and globs: JSON lines, CSV, TSV or
// Parquet, plain or compressed, in any encoding. A row has two ids, a and b,
// and may say yes, no or unsure of them in a column named verdict, same, label
// or duplicate; without such a column every pair is a near-duplicate. Or a row
// has an id and its cluster, and all documents of a cluster are near-duplicates.
// In JSON an id may be a number. Rows without an answer say nothing.
//
// It is an error if a column or an answer is not understood, if a row has no
// pair, or its document is in another cluster already, and if no row remains.
// Errors name the file and the row.
func Read(paths ...string) ([]Row, error) {
	var all []Row
	for _, path := range paths {
		splits, err := source.Expand([]string{path}, source.ExpandOptions{})
		if err != nil {
			return nil, fmt.Errorf("labels: %s: %w", path, err)
		}
		before := len(all)
		clusters := map[string]place{}
		members := map[string][]string{}
		for _, split := range splits {
			if split.Start > 0 { // a file is read whole
				continue
			}
			f := file{clusters: clusters, members: members, name: split.Path}
			switch split.Format {
			case source.FormatParquet:
				err = f.readParquet(split.Path)
			default:
				err = f.readText(split.Path, split.Format)
			}
			if err != nil {
				return nil, fmt.Errorf("labels: %s: %w", split.Path, err)
			}
			all = append(all, f.rows...)
		}
		if len(all) == before {
			return nil, fmt.Errorf("labels: %s: no labelled pair: %w", path, ErrLabels)
		}
	}
	return all, nil
}

// ErrUniform says that rows which say yes or no all say the same.
var ErrUniform = errors.New("every row has the same verdict")

// Telling is an ErrUniform if the rows have verdicts that a file said, and all
// of them the same one: then the column tells nothing, or is not the one that
// was meant.
func Telling(rows []Row) error {
	said := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.said || r.Answer == None })
	if len(said) == 0 || slices.ContainsFunc(said, func(r Row) bool { return r.Answer != said[0].Answer }) {
		return nil
	}
	remedy := "mend the column"
	if said[0].Answer == Yes {
		remedy = "leave the column out if all pairs are near-duplicates"
	}
	return fmt.Errorf("labels: %w, %s: %s", ErrUniform, said[0].Answer, remedy)
}

// place is where an id was given a cluster.
type place struct {
	cluster, file string
	row           int
}

// file collects the rows of a file.
type file struct {
	name     string
	rows     []Row
	row      int // that is read, from 1
	clusters map[string]place
	members  map[string][]string
}

// names checks the names of the columns, and returns what each stands for.
func names(header []string) ([]string, error) {
	of := make([]string, len(header))
	for i, name := range header {
		of[i] = columns[strings.ToLower(strings.TrimSpace(name))]
		if of[i] == "" {
			return nil, fmt.Errorf("column %q is not understood: %w; the columns are %s: rename it, or leave it out", shortened(name), ErrLabels, columnsHelp)
		}
		if j := slices.Index(of[:i], of[i]); j >= 0 {
			return nil, fmt.Errorf("columns %q and %q both hold the %s: leave one out", header[j], name, of[i])
		}
	}
	has := func(name string) bool { return slices.Contains(of, name) }
	pairs, clusters := has(columnA) && has(columnB), has(columnID) && has(columnCluster)
	switch {
	case pairs == clusters:
		return nil, fmt.Errorf("columns %s: %w", strings.Join(header, ", "), ErrLabels)
	case clusters && len(of) > 2:
		return nil, fmt.Errorf("columns %s: beside id and cluster there may be no other: leave it out, or write pairs", strings.Join(header, ", "))
	}
	return of, nil
}

// add takes the next row.
func (f *file) add(of, values []string) error {
	f.row++
	r := Row{Answer: Yes}
	var id, cluster string
	for i, name := range of {
		v := values[i]
		switch name {
		case columnA:
			r.A = v
		case columnB:
			r.B = v
		case columnID:
			id = v
		case columnCluster:
			cluster = v
		case columnWho:
			r.Who = v
		case columnWhy:
			r.Why = v
		case columnKind:
			r.Kind = v
		case columnVerdict:
			var err error
			if r.Answer, err = ParseAnswer(v); err != nil {
				return f.wrong(swapped(of, values, err))
			}
			r.said = true
		case columnWhen:
			if v == "" {
				continue
			}
			var err error
			if r.When, err = parseTime(v); err != nil {
				return f.wrong(err)
			}
		}
	}
	switch {
	case slices.Contains(of, columnID):
		return f.member(id, cluster)
	case r.A == "" || r.B == "":
		return f.wrong(ErrLabels)
	case r.A == r.B:
		return f.wrong(fmt.Errorf("%q is paired with itself: name two documents", shortened(r.A)))
	}
	f.rows = append(f.rows, r)
	return nil
}

// swapped adds to an answer that is none that another column has one.
func swapped(of, values []string, err error) error {
	for i, name := range of {
		if name == columnA || name == columnB {
			if a, wrong := ParseAnswer(values[i]); wrong == nil && a != None {
				return fmt.Errorf("%w; column %s has %q: are the two columns swapped?", err, name, values[i])
			}
		}
	}
	return err
}

func (f *file) wrong(err error) error { return fmt.Errorf("row %d: %w", f.row, err) }

// member takes a document of a cluster.
func (f *file) member(id, cluster string) error {
	if id == "" || cluster == "" {
		return f.wrong(ErrLabels)
	}
	if was, had := f.clusters[id]; had {
		if was.cluster == cluster {
			return nil
		}
		return f.wrong(fmt.Errorf("id %q is in cluster %q and, by row %d of %s, in %q: a document is in one: are the columns id and cluster swapped?", shortened(id), shortened(cluster), was.row, was.file, shortened(was.cluster)))
	}
	f.clusters[id] = place{cluster, f.name, f.row}
	for _, other := range f.members[cluster] {
		f.rows = append(f.rows, Row{A: other, B: id, Answer: Yes})
	}
	f.members[cluster] = append(f.members[cluster], id)
	return nil
}

// parseTime reads a time as this package writes it, or a date.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("when %q is no time: write it as 2006-01-02T15:04:05Z", shortened(text))
}

// readText reads a file of lines, which are told their encoding from.
func (f *file) readText(path, format string) error {
	body, err := readFile(path)
	if err != nil {
		return err
	}
	var decoder charset.Decoder
	text, _ := decoder.Decode(body, charset.Hint{})
	switch format {
	case source.FormatJSONL:
		return f.readJSON(text)
	case source.FormatCSV:
		return f.readCSV(text, ',')
	case source.FormatTSV:
		return f.readCSV(text, '\t')
	}
	return fmt.Errorf("labels are no %s: write JSON lines, CSV, TSV or Parquet", format)
}

// mostBytes is how large a file of labels may be, once decompressed.
const mostBytes = 1 << 30

func readFile(path string) (body []byte, err error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var r io.Reader = bufio.NewReader(in)
	head, err := r.(*bufio.Reader).Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if r, err = gzip.NewReader(r); err != nil {
			return nil, err
		}
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	}
	body, err = io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err == nil && len(body) > mostBytes {
		err = fmt.Errorf("longer than %d bytes: cut it into several files", mostBytes)
	}
	return body, err
}

func (f *file) readCSV(text []byte, comma rune) error {
	in := csv.NewReader(bytes.NewReader(text))
	in.Comma, in.ReuseRecord = comma, true
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("header row: %w", err)
	}
	of, err := names(header)
	if err != nil {
		return err
	}
	for {
		values, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, csv.ErrFieldCount):
			return fmt.Errorf("row %d: %w: it has %d columns, the header %d", f.row+1, ErrLabels, len(values), len(of))
		case err != nil:
			return fmt.Errorf("row %d: %w: %w", f.row+1, ErrLabels, err)
		}
		if err := f.add(of, values); err != nil {
			return err
		}
	}
}

func (f *file) readJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	for {
		var row map[string]any
		err := in.Decode(&row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("row %d: %w: %w", f.row+1, ErrLabels, err)
		}
		header := make([]string, 0, len(row))
		for name := range row {
			header = append(header, name)
		}
		slices.SortFunc(header, func(a, b string) int { return cmp.Compare(a, b) })
		of, err := names(header)
		if err != nil {
			return fmt.Errorf("row %d: %w", f.row+1, err)
		}
		values := make([]string, len(header))
		for i, name := range header {
			if values[i], err = asText(row[name]); err != nil {
				return fmt.Errorf("row %d: %s: %w", f.row+1, name, err)
			}
		}
		if err := f.add(of, values); err != nil {
			return err
		}
	}
}

// asText is a value of a row as text.
func asText(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case json.Number, bool, int32, int64, float32, float64:
		return fmt.Sprint(v), nil
	}
	return "", errors.New("a list or an object: write text, a number, true or false")
}

func (f *file) readParquet(path string) (err error) {
	in, err := parquet.OpenValues(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	of, err := names(in.Names)
	if err != nil {
		return err
	}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		values := make([]string, len(row))
		for i, v := range row {
			if values[i], err = asText(v); err != nil {
				return err
			}
		}
		if err := f.add(of, values); err != nil {
			return err
		}
	}
}

// ReadOwn reads the file that a reader's verdicts are to be appended to, which
// need not be there yet, nor have a row. It is an error if Append would refuse
// it.
func ReadOwn(path string) (_ []Row, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(sameColumns(path, in), in.Close()); err != nil {
		return nil, err
	}
	f := file{clusters: map[string]place{}, members: map[string][]string{}, name: path}
	format := source.FormatCSV
	if strings.HasSuffix(path, ".jsonl") {
		format = source.FormatJSONL
	}
	if err := f.readText(path, format); err != nil {
		return nil, fmt.Errorf("labels: %s: %w", path, err)
	}
	return f.rows, nil
}

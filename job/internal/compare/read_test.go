package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/rundir"
)

// row is a table's row: its values by column.
type row map[string]any

func (r row) text(column string) string { return fmt.Sprint(r[column]) }

// verdict is what a pair rests on, with its distance.
func (r row) verdict() string {
	return fmt.Sprint(r["distance"], " bits, estimate ", r["estimate"], ", jaccard ", r["jaccard"], ", ", r["verdict"])
}

// run is what a run directory says.
type run struct {
	rows              map[string]row // of the fingerprints, by where the document stands
	documents         map[string]row // by id: the first of its rows
	places            map[string]int // by id: the place of that row
	pairs             map[string]row // by pairKey
	matches, clusters map[string]row // by id
	lines             map[uint64]int // how often the clean dump has a line, by its hash
	counts            map[string]any // the summary
}

func pairKey(a, b string) string { return min(a, b) + " + " + max(a, b) }

func read(dir string) (*run, error) {
	if done, _ := rundir.IsRun(dir); !done {
		return nil, fmt.Errorf("%s is no finished run", dir)
	}
	r := &run{
		rows: map[string]row{}, documents: map[string]row{}, places: map[string]int{}, pairs: map[string]row{},
		matches: map[string]row{}, clusters: map[string]row{}, lines: map[uint64]int{},
	}
	prints, err := fingerprints(dir)
	parts := func(table string) []string {
		paths, listed := rundir.Parts(dir, table)
		err = errors.Join(err, listed)
		return paths
	}
	pairs, matches, clusters := parts(rundir.Pairs), parts(rundir.Matches), parts(rundir.Clusters)
	return r, errors.Join(err,
		rundir.ReadJSON(filepath.Join(dir, rundir.SummaryFile), &r.counts),
		eachRow(prints, func(id string, doc row) {
			at := doc.text("source") + "#" + doc.text("offset")
			for r.rows[at] != nil {
				at += "'"
			}
			r.rows[at] = doc
			if r.documents[id] == nil {
				r.documents[id], r.places[id] = doc, len(r.rows)
			}
		}),
		eachRow(pairs, func(id string, pair row) { r.pairs[pairKey(id, pair.text("match_id"))] = pair }),
		eachRow(matches, func(id string, match row) { r.matches[id] = match }),
		eachRow(clusters, func(id string, in row) {
			if _, ok := in["component_id"]; !ok { // of a build whose clusters were components
				if copies, ok := in["copies_id"]; ok {
					in["cluster_id"] = copies
				}
				in["component_id"] = in["cluster_id"]
			}
			r.clusters[id] = in
		}),
		r.readLines(dir),
	)
}

// fingerprints are the parts of the fingerprints table, which a run that only
// matches has as its input.
func fingerprints(dir string) (paths []string, err error) {
	var m rundir.Manifest
	if err = rundir.ReadJSON(filepath.Join(dir, rundir.ManifestFile), &m); err != nil || m.Command != "match" {
		paths, err = rundir.Parts(dir, rundir.Fingerprints)
	}
	for _, split := range m.Splits {
		if m.Command == "match" {
			paths = append(paths, split.Path)
		}
	}
	return paths, err
}

// eachRow calls yield with the rows of all parts of a table, in their order.
func eachRow(parts []string, yield func(id string, r row)) error {
	for _, part := range parts {
		in, err := parquet.OpenValues(part)
		if err != nil {
			return err
		}
		values, err := in.Read()
		for ; err == nil; values, err = in.Read() {
			r := row{}
			for i, name := range in.Names {
				r[name] = values[i]
			}
			yield(r.text("doc_id"), r)
		}
		if err := errors.Join(err, in.Close()); !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

func (r *run) readLines(dir string) error {
	parts, err := rundir.Parts(dir, rundir.Clean)
	for _, part := range parts {
		if err := r.readLinesOf(part); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return err
}

func (r *run) readLinesOf(part string) error {
	raw, err := os.ReadFile(part)
	if err != nil {
		return err
	}
	text := &bytes.Buffer{}
	switch filepath.Ext(part) {
	case ".gz":
		in, err := gzip.NewReader(bytes.NewReader(raw))
		if err == nil {
			_, err = io.Copy(text, in)
		}
		if err != nil {
			return err
		}
	case ".zst":
		in, err := zstd.NewReader(bytes.NewReader(raw))
		if err != nil {
			return err
		}
		defer in.Close()
		if _, err := io.Copy(text, in); err != nil {
			return err
		}
	default:
		text.Write(raw)
	}
	for line := range strings.Lines(text.String()) {
		r.lines[xxh3.HashString(line)]++
	}
	return nil
}

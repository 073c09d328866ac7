package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// StreamOptions say what Stream reads.
type StreamOptions struct {
	Before  string   // only nights of a smaller name; "" all
	Nights  []string // only these; nil all
	Splits  []Split  // only these, as of Library.Splits; nil all
	Columns []string // of data.LibraryDocuments; nil all
	Workers int      // goroutines; 0: GOMAXPROCS
}

// Split is successive row groups of one file: what one task reads.
type Split struct {
	File        string
	Start, Rows int64
}

// all is the split of the whole file.
func (f File) all() Split { return Split{f.Name, 0, f.Rows} }

// Splits cuts what Stream would read with these options into splits. Each is a
// number of whole row groups of one file, with at least so many rows unless the
// rest of the file has fewer.
func (l *Library) Splits(o StreamOptions, rows int64) ([]Split, error) {
	groups, err := l.groups(o)
	if err != nil {
		return nil, err
	}
	var splits []Split
	for _, g := range groups {
		if n := len(splits); n > 0 {
			if last := &splits[n-1]; last.File == g.file.Name && last.Rows < rows {
				last.Rows = g.end - last.Start
				continue
			}
		}
		splits = append(splits, Split{g.file.Name, g.first, g.end - g.first})
	}
	return splits, nil
}

// batchRows is the most rows of a Batch.
const batchRows = 8 << 10

// Batch is a number of documents of one night, without deleted ones. The fields of
// columns that were not asked for are empty. It is valid until visit returns.
type Batch struct {
	Night   string
	Rows    []data.LibraryRow
	Numbers []int64 // of the rows within their file
	deleted int64   // File.Deleted of their file
}

// group is one goroutine's piece of work: a row group, the rows first to end-1 of a
// night's file.
type group struct {
	night      string
	file       File
	number     int64
	first, end int64
}

// in reports whether the group stands in one of the splits asked for.
func (g group) in(splits []Split) bool {
	return splits == nil || slices.ContainsFunc(splits, func(s Split) bool {
		return s.File == g.file.Name && s.Start <= g.first && g.end <= s.Start+s.Rows
	})
}

// Stream calls visit once for every document that the options select, in batches.
// Different workers call visit at the same time, and batches come in any order; one
// worker's calls follow each other. Memory is one batch per worker, however large the
// library is. The first error of visit ends Stream.
func (l *Library) Stream(ctx context.Context, o StreamOptions, visit func(worker int, b *Batch) error) error {
	groups, err := l.groups(o)
	if err != nil {
		return err
	}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(min(workers, len(groups)), 1)
	rows := int64(0)
	for _, g := range groups {
		rows += g.end - g.first
	}
	advance := l.reads(rows, "rows")
	var next atomic.Int64
	eg, ctx := errgroup.WithContext(ctx)
	for worker := range workers {
		eg.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(groups)); i = next.Add(1) - 1 {
				g := groups[i]
				if err := l.streamGroup(ctx, g, o.Columns, func(b *Batch) error { return visit(worker, b) }); err != nil {
					return err
				}
				advance(g.end - g.first)
			}
			return nil
		})
	}
	return eg.Wait()
}

// groups lists the row groups of the nights and splits asked for, the nights in
// order.
func (l *Library) groups(o StreamOptions) (groups []group, err error) {
	for _, n := range l.manifest.Nights {
		if o.Before != "" && n.Name >= o.Before || o.Nights != nil && !slices.Contains(o.Nights, n.Name) {
			continue
		}
		for _, e := range n.Extents {
			if o.Splits != nil && !slices.ContainsFunc(o.Splits, func(s Split) bool { return s.File == e.File }) {
				continue
			}
			f, _ := l.manifest.File(e.File)
			info, err := parquet.ReadInfo(l.Path(f.Name))
			if err == nil {
				err = f.is(l.Path(f.Name), info)
			}
			if err != nil {
				return nil, l.damaged(err)
			}
			first := int64(0)
			for number, rows := range info.Groups {
				g := group{n.Name, f, int64(number), first, first + rows}
				if first = g.end; g.in(o.Splits) {
					groups = append(groups, g)
				}
			}
			if first != f.Rows {
				return nil, fmt.Errorf("%w: %s has %d rows, the manifest says %d: put a backup of it in its place", errDamaged, l.Path(f.Name), first, f.Rows)
			}
		}
	}
	return groups, nil
}

// is returns an error unless the file at path, of which info was read, is the one in
// the manifest. A file can be undamaged and still be another night's or library's.
func (f File) is(path string, info parquet.Info) error {
	if f.Sum != "" && f.Sum != info.Checksum {
		return fmt.Errorf("%s: it is another file than %s names", path, ManifestFile)
	}
	return nil
}

// damaged wraps the error of a file of the library that cannot be read: in
// errChanged if the library was read without a lock and has changed meanwhile, else in
// errDamaged.
func (l *Library) damaged(err error) error {
	if l.lock == nil {
		if m, now := ReadManifest(l.dir); now == nil && m.change() != l.manifest.change() {
			return fmt.Errorf("%w: %s has change %d, change %d was being read: run the same command again: %w", errChanged, l.dir, m.Sequence, l.manifest.Sequence, err)
		}
	}
	return fmt.Errorf("%w: %w: `neardup library verify %s` says which nights it holds, `neardup library repair` makes it again from their run directories; else put a backup of it in its place", errDamaged, err, l.dir)
}

func (l *Library) streamGroup(ctx context.Context, g group, columns []string, visit func(*Batch) error) (err error) {
	filter := l.hidden.latest > g.file.Deleted
	if filter && columns != nil && !slices.Contains(columns, "doc_id") {
		columns = append(slices.Clip(columns), "doc_id")
	}
	r, err := parquet.OpenTable(l.Path(g.file.Name), &data.LibraryDocuments, parquet.ReadOptions{Columns: columns, Start: g.number, End: g.number + 1})
	if err != nil {
		return l.damaged(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Info.Bits != l.manifest.Bits {
		return fmt.Errorf("%w: %s holds fingerprints of %d bits, not %d", errDamaged, l.Path(g.file.Name), r.Info.Bits, l.manifest.Bits)
	}
	rows := make([]data.LibraryRow, min(batchRows, g.end-g.first))
	numbers := make([]int64, len(rows))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, first, err := r.ReadBatch(rows)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return l.damaged(err)
		}
		kept := 0
		for i := range n {
			if filter && l.hidden.after(rows[i].DocID, g.file.Deleted) {
				continue
			}
			if kept != i {
				rows[kept] = rows[i]
			}
			numbers[kept] = first + int64(i)
			kept++
		}
		if kept == 0 {
			continue
		}
		if err := visit(&Batch{g.night, rows[:kept], numbers[:kept], g.file.Deleted}); err != nil {
			return err
		}
	}
}

// Rows calls yield with every document that the options select, one at a time: by
// night, and within a night in the order in which the run added them. The row is
// valid only during the call.
func (l *Library) Rows(ctx context.Context, o StreamOptions, yield func(*data.LibraryRow) error) error {
	o.Workers = 1
	return l.Stream(ctx, o, func(_ int, b *Batch) error {
		for i := range b.Rows {
			b.Rows[i].Night = b.Night
			if err := yield(&b.Rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// readTable calls yield with the rows of a file of the library.
func readTable[R any](ctx context.Context, l *Library, name string, t *data.Table[R], yield func(*R) error) error {
	f, _ := l.manifest.File(name)
	info, err := parquet.ReadInfo(l.Path(name))
	if err == nil {
		err = f.is(l.Path(name), info)
	}
	if err != nil {
		return err
	}
	return parquet.ReadTable(ctx, l.Path(name), t, yield)
}

// Current maps ids of clusters to the clusters that have their documents now. It
// follows the merges of all nights whose names are smaller than before ("": of all
// nights). Clusters that were never merged are not in the map.
func (l *Library) Current(ctx context.Context, before string, ids []string) (map[string]string, error) {
	now := map[string]string{}
	members := map[string][]string{} // ids by what they are now
	for _, id := range ids {
		if _, ok := members[id]; !ok {
			members[id] = []string{id}
		}
	}
	for _, n := range l.manifest.Nights {
		if n.Merges == "" || before != "" && n.Name >= before {
			continue
		}
		err := readTable(ctx, l, n.Merges, &data.Merges, func(row *data.MergeRow) error {
			moved, ok := members[string(row.From)]
			if !ok {
				return nil
			}
			delete(members, string(row.From))
			into := strings.Clone(string(row.Into))
			members[into] = append(members[into], moved...)
			for _, id := range moved {
				now[id] = into
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return now, nil
}

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

// Splits cuts what Stream would read with these options into splits of whole
// row groups, each of one file and of about so many rows at least, unless its
// file has less.
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

// batchRows is how many rows are read at once, at most.
const batchRows = 8 << 10

// Batch is a stretch of one night's documents; of columns that were not asked
// for their fields are empty. Rows that do not count are not among them. It is
// valid until visit returns.
type Batch struct {
	Night   string
	Rows    []data.LibraryRow
	Numbers []int64 // of the rows within their file
	deleted int64   // the file knows deletions up to this sequence
}

// group is the piece of work of one goroutine: a row group of a night's file, rows
// first to end of it.
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

// Stream calls visit with every document of the library once, some thousand
// at a time: batches of the same worker one after another, those of different
// workers at once, in any order. It holds a batch for each worker, however large
// the library is.
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

// is returns an error unless the open file is the one that the manifest names:
// a sound one may be of another night or of another library.
func (f File) is(path string, info parquet.Info) error {
	if f.Sum != "" && f.Sum != info.Checksum {
		return fmt.Errorf("%s: it is another file than %s names", path, ManifestFile)
	}
	return nil
}

// damaged is the error for a file of the library that cannot be read.
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

// Rows calls yield with every document of the nights asked for, the nights in their
// order, those of a night in that in which its run added them. The row is valid
// during the call.
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

// Current gives the clusters of these ids today: merges of the nights of
// smaller names than before ("": of all nights) turn an id into that of the
// cluster that took its documents. Ids that no merge names are left out.
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

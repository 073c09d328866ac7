package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// Add adds a night, or replaces the night of that name, which replaced reports.
// After an error the library is as it was before.
//
// rows calls its yield with the night's documents; each must have another id, and
// those that were deleted for good are left out. mergers, unless nil, calls its
// yield with the cluster merges of the night. run names the run, so that the night
// can be told from an earlier one of the same name.
func (l *Library) Add(ctx context.Context, night, run string, rows func(yield func(*data.LibraryRow) error) error, mergers func(yield func(from, into []byte) error) error) (added Night, replaced bool, err error) {
	if _, err := checkNight(night); err != nil {
		return added, false, err
	}
	if l.manifest.Settings == nil {
		return added, false, errors.New("library: it has no settings yet")
	}
	next := l.manifest.after()
	w := &writer{library: l, sequence: next.Sequence, deleted: l.manifest.Sequence, limit: l.partRows}
	defer func() { err = errors.Join(err, w.abort()) }()

	added = Night{Name: night, Run: run, Added: l.now().UTC().Truncate(time.Second), LengthClasses: map[string]int64{}, Extractor: l.extractor}
	n := 0
	var hashes []uint64
	err = rows(func(row *data.LibraryRow) error {
		if n++; n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(row.DocID) == 0 {
			return fmt.Errorf("library: night %s: row %d has no id", night, n)
		}
		if l.hidden.forever(row.DocID) {
			return nil
		}
		hashes = append(hashes, xxh3.Hash(row.DocID))
		row.Night = night
		added.Rows++
		added.LengthClasses[row.LengthClass]++
		return w.write(row)
	})
	if err != nil {
		return added, false, err
	}
	if twice := repeated(hashes); twice > 0 {
		return added, false, fmt.Errorf("library: night %s: %d documents have an id that stands in it before", night, twice)
	}
	if err := w.close(); err != nil {
		return added, false, err
	}
	added.Extents = extentsOf(w.files)
	next.Files = append(next.Files, w.files...)

	if mergers != nil {
		f, err := l.writeMerges(night, next.Sequence, mergers)
		if err != nil {
			return added, false, err
		}
		if f.Rows > 0 {
			added.Merges = f.Name
			next.Files = append(next.Files, f)
		}
	}
	if l.sampled != nil && l.sampled.Rows > 0 {
		added.Samples = l.sampled.Name
		next.Files = append(next.Files, *l.sampled)
	}
	i, replaced := next.night(night)
	if replaced {
		next.Nights[i] = added
	} else {
		next.Nights = slices.Insert(next.Nights, i, added)
	}
	next.boundSamples(l.sampleBytes)
	return added, replaced, l.commit(next)
}

// repeated counts the ids, by their hashes, that are there before.
func repeated(hashes []uint64) int {
	slices.Sort(hashes)
	return len(hashes) - len(slices.Compact(hashes))
}

// create begins a file of the library, in a folder that is made if it is not
// there.
func create[R any](l *Library, name string, t *data.Table[R]) (*parquet.TableWriter[R], *hashing, error) {
	if err := l.begin(); err != nil {
		return nil, nil, err
	}
	path := l.Path(name)
	folder := filepath.Dir(path)
	err := os.MkdirAll(folder, 0o777)
	if err == nil { // also when it was there: who made it may have been killed
		err = l.fs.SyncDir(filepath.Dir(folder))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("library: %w", err)
	}
	h := newHashing(l.fs)
	w, err := parquet.Create(path, t, parquet.Options{Version: l.version, Bits: l.manifest.Bits, FS: h})
	return w, h, err
}

// writeFile makes a file of the rows that each yields, if there are any.
func writeFile[R any](l *Library, name string, t *data.Table[R], each func(yield func(*R) error) error) (f File, err error) {
	w, h, err := create(l, name, t)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	if err := each(w.Write); err != nil || w.Rows() == 0 {
		return f, err
	}
	if err := w.Commit(); err != nil {
		return f, err
	}
	return h.file(l.Path(name), name, w.Rows())
}

func (l *Library) writeMerges(night string, sequence int64, each func(yield func(from, into []byte) error) error) (f File, err error) {
	f, err = l.mergesTo(fmt.Sprintf("%s%08d.parquet", folderOf(merges, night), sequence), night, each)
	f.Deleted = sequence
	return f, err
}

func (l *Library) mergesTo(name, night string, each func(yield func(from, into []byte) error) error) (File, error) {
	return writeFile(l, name, &data.Merges, func(write func(*data.MergeRow) error) error {
		return each(func(from, into []byte) error { return write(&data.MergeRow{Night: night, From: from, Into: into}) })
	})
}

// writer writes rows of a night to new files.
type writer struct {
	library  *Library
	sequence int64  // in the files' names
	deleted  int64  // sequence of the deletions that the rows know
	limit    int64  // rows of a file
	as       string // name of the one file; "": made of night and sequence

	out   *parquet.TableWriter[data.LibraryRow]
	sum   *hashing
	name  string // of the file under way
	files []File
}

func (w *writer) write(row *data.LibraryRow) error {
	if w.out != nil && w.out.Rows() >= w.limit {
		if err := w.close(); err != nil {
			return err
		}
	}
	if w.out == nil {
		w.name = cmp.Or(w.as, fmt.Sprintf("%s%08d-%05d.parquet", folderOf(documents, row.Night), w.sequence, len(w.files)))
		var err error
		if w.out, w.sum, err = create(w.library, w.name, &data.LibraryDocuments); err != nil {
			return err
		}
	}
	return w.out.Write(row)
}

// close completes the file under way.
func (w *writer) close() error {
	if w.out == nil {
		return nil
	}
	out := w.out
	w.out = nil
	if err := out.Commit(); err != nil {
		return err
	}
	f, err := w.sum.file(w.library.Path(w.name), w.name, out.Rows())
	if err != nil {
		return err
	}
	f.Deleted = w.deleted
	w.files = append(w.files, f)
	return nil
}

func (w *writer) abort() error {
	if w.out == nil {
		return nil
	}
	return w.out.Abort()
}

// Compacted is what Compact did.
type Compacted struct {
	Files  int   `json:"files"`       // rewritten
	Into   int   `json:"into"`        // files written in their place
	Erased int64 `json:"erased_rows"` // hidden rows removed from the files
	Bytes  int64 `json:"saved_bytes"` // by which the library shrank; negative: it grew
}

// onceKept is how long a Once deletion is kept at least, so that look-ups which
// have not reloaded the library yet still get to see it.
const onceKept = 24 * time.Hour

// Compact rewrites two kinds of files: those with deleted rows, so that the rows'
// bytes are gone from the disk; and successive small files of a night, which are
// merged into files of up to rows rows (0: the usual size). Each rewrite is a
// change of its own, so an interrupted compaction keeps what it has done. Before it
// rewrites a file, Compact checks it against the manifest; a difference is an error.
func (l *Library) Compact(ctx context.Context, rows int64) (done Compacted, err error) {
	if rows <= 0 {
		rows = l.partRows
	}
	before := l.manifest.Bytes()
	for {
		todo, err := l.nextCompaction(ctx, rows)
		if err != nil {
			return done, err
		}
		if todo == nil {
			break
		}
		erased, into, err := l.rewrite(ctx, todo, rows)
		if err != nil {
			return done, err
		}
		done.Files += len(todo)
		done.Into += into
		done.Erased += erased
	}
	if err := l.compactSamples(ctx); err != nil {
		return done, err
	}
	// Deletions that hold for what was there then are not needed any more, once
	// everybody who looks single documents up has seen them.
	next := l.manifest.after()
	oldest := l.manifest.Sequence
	for _, f := range next.Files {
		if !strings.HasPrefix(f.Name, merges+"/") { // which name clusters, no documents
			oldest = min(oldest, f.Deleted)
		}
	}
	next.Deletions = slices.DeleteFunc(next.Deletions, func(d deletion) bool { return d.Once && d.Sequence <= oldest && l.now().Sub(d.At) > onceKept })
	if len(next.Deletions) < len(l.manifest.Deletions) {
		if err := l.commit(next); err != nil {
			return done, err
		}
	}
	done.Bytes = before - l.manifest.Bytes()
	return done, nil
}

// nextCompaction returns the files to rewrite next, in order: one with deleted rows,
// or several small ones of a night; nil if there is nothing to do. It notes of a file
// without deleted rows that it takes all deletions into account.
func (l *Library) nextCompaction(ctx context.Context, rows int64) ([]File, error) {
	for _, n := range l.manifest.Nights {
		var small []File
		size := int64(0)
		for _, e := range n.Extents {
			f, _ := l.manifest.File(e.File)
			if hit, err := l.hits(ctx, f); hit || err != nil {
				return []File{f}, err
			}
			if f.Rows > rows/2 || size+f.Rows > rows {
				if len(small) > 1 {
					break
				}
				small, size = nil, 0
			}
			if f.Rows <= rows/2 {
				small, size = append(small, f), size+f.Rows
			}
		}
		if len(small) > 1 {
			return small, nil
		}
	}
	return nil, nil
}

var errHit = errors.New("hit")

// hits reports whether a deletion hides a row of the file. If none does, it updates
// the file's Deleted in the manifest, so that the file need not be read again.
func (l *Library) hits(ctx context.Context, f File) (bool, error) {
	if l.hidden.latest <= f.Deleted {
		return false, nil
	}
	all := *l
	all.hidden = &hiding{}
	err := all.Stream(ctx, StreamOptions{Splits: []Split{f.all()}, Columns: []string{"doc_id"}}, func(_ int, b *Batch) error {
		for i := range b.Rows {
			if l.hidden.after(b.Rows[i].DocID, f.Deleted) {
				return errHit
			}
		}
		return nil
	})
	if errors.Is(err, errHit) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	next := l.manifest.after()
	i := slices.Index(next.Files, f)
	next.Files[i].Deleted = l.manifest.Sequence
	return false, l.commit(next)
}

// rewrite replaces successive files of a night by new ones without the hidden rows.
func (l *Library) rewrite(ctx context.Context, files []File, rows int64) (erased int64, into int, err error) {
	if !l.writable {
		return 0, 0, fmt.Errorf("library: %s was opened for reading", l.dir)
	}
	next := l.manifest.after()
	splits := make([]Split, len(files))
	for i, f := range files {
		splits[i] = f.all()
		erased += f.Rows
		if err := l.sound(ctx, f); err != nil {
			return 0, 0, err
		}
	}
	w := &writer{library: l, sequence: next.Sequence, deleted: l.manifest.Sequence, limit: max(rows, l.partRows)}
	defer func() { err = errors.Join(err, w.abort()) }()
	err = l.Rows(ctx, StreamOptions{Splits: splits}, func(row *data.LibraryRow) error {
		erased--
		return w.write(row)
	})
	if err != nil {
		return 0, 0, err
	}
	if err := w.close(); err != nil {
		return 0, 0, err
	}
	next.Files = append(next.Files, w.files...)
	n := &next.Nights[slices.IndexFunc(next.Nights, func(n Night) bool { return n.holds(files[0].Name) })]
	at := slices.IndexFunc(n.Extents, func(e extent) bool { return e.File == files[0].Name })
	n.Extents = slices.Replace(n.Extents, at, at+len(files), extentsOf(w.files)...)
	n.Rows, n.Deleted = n.Rows-erased, n.Deleted-erased
	return erased, len(w.files), l.commit(next)
}

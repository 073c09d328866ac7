package source

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/arrow"
	"github.com/neardup/neardup/data/internal/csv"
	"github.com/neardup/neardup/data/internal/panics"
	"github.com/neardup/neardup/data/internal/stream"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/parquet"
)

// A task has costs of its own: files that it writes, digests, records. So a split holds
// small files together until it has filesBytes, but not so many that fewer than
// leastSplits are left to share among workers.
const (
	filesBytes  = 16 << 20
	leastSplits = 64
)

// Combine makes one split of small files that follow each other and are alike: of one
// format and one file name extension, and of one schema where the clean dump has the
// input's own form: the same header of CSV and TSV, the same schema of Parquet and Arrow.
// Such a split has at most 16 MiB, a quarter of splitBytes (0: its default), and a 64th
// of all the splits. The order of the documents stays as it is. Options o are those
// that the splits are read with.
func Combine(splits []data.Split, splitBytes int64, o data.ReaderOptions) []data.Split {
	if splitBytes <= 0 {
		splitBytes = defaultSplitBytes
	}
	most := min(filesBytes, splitBytes/4, totalSize(splits)/leastSplits)
	fits := func(i int) bool { // behind the split before it
		return i > 0 && i < len(splits) && alike(splits[i-1], splits[i]) && splits[i-1].Size+splits[i].Size <= most
	}
	var tables []int // whose schema matters
	for i, s := range splits {
		if schemas[s.Format] != nil && (fits(i) || fits(i+1)) {
			tables = append(tables, i)
		}
	}
	schema := readSchemas(splits, tables, o)
	var combined []data.Split
	for i, s := range splits {
		if n := len(combined) - 1; fits(i) && combined[n].Size+s.Size <= most && (schemas[s.Format] == nil || schema[i] != "" && schema[i] == schema[i-1]) {
			to := &combined[n]
			if len(to.Files) == 0 {
				to.Files = append(to.Files, data.SplitFile{Path: to.Path, Size: to.Size})
			}
			to.Files, to.Size = append(to.Files, data.SplitFile{Path: s.Path, Size: s.Size}), to.Size+s.Size
			continue
		}
		combined = append(combined, s)
	}
	return combined
}

// readSchemas returns the schemas of some of the splits by their numbers: rows of two files
// can stand in one if both have the same. There is none of a file of which it cannot be
// told: who reads the file says why.
func readSchemas(splits []data.Split, of []int, o data.ReaderOptions) map[int]string {
	read := make([]string, len(of))
	each(len(of), func(i int) bool {
		s, o := splits[of[i]], o
		if object.Is(s.Path) {
			o.Open = func(path string) (data.InputFile, error) { return object.FileInfo{Path: path, Size: s.Size}.Open() }
		}
		_ = panics.AsError(func() error { // its own error, too: there is no schema
			text, err := schemas[s.Format](s, o)
			if err == nil {
				read[i] = text
			}
			return err
		})
		return true
	})
	schema := make(map[int]string, len(of))
	for i, n := range of {
		schema[n] = read[i]
	}
	return schema
}

// schemas are the formats of which the clean dump of several files has their own form as
// a whole, and what tells it.
var schemas = map[string]func(data.Split, data.ReaderOptions) (string, error){
	FormatCSV: csv.SchemaOf, FormatTSV: csv.SchemaOf, FormatArrow: arrow.SchemaOf, FormatParquet: parquet.SchemaOf,
}

func totalSize(splits []data.Split) (n int64) {
	for i, s := range splits {
		if i == 0 || s.Path != splits[i-1].Path {
			n += max(s.Size, 0)
		}
	}
	return n
}

// alike reports whether two splits are of whole files that can be read as one, if their
// schemas are the same.
func alike(a, b data.Split) bool {
	return a.Format == b.Format && whole(a) && whole(b) && filepath.Ext(a.Path) == filepath.Ext(b.Path) && object.Is(a.Path) == object.Is(b.Path)
}

// whole reports whether a split is all of its files.
func whole(s data.Split) bool {
	return s.Start == 0 && s.End < 0 && s.Size >= 0 && s.Encoding == "" && s.Path != "-"
}

// filesReader reads the files of a split one after the other.
type filesReader struct {
	files   []data.Split // that are left
	options data.ReaderOptions
	ahead   *object.Ahead // of objects

	in   data.SourceReader // nil before the first file, and between two
	file int               // which it is, from 1 on
	read int64             // bytes of the files before in
	sum  stream.Sum        // of their digests
	err  error             // that ended the reading
}

func openFiles(split data.Split, o data.ReaderOptions) (data.SourceReader, error) {
	r := &filesReader{options: o}
	for one := range split.OfFiles() {
		r.files = append(r.files, one)
	}
	r.ahead = object.ReadAhead(split, &r.options)
	if err := r.next(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// next opens the next file.
func (r *filesReader) next() (err error) {
	in, err := openFile(r.files[0], r.options)
	if err != nil { // in may hold a nil pointer
		return err
	}
	r.in, r.files, r.file = in, r.files[1:], r.file+1
	return nil
}

func (r *filesReader) Read(doc *data.Document) error {
	for r.err == nil {
		err := r.in.Read(doc)
		if err == nil {
			doc.File = r.file - 1
			return nil
		}
		if _, bad := data.IsBadRecord(err); bad {
			return err
		}
		if r.err = err; errors.Is(err, io.EOF) {
			r.err = r.end()
		}
	}
	return r.err
}

// end closes a file that was read to its end, and opens the next one: io.EOF behind the
// last.
func (r *filesReader) end() error {
	r.read += r.in.Consumed()
	_, _ = io.WriteString(&r.sum, r.in.Digest()+"\n") // it never fails
	err := r.in.Close()
	r.in = nil
	switch {
	case err != nil:
		return err
	case len(r.files) == 0:
		return io.EOF
	}
	return r.next()
}

func (r *filesReader) Consumed() int64 {
	if r.in == nil {
		return r.read
	}
	return r.read + r.in.Consumed()
}

func (r *filesReader) Digest() string {
	if !errors.Is(r.err, io.EOF) {
		return ""
	}
	return r.sum.String()
}

// Encoding is that of the file which is being read.
func (r *filesReader) Encoding() string {
	if r.in == nil {
		return ""
	}
	return r.in.Encoding()
}

func (r *filesReader) Close() (err error) {
	if !errors.Is(r.err, io.EOF) {
		r.err = os.ErrClosed
	}
	if r.in != nil {
		err = r.in.Close()
		r.in = nil
	}
	return errors.Join(err, r.ahead.Close())
}

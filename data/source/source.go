// Package source finds the input that a user names, cuts it into splits (Expand), and
// opens a split with the reader of its format (Open). It tells formats by file name and
// content. It never parses a record itself.
package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/arrow"
	"github.com/neardup/neardup/data/charset"
	"github.com/neardup/neardup/data/internal/csv"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/internal/jsonl"
	"github.com/neardup/neardup/data/internal/panics"
	"github.com/neardup/neardup/data/internal/stream"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/warc"
)

// Names of the formats, as data.Split has them.
const (
	FormatWARC    = "warc"
	FormatWET     = "wet"
	FormatJSONL   = "jsonl"
	FormatCSV     = "csv"
	FormatTSV     = "tsv"
	FormatParquet = "parquet"
	FormatArrow   = "arrow"
)

// formats are all formats with their readers, in the order in which errors name
// them.
var formats = []struct {
	name string
	open func(data.Split, data.ReaderOptions) (data.SourceReader, error)
}{
	{FormatWARC, warc.Open}, {FormatWET, warc.Open}, {FormatJSONL, jsonl.Open}, {FormatCSV, csv.Open}, {FormatTSV, csv.Open}, {FormatParquet, parquet.Open},
	{FormatArrow, arrow.Open},
}

// Formats lists the names of all formats.
func Formats() []string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].name
	}
	return names
}

var formatList = strings.Join(Formats(), ", ")

// Extracts reports whether the texts of a format's documents are extracted from
// pages, which costs so much that a run keeps them: they are in its table of
// texts, and need not be read from the input again.
func Extracts(format string) bool { return format == FormatWARC }

// Bounded reports whether a sample of a split is its first bytes, where Windows gives
// the split whole and who reads it stops when enough is consumed.
func Bounded(split data.Split) bool {
	return split.Format == FormatParquet || split.Format == FormatArrow || split.Path == "-"
}

// defaultSplitBytes is ExpandOptions.SplitBytes when it is 0.
const defaultSplitBytes = 64 << 20

var (
	// ErrFormat is returned for input whose format is not known.
	ErrFormat = errors.New("unknown format")
	// ErrRefused is returned for dumps in a format that is known and not read.
	ErrRefused = errors.New("refused")
	// ErrNoInput is returned when nothing matches what was named.
	ErrNoInput = errors.New("no input")
)

// ExpandOptions says how input is found and cut.
type ExpandOptions struct {
	Format     string // of every file; "": each file's own, by name and content
	Encoding   string // as of data.ReaderOptions; "": told from each file
	SplitBytes int64  // plain JSONL is cut at about this many bytes; 0: 64 MiB

	// Ignored is told of the files of a folder that are left out because
	// their format is unknown, but for those whose name says that they hold no
	// documents: read-mes, checksums, programs. It may be nil.
	Ignored func(path string)

	// Skip, if not nil, says which folders are left out: those of neardup's own.
	Skip func(folder string) bool

	fingerprints bool // the input is files of fingerprints
}

// remedy says what to do about an argument without input, or about a file of a
// format that is not known.
func (o ExpandOptions) remedy(otherwise string) string {
	if o.fingerprints {
		return "name a run directory that neardup run made, or Parquet, CSV or TSV files with a column of ids and one of fingerprints"
	}
	return otherwise
}

// Open opens a split with its format's reader. Ids and titles of its documents are
// valid UTF-8 (see data.ValidID). If the file as a whole cannot be read and o.Unread is
// not nil, Open calls that, and the reader returns one bad record for the whole split.
//
// The files of a split of several are read one after the other, each like one that is a
// split of its own: with its encoding, its columns, and its bad records.
func Open(split data.Split, o data.ReaderOptions) (data.SourceReader, error) {
	if len(split.Files) > 0 {
		return openFiles(split, o)
	}
	return openFile(split, o)
}

// openFile opens a split of one file.
func openFile(split data.Split, o data.ReaderOptions) (data.SourceReader, error) {
	at := slices.Index(Formats(), split.Format)
	if at < 0 {
		return nil, fmt.Errorf("%s: %w %q: write one of %s", split.Path, ErrFormat, split.Format, formatList)
	}
	if missing := o.Missing; missing != nil {
		o.Missing = func(m *data.NoColumn) {
			m.File = split.Path
			missing(m)
		}
	}
	r, err := formats[at].open(split, o)
	if damage := (*data.Unreadable)(nil); o.Unread != nil && errors.As(err, &damage) {
		damage.File = split.Path
		o.Unread(damage)
		return &unreadReader{split: split, options: o, damage: damage}, nil
	}
	if err != nil { // r may hold a nil pointer
		return nil, err
	}
	return &validReader{SourceReader: r, path: split.Path, decoded: o.Decoded}, nil
}

// CheckColumns checks, before a run, that the columns which o asks for exist. It looks
// at up to 16 files spread over the input. One file that has them, or needs none, is
// enough: a single file may lack a column. If none has them, the error is the first
// file's *data.NoColumn.
func CheckColumns(splits []data.Split, o data.ReaderOptions) (err error) {
	const most = 16
	o.Missing, o.Unread, o.Unchecked, o.Unverified = nil, nil, nil, true
	splits = slices.CompactFunc(slices.Clone(splits), func(a, b data.Split) bool { return a.Path == b.Path })
	for i, n := 0, min(len(splits), most); i < n; i++ {
		split := splits[i*len(splits)/n].First()
		if split.Format == FormatWARC || split.Format == FormatWET || split.Path == "-" {
			return nil
		}
		in, missing := Open(split, o)
		if missing == nil {
			return in.Close()
		}
		if errors.As(missing, new(*data.Unreadable)) {
			continue // it says nothing of the columns
		}
		if !errors.As(missing, new(*data.NoColumn)) {
			return nil // who reads it says so
		}
		if err == nil {
			err = missing
		}
	}
	return err
}

// Textless adds to err, which says that an input has no document, why the first
// record of its split is none: a *data.NoColumn where no column has a text, the
// *data.BadRecord, or the *data.Unreadable of its file. Of what is no page by
// design it is err alone.
func Textless(err error, split data.Split, o data.ReaderOptions) error {
	missing := NoText(split, o)
	if bad, is := data.IsBadRecord(missing); is && bad.Reason != data.ReasonNotPage && bad.Reason != data.ReasonHTTPStatus || errors.As(missing, new(*data.NoColumn)) || errors.As(missing, new(*data.Unreadable)) {
		return fmt.Errorf("%w: %w", err, missing)
	}
	return err
}

// NoText returns why the first record of a split has no text, as Textless says
// it; nil if it has one.
func NoText(split data.Split, o data.ReaderOptions) error {
	o.Missing, o.Unread, o.Unchecked, o.Unverified = nil, nil, nil, true
	usual := o.Columns.Text == ""
	if usual {
		o.Columns.Text = field.Usual[field.Text][0] // who asks for a column is told which there are
	}
	in, err := Open(split.First(), o)
	if err == nil {
		err = errors.Join(in.Read(new(data.Document)), in.Close())
	}
	if missing := (*data.NoColumn)(nil); usual && errors.As(err, &missing) {
		missing.Name, missing.Of, missing.Usual, missing.File = "", field.OfText, field.Usual[field.Text], split.Path
		return fmt.Errorf("%s: %s: %w", split.Format, split.Path, missing)
	}
	return err
}

// validReader makes the strings of documents that go into tables valid UTF-8:
// many readers of Parquet refuse a file for one that is not.
type validReader struct {
	data.SourceReader
	path    string
	decoded func(path, encoding string) // told once, at the end
}

func (r *validReader) Read(doc *data.Document) error {
	err := r.SourceReader.Read(doc)
	if r.decoded != nil && errors.Is(err, io.EOF) {
		if encoding := r.Encoding(); encoding != "" {
			r.decoded(r.path, encoding)
		}
		r.decoded = nil
	}
	if err != nil {
		return err
	}
	doc.ID = data.ValidID(doc.ID)
	if !utf8.Valid(doc.Title) {
		doc.Title = bytes.ToValidUTF8(doc.Title, []byte("\uFFFD"))
	}
	return nil
}

// Expand lists the splits of the input in a fixed order: the arguments' files
// sorted by path, each once, each file's splits in the order of the file. An
// argument is a file, a folder (read with its folders, without names that
// start with a dot or an underscore), a pattern as of filepath.Match, the
// s3://BUCKET/KEY of an object, of a prefix or with a pattern, or "-" for
// standard input, which is JSONL unless a format is given. A file whose
// format is unknown is an error when it was named or matches a pattern, and is
// left out of a folder.
func Expand(args []string, o ExpandOptions) ([]data.Split, error) {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return nil, fmt.Errorf("%w %q: write one of %s", ErrFormat, o.Format, formatList)
	}
	if o.SplitBytes <= 0 {
		o.SplitBytes = defaultSplitBytes
	}
	var paths []string
	found := listing{met: make(map[string]bool), objects: make(map[string]object.FileInfo), looked: make(map[string]int)}
	for _, arg := range args {
		of, err := o.find(arg, found)
		if errors.Is(err, errOwn) {
			clean := filepath.Join(arg, "clean")
			if _, statErr := os.Stat(clean); statErr != nil {
				clean = "of a run"
			}
			err = fmt.Errorf("%w: name the documents, or the clean dump %s", err, clean)
		} else if errors.Is(err, ErrNoInput) {
			err = fmt.Errorf("%w: %s", err, o.remedy(mistaken(arg, args)))
		}
		if err != nil {
			return nil, forbidden(err)
		}
		paths = append(paths, of...)
	}
	slices.Sort(paths)
	paths = once(paths)
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: name files, folders, patterns, or - for standard input", ErrNoInput)
	}
	var splits []data.Split
	strange := "" // what to do about the first of them
	for some := range slices.Chunk(paths, atOnce) {
		for i, f := range found.eachSplits(some, o) {
			if path := some[i]; found.met[path] && errors.Is(f.err, ErrFormat) {
				if o.Ignored != nil && !aside(path) {
					o.Ignored(path)
				}
				strange = cmp.Or(strange, noDumps[strings.ToLower(filepath.Ext(path))])
				continue
			}
			if f.err != nil {
				return nil, forbidden(f.err)
			}
			splits = append(splits, f.splits...)
		}
	}
	if len(splits) == 0 {
		return nil, fmt.Errorf("%w: no file in %s has a format that is read: %s", ErrNoInput, strings.Join(args, " "), o.remedy(cmp.Or(strange, "name files of one of "+formatList+", or say with --format what they are")))
	}
	return splits, nil
}

// forbidden adds to an error what to do where a file may not be read; a store's
// errors say it themselves.
func forbidden(err error) error {
	if errors.Is(err, fs.ErrPermission) && errors.As(err, new(*fs.PathError)) {
		return fmt.Errorf("%w: let this user read it, or leave it out", err)
	}
	return err
}

// once drops paths that name the same file as an earlier one: written
// differently, or through a link.
func once(paths []string) []string {
	seen := make(map[string]bool, len(paths))
	folders := make(map[string]string) // where they are, without links
	return slices.DeleteFunc(paths, func(path string) bool {
		key := path
		if path != "-" && !object.Is(path) {
			key = real(path, folders)
		}
		again := seen[key]
		seen[key] = true
		return again
	})
}

// real returns where a file is, without links. It notes in folders where its folder is:
// a million files have few folders.
func real(path string, folders map[string]string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		if there, err := filepath.EvalSymlinks(path); err == nil {
			return there
		}
		return path
	}
	folder, name := filepath.Split(path)
	there, known := folders[folder]
	if !known {
		if there, err = filepath.EvalSymlinks(folder); err != nil {
			there = folder
		}
		folders[folder] = there
	}
	return filepath.Join(there, name)
}

// listing is what is known of the files that were found.
type listing struct {
	met     map[string]bool            // in a folder, not named
	objects map[string]object.FileInfo // as a store lists them
	looked  map[string]int             // objects that were looked into, by file name extension
}

// find lists the files of one argument, and notes in l what it knows of them.
func (o ExpandOptions) find(arg string, l listing) ([]string, error) {
	switch arg {
	case "-":
		return []string{"-"}, nil
	case "":
		return nil, fmt.Errorf("%w: a name is empty", ErrNoInput)
	}
	if object.Is(arg) {
		return l.findObjects(arg)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		if o.Skip != nil && o.Skip(arg) {
			return nil, fmt.Errorf("%w: %s: %w", ErrNoInput, arg, errOwn)
		}
		paths, err := walk(arg, o.Skip)
		for _, p := range paths {
			l.met[p] = true
		}
		return paths, err
	case err == nil:
		return []string{arg}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case !strings.ContainsAny(arg, "*?["):
		return nil, fmt.Errorf("%w: %s does not exist", ErrNoInput, arg)
	}
	matches, err := filepath.Glob(arg)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", arg, err)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("%w: nothing matches %s", ErrNoInput, arg)
	}
	var paths []string
	for _, m := range matches {
		if o.Skip != nil && o.Skip(m) {
			continue
		}
		found, err := o.find(m, l)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// errOwn says that a folder is one that neardup writes.
var errOwn = errors.New("it is a folder that neardup wrote")

// mistaken says what a user may have meant by an input that there is not, one of
// several arguments.
func mistaken(arg string, args []string) string {
	spaced := strings.Join(args, " ")
	_, err := os.Stat(spaced)
	switch {
	case err == nil && len(args) > 1:
		return fmt.Sprintf("write its name in quotes, '%s'", spaced)
	case arg == "":
		return "give the variable that it comes from a value, or leave it out"
	case strings.HasPrefix(arg, "~"):
		return "the shell puts the home folder in the place of ~ where that stands without quotes: write it so, or $HOME"
	case strings.HasPrefix(arg, "s3:"):
		return "write s3://BUCKET/KEY"
	case strings.Contains(arg, "://") && !strings.HasPrefix(arg, "http"):
		return "of stores only s3://BUCKET/KEY is read: mount it, or name a copy"
	case strings.HasPrefix(arg, "http://"), strings.HasPrefix(arg, "https://"):
		return "pages are not fetched: name a file that holds them, or s3://BUCKET/KEY"
	case slices.Contains([]string{"yes", "no", "on", "off", "true", "false"}, arg):
		return "a flag that is on or off has its value behind an equals sign, like --clean=" + arg
	}
	return "name a file, a folder or a pattern that is there"
}

func (l listing) findObjects(arg string) (paths []string, err error) {
	found, err := object.Find(context.Background(), arg)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: nothing in the store matches %s", ErrNoInput, arg)
	}
	for _, o := range found {
		paths = append(paths, o.Path)
		l.met[o.Path] = l.met[o.Path] || o.Path != arg && !strings.ContainsAny(arg, "*?[")
		l.objects[o.Path] = o
	}
	return paths, nil
}

// walk lists the files below a folder, or below that which a link leads to,
// without those of folders to be skipped.
func walk(dir string, skip func(string) bool) ([]string, error) {
	var paths []string
	root := dir + string(filepath.Separator) // a link is followed
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != root && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() && path != root && skip != nil && skip(path) {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			if info.IsDir() {
				return fmt.Errorf("%s is a link to a folder: name the folder itself", path)
			}
		}
		paths = append(paths, path)
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%w: %s holds no files", ErrNoInput, dir)
	}
	return paths, err
}

// lookedInto is how many objects of one file name extension are looked into for their
// format: to ask a store for the beginning of a million takes hours. The name tells that
// of the others, if it does.
const lookedInto = 100

const (
	// opened is how many files are looked into at the same time, at least: a store, or a
	// file system on the network, takes a while to open one.
	opened = 16

	// atOnce is how many files' splits are held until they join the others.
	atOnce = 4096
)

// ofFile is what a file turned out to be: splits, or an error.
type ofFile struct {
	splits []data.Split
	err    error
}

// eachSplits returns what the files at the paths are, in that order. It looks into no
// more of them after an error that is not one of a file's format; files before that one
// may then have been left out, too.
func (l listing) eachSplits(paths []string, o ExpandOptions) []ofFile {
	of := make([]ofFile, len(paths))
	formats := make([]string, len(paths)) // those that names tell
	for i, path := range paths {
		formats[i] = l.formatByName(path, o)
	}
	each(len(paths), func(i int) bool {
		of[i].err = panics.AsError(func() (err error) { // whom it is called by could not recover
			of[i].splits, err = l.splitsOf(paths[i], formats[i], o)
			return err
		})
		return of[i].err == nil || l.met[paths[i]] && errors.Is(of[i].err, ErrFormat)
	})
	return of
}

// each calls f with the numbers of n files on several goroutines, until it returns false.
func each(n int, f func(i int) bool) {
	var stopped atomic.Bool
	var wait sync.WaitGroup
	workers := min(max(opened, runtime.GOMAXPROCS(0)), n)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n && !stopped.Load(); i += workers {
				if !f(i) {
					stopped.Store(true)
				}
			}
		})
	}
	wait.Wait()
}

// formatByName returns the format of an object that need not be looked into, else "".
func (l listing) formatByName(path string, o ExpandOptions) string {
	info, listed := l.objects[path]
	if !listed || info.Size < 0 || info.Size >= o.SplitBytes/4 {
		return ""
	}
	format, ext := named(path)
	format = cmp.Or(o.Format, format)
	if l.looked[ext]++; l.looked[ext] > lookedInto {
		return format
	}
	return ""
}

// splitsOf returns the splits of the file at path. format is that of an object which is
// not to be looked into, else "".
func (l listing) splitsOf(path, format string, o ExpandOptions) ([]data.Split, error) {
	split := data.Split{Path: path, Format: cmp.Or(format, o.Format), Size: -1, End: -1}
	if path == "-" {
		if split.Format == "" {
			split.Format = FormatJSONL
		}
		return []data.Split{split}, nil
	}
	info, listed := l.objects[path]
	if !listed {
		var err error
		if info, err = object.Stat(path); err != nil {
			return nil, err
		}
	}
	if info.Size < 0 {
		return nil, fmt.Errorf("%w: %s is a pipe, a socket or a device: name a file, or - for standard input", ErrFormat, path)
	}
	split.Size = info.Size
	if format != "" {
		return []data.Split{split}, nil
	}
	f, err := info.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	head, compression, err := stream.Head(split, f, headSize)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if split.Format == "" {
		split.Format, err = detect(path, head)
		if o.fingerprints && err != nil { // nothing to make a dump of
			split.Format, err = "", nil
		}
		if err != nil {
			return nil, err
		}
		if split.Format == "" {
			return nil, fmt.Errorf("%s: %w: %s", path, ErrFormat, o.remedy(cmp.Or(noDumps[strings.ToLower(filepath.Ext(path))], "name it with --format ("+formatList+"), or leave it out")))
		}
	}
	switch {
	case split.Format == FormatJSONL && compression == stream.Plain && split.Size > o.SplitBytes+o.SplitBytes/2:
		e, err := encodingOf(f, split.Size, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if !e.PerLine() {
			break
		}
		if o.Encoding == "" && e != charset.UTF8 {
			split.Encoding = e.Name()
		}
		return cutLines(f, split, o.SplitBytes)
	case split.Format == FormatParquet && !o.fingerprints: // whose table has yet to be looked at
		info, err := parquet.InfoOf(path, f)
		if err != nil && !errors.As(err, new(*data.Unreadable)) { // of which who opens it says so
			return nil, err
		}
		return cutGroups(split, int64(len(info.Groups)), int64(len(info.Groups))), nil
	case split.Format == FormatArrow && compression == stream.Plain && split.Size > o.SplitBytes+o.SplitBytes/2 && !object.Is(path): // of an object each batch would be a request
		return arrow.Cut(split, o.SplitBytes)
	}
	return []data.Split{split}, nil
}

// cutGroups cuts a file of so many row groups into n splits of about as many.
func cutGroups(file data.Split, groups, n int64) []data.Split {
	if groups <= 1 {
		return []data.Split{file}
	}
	splits := make([]data.Split, n)
	for i := range n {
		splits[i] = file
		splits[i].Start, splits[i].End = groups*i/n, groups*(i+1)/n
	}
	return splits
}

// encodingSample is how much of each piece of a file its encoding is told
// from.
const encodingSample = 64 << 10

// encodingOf returns the encoding of a file that is to be cut, so that all its
// pieces are read alike: it is told from the first of them that begins with
// what is not ASCII.
func encodingOf(f io.ReaderAt, size int64, o ExpandOptions) (*charset.Encoding, error) {
	decoder, err := charset.NewDecoder(o.Encoding)
	if err != nil || decoder.Encoding != nil {
		return decoder.Encoding, err
	}
	buf := make([]byte, encodingSample)
	for start := int64(0); start < size; start += o.SplitBytes {
		n, err := f.ReadAt(buf, start)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		text := buf[:n]
		if start > 0 {
			_, text, _ = bytes.Cut(text, []byte{'\n'})
		}
		e := decoder.Decide(text, charset.Hint{})
		if start > 0 && !e.PerLine() { // the file would have begun in it
			e = charset.UTF8
		}
		if e != charset.UTF8 || charset.ASCIIPrefix(text) < len(text) {
			return e, nil
		}
	}
	return charset.UTF8, nil
}

// cutLines cuts plain text behind the first line end at or after every
// multiple of size.
func cutLines(f io.ReaderAt, split data.Split, size int64) ([]data.Split, error) {
	var splits []data.Split
	for start := int64(0); start < split.Size; {
		end := split.Size
		if start+size+size/2 < split.Size {
			var err error
			if end, err = lineEnd(f, start+size, split.Size); err != nil {
				return nil, fmt.Errorf("%s: %w", split.Path, err)
			}
		}
		piece := split
		piece.Start, piece.End = start, end
		splits = append(splits, piece)
		start = end
	}
	return splits, nil
}

// lineEnd returns the offset behind the first line feed at or after from.
func lineEnd(f io.ReaderAt, from, size int64) (int64, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, from, size-from), 64<<10)
	for {
		part, err := in.ReadSlice('\n')
		from += int64(len(part))
		switch {
		case err == nil || errors.Is(err, io.EOF):
			return from, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return 0, err
		}
	}
}

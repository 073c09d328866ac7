// Package numbered stores the documents that a run matches under their
// numbers: 0 to n-1 in ascending order of id, so that the smaller number is
// the smaller id and the stages can do without strings. It is state that one
// phase hands to the next, not a table for analysts; formats.md describes the
// files. It never holds all ids in memory.
package numbered

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/exp/mmap"

	"github.com/neardup/neardup/data"
)

// File names within the folder. Numbers are little-endian.
const (
	idsFile          = "ids"          // all ids, back to back
	offsetsFile      = "offsets"      // n+1 × uint64: where id i starts in ids
	fingerprintsFile = "fingerprints" // n × 8 bytes, or 16 (low half first) for 128 bits
	rowsFile         = "rows"         // n × uint64: the row among all fingerprint rows of the run
	valuesFile       = "values"       // n × float64: what the keep rule compares

	// Only of documents with views.
	viewsFile   = "views"   // n × viewBytes, see appendView
	lettersFile = "letters" // the letters of short texts, back to back
)

// viewBytes is a view without fingerprint and letters: the sketch, uint64 where
// the letters start, uint32 length, uint8 bytes of letters, uint8 1 for the
// normal lane, two zeros.
const viewBytes = data.SketchSize + 16

// Form says what is kept of each document.
type Form struct {
	Wide  bool // fingerprints have 128 bits
	Views bool // documents have a View, and need not be of the normal lane
}

// Files lists the names of all files within a folder of that form.
func (f Form) Files() []string {
	files := []string{idsFile, offsetsFile, fingerprintsFile, rowsFile, valuesFile}
	if f.Views {
		files = append(files, viewsFile, lettersFile)
	}
	return files
}

// Limit is the largest number of documents.
const Limit = math.MaxUint32 - 1

// Document is one numbered document.
type Document struct {
	ID     []byte
	Hi, Lo uint64 // fingerprint
	Row    uint64
	Value  float64
	View   data.View // kept if the folder's form says so, but for the fingerprint
}

// Writer writes the folder, in order of number.
type Writer struct {
	files   []*data.AtomicFile
	form    Form
	offset  uint64 // of the next id
	letters uint64 // offset of the next short text
	n       int64
	buf     []byte
}

// Create starts a folder. Nothing stands under a final name before Commit.
func Create(dir string, form Form) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("numbered documents: %w", err)
	}
	w := &Writer{form: form}
	for _, name := range form.Files() {
		f, err := data.CreateAtomic(filepath.Join(dir, name))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("numbered documents: %w", err), w.Abort())
		}
		w.files = append(w.files, f)
	}
	return w, w.put(1, 0)
}

// Add appends the next document; ids come in ascending order.
func (w *Writer) Add(d Document) error {
	if w.n >= Limit {
		return fmt.Errorf("numbered documents: more than %d: split the dump into several runs", int64(Limit))
	}
	w.n++
	if err := w.write(0, d.ID); err != nil {
		return err
	}
	w.offset += uint64(len(d.ID))
	if err := w.put(1, w.offset); err != nil {
		return err
	}
	if err := w.put(2, d.Lo); err != nil {
		return err
	}
	if w.form.Wide {
		if err := w.put(2, d.Hi); err != nil {
			return err
		}
	}
	if err := w.put(3, d.Row); err != nil {
		return err
	}
	if err := w.put(4, math.Float64bits(d.Value)); err != nil || !w.form.Views {
		return err
	}
	if len(d.View.Letters) > math.MaxUint8 {
		return fmt.Errorf("numbered documents: a short text of %d bytes: there may be %d", len(d.View.Letters), math.MaxUint8)
	}
	w.buf = appendView(w.buf[:0], &d.View, w.letters)
	w.letters += uint64(len(d.View.Letters))
	if err := w.write(5, w.buf); err != nil {
		return err
	}
	return w.write(6, d.View.Letters)
}

func appendView(dst []byte, v *data.View, letters uint64) []byte {
	dst = append(dst, v.Sketch[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, letters)
	dst = binary.LittleEndian.AppendUint32(dst, v.Length)
	normal := byte(0)
	if v.Normal {
		normal = 1
	}
	return append(dst, byte(len(v.Letters)), normal, 0, 0)
}

func (w *Writer) put(file int, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return w.write(file, b[:])
}

func (w *Writer) write(file int, b []byte) error {
	if _, err := w.files[file].Write(b); err != nil {
		return fmt.Errorf("numbered documents: %w", err)
	}
	return nil
}

// Len is the number of documents so far.
func (w *Writer) Len() int64 { return w.n }

// Commit completes the folder.
func (w *Writer) Commit() error {
	for _, f := range w.files {
		if err := f.Commit(); err != nil {
			return errors.Join(fmt.Errorf("numbered documents: %w", err), w.Abort())
		}
	}
	return nil
}

// Abort removes what was not committed; after Commit it does nothing.
func (w *Writer) Abort() error {
	var errs []error
	for _, f := range w.files {
		if f != nil {
			errs = append(errs, f.Abort())
		}
	}
	return errors.Join(errs...)
}

// Folder reads a committed folder. Its methods are safe for concurrent use.
type Folder struct {
	dir  string
	form Form
	n    int

	ids, offsets *os.File
	// Mapped, as verdicts read them in no order. The last two are nil without
	// views.
	fingerprints, views, letters *mmap.ReaderAt
}

// Open opens the folder at dir.
func Open(dir string) (_ *Folder, err error) {
	f := &Folder{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("numbered documents: %w", err), f.Close())
		}
	}()
	if f.ids, err = os.Open(filepath.Join(dir, idsFile)); err != nil {
		return nil, err
	}
	if f.offsets, err = os.Open(filepath.Join(dir, offsetsFile)); err != nil {
		return nil, err
	}
	offsets, err := f.offsets.Stat()
	if err != nil {
		return nil, err
	}
	f.n = int(offsets.Size()/8) - 1
	if f.fingerprints, err = mmap.Open(filepath.Join(dir, fingerprintsFile)); err != nil {
		return nil, err
	}
	f.form.Wide = f.n > 0 && f.fingerprints.Len() == f.n*16
	if err := f.sized(f.fingerprints, f.width()); err != nil {
		return nil, err
	}
	f.views, err = mmap.Open(filepath.Join(dir, viewsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	f.form.Views = true
	if f.letters, err = mmap.Open(filepath.Join(dir, lettersFile)); err != nil {
		return nil, err
	}
	return f, f.sized(f.views, viewBytes)
}

// sized checks that a file has width bytes for each document.
func (f *Folder) sized(file *mmap.ReaderAt, width int) error {
	if file.Len() != f.n*width {
		return fmt.Errorf("%s: a file of %d bytes for %d documents of %d bytes: delete the folder, and the run makes it again", f.dir, file.Len(), f.n, width)
	}
	return nil
}

func (f *Folder) width() int {
	if f.form.Wide {
		return 16
	}
	return 8
}

// Close closes the files.
func (f *Folder) Close() error {
	var errs []error
	for _, file := range []*os.File{f.ids, f.offsets} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	for _, file := range []*mmap.ReaderAt{f.fingerprints, f.views, f.letters} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// Len is the number of documents.
func (f *Folder) Len() int { return f.n }

// Form is what is kept of each document.
func (f *Folder) Form() Form { return f.form }

// AppendID appends the id of document number doc to dst.
func (f *Folder) AppendID(dst []byte, doc uint32) ([]byte, error) {
	var b [16]byte
	if _, err := f.offsets.ReadAt(b[:], int64(doc)*8); err != nil {
		return dst, fmt.Errorf("numbered documents: id %d: %w", doc, err)
	}
	start, end := binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])
	if end < start || end-start > 1<<30 {
		return dst, f.damaged(doc)
	}
	n := len(dst)
	dst = append(dst, make([]byte, end-start)...)
	if _, err := f.ids.ReadAt(dst[n:], int64(start)); err != nil {
		return dst[:n], fmt.Errorf("numbered documents: id %d: %w", doc, err)
	}
	return dst, nil
}

// IDs reads ids in ascending order of number, and others between: it holds
// those of a window of documents, so that the calls of the system are few. One
// goroutine uses it at a time.
type IDs struct {
	folder  *Folder
	window  int // documents
	first   uint32
	offsets []byte // of the window's documents and of the one behind it, as in the file
	text    []byte
	buf     []byte
}

// IDs returns a reader of ids.
func (f *Folder) IDs() *IDs { return &IDs{folder: f, window: 1024} }

// Append appends the id of document number doc to dst. If that comes behind the
// window, the window moves on to begin with it.
func (r *IDs) Append(dst []byte, doc uint32) ([]byte, error) {
	if n := len(r.offsets)/8 - 1; n < 0 || doc >= r.first && doc-r.first >= uint32(n) {
		if err := r.move(doc); err != nil {
			return dst, err
		}
	}
	return r.AppendOther(dst, doc)
}

// AppendOther is Append for a document out of order: the window stays.
func (r *IDs) AppendOther(dst []byte, doc uint32) ([]byte, error) {
	i := int(doc) - int(r.first)
	if n := len(r.offsets)/8 - 1; i < 0 || i >= n {
		return r.folder.AppendID(dst, doc)
	}
	base := binary.LittleEndian.Uint64(r.offsets)
	start, end := binary.LittleEndian.Uint64(r.offsets[8*i:])-base, binary.LittleEndian.Uint64(r.offsets[8*i+8:])-base
	if start > end || end > uint64(len(r.text)) {
		return dst, r.folder.damaged(doc)
	}
	return append(dst, r.text[start:end]...), nil
}

// move reads the window from doc on.
func (r *IDs) move(doc uint32) error {
	f := r.folder
	if int(doc) >= f.n {
		return fmt.Errorf("numbered documents: there is no document %d of %d", doc, f.n)
	}
	r.first, r.offsets = doc, r.offsets[:0]
	size := 8 * (min(r.window, f.n-int(doc)) + 1)
	offsets := slices.Grow(r.buf[:0], size)[:size]
	r.buf = offsets
	if _, err := f.offsets.ReadAt(offsets, int64(doc)*8); err != nil {
		return fmt.Errorf("numbered documents: id %d: %w", doc, err)
	}
	start, end := binary.LittleEndian.Uint64(offsets), binary.LittleEndian.Uint64(offsets[size-8:])
	if end < start || end-start > 1<<30 {
		return f.damaged(doc)
	}
	r.text = slices.Grow(r.text[:0], int(end-start))[:end-start]
	if _, err := f.ids.ReadAt(r.text, int64(start)); err != nil {
		return fmt.Errorf("numbered documents: id %d: %w", doc, err)
	}
	r.offsets = offsets
	return nil
}

func (f *Folder) damaged(doc uint32) error {
	return fmt.Errorf("numbered documents: %s: offset of id %d is damaged: delete the folder, and the run makes it again", f.dir, doc)
}

// Fingerprint returns the fingerprint of document number doc.
func (f *Folder) Fingerprint(doc uint32) (hi, lo uint64, err error) {
	var b [16]byte
	width := f.width()
	if _, err := f.fingerprints.ReadAt(b[:width], int64(doc)*int64(width)); err != nil {
		return 0, 0, fmt.Errorf("numbered documents: fingerprint %d: %w", doc, err)
	}
	hi, lo = f.unpack(b[:width])
	return hi, lo, nil
}

func (f *Folder) unpack(b []byte) (hi, lo uint64) {
	if f.form.Wide {
		hi = binary.LittleEndian.Uint64(b[8:])
	}
	return hi, binary.LittleEndian.Uint64(b)
}

// View sets v to the view of document number doc, whose letters it appends to
// those of v[:0]. Of a folder without views all documents are of the normal
// lane, and nothing but their fingerprints is known.
func (f *Folder) View(doc uint32, v *data.View) (err error) {
	letters := v.Letters[:0]
	*v = data.View{Normal: true, Letters: letters}
	if v.Hi, v.Lo, err = f.Fingerprint(doc); err != nil || !f.form.Views {
		return err
	}
	var b [viewBytes]byte
	if _, err := f.views.ReadAt(b[:], int64(doc)*viewBytes); err != nil {
		return fmt.Errorf("numbered documents: view %d: %w", doc, err)
	}
	if err := f.unpackView(v, b[:]); err != nil {
		return fmt.Errorf("numbered documents: view %d: %w", doc, err)
	}
	return nil
}

// Normal reports whether document number doc is of the normal lane.
func (f *Folder) Normal(doc uint32) bool {
	return !f.form.Views || f.views.At(int(doc)*viewBytes+data.SketchSize+13) == 1
}

func (f *Folder) unpackView(v *data.View, b []byte) error {
	copy(v.Sketch[:], b)
	b = b[data.SketchSize:]
	v.Length, v.Normal = binary.LittleEndian.Uint32(b[8:]), b[13] == 1
	v.Letters = v.Letters[:0]
	if n := int(b[12]); n > 0 {
		v.Letters = append(v.Letters, make([]byte, n)...)
		if _, err := f.letters.ReadAt(v.Letters, int64(binary.LittleEndian.Uint64(b))); err != nil {
			return fmt.Errorf("letters: %w", err)
		}
	}
	return nil
}

// Fingerprints calls yield with the fingerprints of the documents of the
// normal lane, in order of number.
func (f *Folder) Fingerprints(yield func(doc uint32, hi, lo uint64)) error {
	return f.FingerprintsBetween(0, f.n, yield)
}

// FingerprintsBetween is Fingerprints for the documents from number first to
// last − 1.
func (f *Folder) FingerprintsBetween(first, last int, yield func(doc uint32, hi, lo uint64)) error {
	return f.each(fingerprintsFile, f.width(), first, last, func(i int, b []byte) error {
		if !f.Normal(uint32(i)) {
			return nil
		}
		hi, lo := f.unpack(b)
		yield(uint32(i), hi, lo)
		return nil
	})
}

// Views calls yield with the views of the documents from number first to
// last − 1, in order. The view is used again for the next.
func (f *Folder) Views(first, last int, yield func(doc uint32, v *data.View)) error {
	var v data.View
	if !f.form.Views {
		v.Normal = true
		return f.FingerprintsBetween(first, last, func(doc uint32, hi, lo uint64) {
			v.Hi, v.Lo = hi, lo
			yield(doc, &v)
		})
	}
	return f.each(viewsFile, viewBytes, first, last, func(i int, b []byte) (err error) {
		if v.Hi, v.Lo, err = f.Fingerprint(uint32(i)); err != nil {
			return err
		}
		if err := f.unpackView(&v, b); err != nil {
			return err
		}
		yield(uint32(i), &v)
		return nil
	})
}

// Rows calls yield with every document's row, in order of number.
func (f *Folder) Rows(yield func(doc uint32, row uint64)) error {
	return f.each(rowsFile, 8, 0, f.n, func(i int, b []byte) error {
		yield(uint32(i), binary.LittleEndian.Uint64(b))
		return nil
	})
}

// Values calls yield with every document's keep value, in order of number.
func (f *Folder) Values(yield func(doc uint32, value float64)) error {
	return f.each(valuesFile, 8, 0, f.n, func(i int, b []byte) error {
		yield(uint32(i), math.Float64frombits(binary.LittleEndian.Uint64(b)))
		return nil
	})
}

// each reads the values of a file of values of width bytes, number first to
// last − 1.
func (f *Folder) each(name string, width, first, last int, yield func(i int, b []byte) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("numbered documents: %s: %w", filepath.Join(f.dir, name), err)
		}
	}()
	file, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Seek(int64(first)*int64(width), io.SeekStart); err != nil {
		return err
	}
	buf := make([]byte, (1<<20)/width*width)
	for i := first; i < last; {
		chunk := buf[:min(len(buf), (last-i)*width)]
		if _, err := io.ReadFull(file, chunk); err != nil {
			return err
		}
		for ; len(chunk) > 0; chunk = chunk[width:] {
			if err := yield(i, chunk[:width]); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

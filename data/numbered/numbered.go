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
	"math"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
)

// File names within the folder. Numbers are little-endian.
const (
	idsFile          = "ids"          // all ids, back to back
	offsetsFile      = "offsets"      // n+1 × uint64: where id i starts in ids
	fingerprintsFile = "fingerprints" // n × 8 bytes, or 16 (low half first) for 128 bits
	rowsFile         = "rows"         // n × uint64: the row among all fingerprint rows of the run
	valuesFile       = "values"       // n × float64: what the keep rule compares
)

// Files lists the names of all files within the folder.
func Files() []string {
	return []string{idsFile, offsetsFile, fingerprintsFile, rowsFile, valuesFile}
}

// Limit is the largest number of documents.
const Limit = math.MaxUint32 - 1

// Document is one numbered document.
type Document struct {
	ID     []byte
	Hi, Lo uint64 // fingerprint
	Row    uint64
	Value  float64
}

// Writer writes the folder, in order of number.
type Writer struct {
	files  [5]*data.AtomicFile
	wide   bool
	offset uint64
	n      int64
}

// Create starts a folder; wide says that fingerprints have 128 bits. Nothing
// stands under a final name before Commit.
func Create(dir string, wide bool) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("numbered documents: %w", err)
	}
	w := &Writer{wide: wide}
	for i, name := range Files() {
		f, err := data.CreateAtomic(filepath.Join(dir, name))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("numbered documents: %w", err), w.Abort())
		}
		w.files[i] = f
	}
	return w, w.put(1, 0)
}

// Add appends the next document; ids come in ascending order.
func (w *Writer) Add(d Document) error {
	if w.n >= Limit {
		return fmt.Errorf("numbered documents: more than %d: split the dump into several runs", int64(Limit))
	}
	w.n++
	if _, err := w.files[0].Write(d.ID); err != nil {
		return fmt.Errorf("numbered documents: %w", err)
	}
	w.offset += uint64(len(d.ID))
	if err := w.put(1, w.offset); err != nil {
		return err
	}
	if err := w.put(2, d.Lo); err != nil {
		return err
	}
	if w.wide {
		if err := w.put(2, d.Hi); err != nil {
			return err
		}
	}
	if err := w.put(3, d.Row); err != nil {
		return err
	}
	return w.put(4, math.Float64bits(d.Value))
}

func (w *Writer) put(file int, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	if _, err := w.files[file].Write(b[:]); err != nil {
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
	dir          string
	ids, offsets *os.File
	n            int
	wide         bool
}

// Open opens the folder at dir.
func Open(dir string) (*Folder, error) {
	f := &Folder{dir: dir}
	var err error
	if f.ids, err = os.Open(filepath.Join(dir, idsFile)); err != nil {
		return nil, fmt.Errorf("numbered documents: %w", err)
	}
	if f.offsets, err = os.Open(filepath.Join(dir, offsetsFile)); err != nil {
		return nil, errors.Join(fmt.Errorf("numbered documents: %w", err), f.ids.Close())
	}
	offsets, err := f.offsets.Stat()
	if err == nil {
		f.n = int(offsets.Size()/8) - 1
		var prints os.FileInfo
		if prints, err = os.Stat(filepath.Join(dir, fingerprintsFile)); err == nil {
			f.wide = f.n > 0 && prints.Size() == int64(f.n)*16
			if width := f.width(); prints.Size() != int64(f.n)*int64(width) {
				err = fmt.Errorf("%s: %d bytes for %d documents: delete the folder, and the run makes it again", dir, prints.Size(), f.n)
			}
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("numbered documents: %w", err), f.Close())
	}
	return f, nil
}

func (f *Folder) width() int {
	if f.wide {
		return 16
	}
	return 8
}

// Close closes the files.
func (f *Folder) Close() error { return errors.Join(f.ids.Close(), f.offsets.Close()) }

// Len is the number of documents.
func (f *Folder) Len() int { return f.n }

// AppendID appends the id of document number doc to dst.
func (f *Folder) AppendID(dst []byte, doc uint32) ([]byte, error) {
	var b [16]byte
	if _, err := f.offsets.ReadAt(b[:], int64(doc)*8); err != nil {
		return dst, fmt.Errorf("numbered documents: id %d: %w", doc, err)
	}
	start, end := binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])
	if end < start || end-start > 1<<30 {
		return dst, fmt.Errorf("numbered documents: %s: offset of id %d is damaged", f.dir, doc)
	}
	n := len(dst)
	dst = append(dst, make([]byte, end-start)...)
	if _, err := f.ids.ReadAt(dst[n:], int64(start)); err != nil {
		return dst[:n], fmt.Errorf("numbered documents: id %d: %w", doc, err)
	}
	return dst, nil
}

// Fingerprints64 returns the fingerprints of up to 64 bits by number.
func (f *Folder) Fingerprints64() ([]uint64, error) {
	out := make([]uint64, f.n)
	return out, f.each(fingerprintsFile, 8, func(i int, b []byte) { out[i] = binary.LittleEndian.Uint64(b) })
}

// Fingerprint returns the fingerprint of document number doc.
func (f *Folder) Fingerprint(doc uint32) (hi, lo uint64, err error) {
	file, err := os.Open(filepath.Join(f.dir, fingerprintsFile))
	if err != nil {
		return 0, 0, fmt.Errorf("numbered documents: %w", err)
	}
	b := make([]byte, f.width())
	_, err = file.ReadAt(b, int64(doc)*int64(len(b)))
	if err := errors.Join(err, file.Close()); err != nil {
		return 0, 0, fmt.Errorf("numbered documents: fingerprint %d: %w", doc, err)
	}
	if f.wide {
		hi = binary.LittleEndian.Uint64(b[8:])
	}
	return hi, binary.LittleEndian.Uint64(b), nil
}

// Fingerprints calls yield with every fingerprint in order of number.
func (f *Folder) Fingerprints(yield func(doc uint32, hi, lo uint64)) error {
	return f.each(fingerprintsFile, f.width(), func(i int, b []byte) {
		hi := uint64(0)
		if f.wide {
			hi = binary.LittleEndian.Uint64(b[8:])
		}
		yield(uint32(i), hi, binary.LittleEndian.Uint64(b))
	})
}

// Rows calls yield with every document's row, in order of number.
func (f *Folder) Rows(yield func(doc uint32, row uint64)) error {
	return f.each(rowsFile, 8, func(i int, b []byte) { yield(uint32(i), binary.LittleEndian.Uint64(b)) })
}

// Values calls yield with every document's keep value, in order of number.
func (f *Folder) Values(yield func(doc uint32, value float64)) error {
	return f.each(valuesFile, 8, func(i int, b []byte) {
		yield(uint32(i), math.Float64frombits(binary.LittleEndian.Uint64(b)))
	})
}

func (f *Folder) each(name string, width int, yield func(i int, b []byte)) (err error) {
	file, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return fmt.Errorf("numbered documents: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buf := make([]byte, (1<<20)/width*width)
	for i := 0; i < f.n; {
		chunk := buf[:min(len(buf), (f.n-i)*width)]
		if _, err := io.ReadFull(file, chunk); err != nil {
			return fmt.Errorf("numbered documents: %s: %w", filepath.Join(f.dir, name), err)
		}
		for ; len(chunk) > 0; chunk = chunk[width:] {
			yield(i, chunk[:width])
			i++
		}
	}
	return nil
}

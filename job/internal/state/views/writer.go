package views

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// Writer writes the file of one split, row by row. It holds one stripe.
type Writer struct {
	file   *data.AtomicFile
	form   Form
	rows   int64
	group  [columns][]byte // columns of the rows not yet in a block; of letters and samples the lengths
	tails  [columns][]byte // the letters and samples of these rows
	stripe [columns]blocks
	index  []byte // of the blocks written, as in the footer
}

// blocks are those of a column that are not yet written.
type blocks struct {
	bytes []byte
	index []byte // as in the footer
}

// Create starts a file at path, and makes its folder. The file appears at path with
// Commit.
func Create(path string, f Form) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	return create(data.OS, path, f)
}

func create(fsys data.FS, path string, f Form) (*Writer, error) {
	file, err := data.CreateAtomicIn(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	w := &Writer{file: file, form: f}
	if err := w.append([]byte(magic)); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

// Write appends a document, nothing of which is retained. Letters of more than
// 1,020 bytes and a sample of more than 255 keys are an error, and the document is
// not written.
func (w *Writer) Write(r *Row) error {
	v := &r.View
	if w.form.Verified && len(v.Letters) > math.MaxUint8*units[letters] {
		return fmt.Errorf("views: %s: row %d has letters of %d bytes: at most %d are kept", w.file.Path(), w.rows, len(v.Letters), math.MaxUint8*units[letters])
	}
	if w.form.Sampled && (len(v.Sample) > math.MaxUint8*units[samples] || len(v.Sample)%units[samples] > 0) {
		return fmt.Errorf("views: %s: row %d has a sample of %d bytes: at most %d keys of %d are kept", w.file.Path(), w.rows, len(v.Sample), math.MaxUint8, units[samples])
	}
	g := &w.group
	var lane byte
	if v.Normal {
		lane |= normal
	}
	if w.form.Verified {
		if v.Sketch != [data.SketchSize]byte{} {
			lane |= sketched
		}
		if len(v.Letters) > 0 {
			lane |= lettered
		}
		g[sketches] = binary.LittleEndian.AppendUint32(append(g[sketches], v.Sketch[:]...), v.Length)
		w.tail(letters, v.Letters)
	}
	if w.form.Sampled {
		if len(v.Sample) > 0 {
			lane |= sampled
		}
		w.tail(samples, v.Sample)
	}
	g[fingerprints] = binary.LittleEndian.AppendUint64(g[fingerprints], v.Lo)
	if w.form.Wide {
		g[fingerprints] = binary.LittleEndian.AppendUint64(g[fingerprints], v.Hi)
	}
	g[fingerprints] = append(g[fingerprints], lane)
	g[ids] = binary.LittleEndian.AppendUint64(g[ids], r.ID)
	if w.form.Keep {
		g[keeps] = binary.LittleEndian.AppendUint64(g[keeps], math.Float64bits(r.Keep))
	}
	w.rows++
	if w.rows%groupRows == 0 {
		w.seal()
	}
	if w.rows%(stripeGroups*groupRows) == 0 {
		return w.flush()
	}
	return nil
}

// tail takes a row of letters or samples; NUL fills its last unit.
func (w *Writer) tail(c column, b []byte) {
	n := (len(b) + units[c] - 1) / units[c]
	w.group[c] = append(w.group[c], byte(n))
	w.tails[c] = append(append(w.tails[c], b...), make([]byte, n*units[c]-len(b))...)
}

// seal makes blocks of the group.
func (w *Writer) seal() {
	for c := range columns {
		if w.form.width(c) == 0 {
			continue
		}
		to := &w.stripe[c]
		start := len(to.bytes)
		to.bytes = append(append(to.bytes, w.group[c]...), w.tails[c]...)
		block := to.bytes[start:]
		to.index = binary.LittleEndian.AppendUint32(to.index, uint32(len(block)))
		to.index = binary.LittleEndian.AppendUint64(to.index, xxh3.Hash(block))
		w.group[c], w.tails[c] = w.group[c][:0], w.tails[c][:0]
	}
}

// flush writes the stripe.
func (w *Writer) flush() error {
	for c := range w.stripe {
		of := &w.stripe[c]
		if err := w.append(of.bytes); err != nil {
			return err
		}
		w.index = append(w.index, of.index...)
		of.bytes, of.index = of.bytes[:0], of.index[:0]
	}
	return nil
}

func (w *Writer) append(b []byte) error {
	if _, err := w.file.Write(b); err != nil {
		return fmt.Errorf("views: %w", err)
	}
	return nil
}

// Commit completes the file. On error nothing of it is left.
func (w *Writer) Commit() error {
	if w.rows%groupRows > 0 {
		w.seal()
	}
	if err := w.flush(); err != nil {
		return errors.Join(err, w.Abort())
	}
	footer := append(binary.LittleEndian.AppendUint64(nil, uint64(w.rows)), w.form.bits())
	footer = append(footer, w.index...)
	length := len(footer)
	footer = binary.LittleEndian.AppendUint64(footer, xxh3.Hash(footer))
	footer = binary.LittleEndian.AppendUint64(footer, uint64(length))
	if err := w.append(append(footer, magic...)); err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.file.Commit(); err != nil {
		return fmt.Errorf("views: %w", err)
	}
	return nil
}

// Abort removes what was written; after Commit it does nothing.
func (w *Writer) Abort() error {
	if err := w.file.Abort(); err != nil {
		return fmt.Errorf("views: %w", err)
	}
	return nil
}

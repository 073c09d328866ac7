// Package signatures stores the signatures of a run's documents, which decide on pairs
// near the limit. It is state that one stage hands to the next. The package never
// compares them: see [mapper.Signed].
package signatures

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// Folder has, within the run directory's state, a file for each split of a run in which
// signatures decide.
const Folder = "signatures"

// A file has a record for each document with a signature, in order of row; numbers are
// little-endian:
//
//	row                            8 bytes
//	length of the text, characters 4
//	signature                      sketch.SignatureSize
const (
	kind = "neardup signatures 1"

	headBytes   = 12
	recordBytes = headBytes + sketch.SignatureSize
	blockBytes  = 256 * recordBytes // of a block of the file, unless it is the last
)

// Writer writes the signatures of a split. The file appears with Commit, and Abort
// removes what was not committed. Of a nil Writer only Add may be called, which then
// does nothing. Not safe for concurrent use.
type Writer struct {
	*state.File
	row     uint64
	pending []byte // records of the next block
}

// Create starts the file at path.
func Create(path string) (*Writer, error) {
	out, err := state.Create(path, kind)
	return &Writer{File: out}, err
}

// Add appends the next row of the split, with its signature if it has one.
func (w *Writer) Add(row *data.FingerprintRow) error {
	if w == nil {
		return nil
	}
	if len(row.Signature) > 0 {
		w.pending = binary.LittleEndian.AppendUint64(w.pending, w.row)
		w.pending = binary.LittleEndian.AppendUint32(w.pending, uint32(max(row.Length, 0)))
		w.pending = append(w.pending, row.Signature...)
	}
	w.row++
	if len(w.pending) < blockBytes {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	_, err := w.Write(w.pending)
	w.pending = w.pending[:0]
	return err
}

// Commit completes the file.
func (w *Writer) Commit() error {
	_ = w.flush() // Commit returns its error
	return w.File.Commit()
}

// Read returns the signatures of documents docs, which ascend, by their place in docs. A
// document that has none gets the zero value. path names the file of a split, and
// documents numbers the rows of all splits. It reads files on workers goroutines.
func Read(ctx context.Context, path func(split int) string, documents *views.Folder, workers int, docs []uint64) ([]mapper.Signed, error) {
	signed := make([]mapper.Signed, len(docs))
	kept := make([]sketch.Signature, len(docs))
	err := parallel.Each(ctx, documents.Parts(), workers, func(ctx context.Context, split int) error {
		first := documents.First(split)
		from, _ := slices.BinarySearch(docs, first)
		to, _ := slices.BinarySearch(docs, documents.First(split+1))
		if from == to {
			return nil
		}
		path := path(split)
		return state.Each(ctx, path, kind, func(records []byte) error {
			if len(records)%recordBytes > 0 {
				return fmt.Errorf("%s: %w", path, state.ErrDamaged)
			}
			for r := range slices.Chunk(records, recordBytes) {
				doc := first + binary.LittleEndian.Uint64(r)
				for from < to && docs[from] < doc {
					from++
				}
				if from == to {
					return nil
				}
				if docs[from] == doc {
					kept[from] = sketch.Signature(r[headBytes:])
					signed[from] = mapper.Signed{Length: int(binary.LittleEndian.Uint32(r[8:])), Signature: &kept[from]}
				}
			}
			return nil
		})
	})
	return signed, err
}

package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// signaturesFolder has, in the state of the run directory, the signatures of each
// split's documents. A file has a record for each document with a signature, in order
// of row; numbers are little-endian:
//
//	row                            8 bytes
//	length of the text, characters 4
//	signature                      sketch.SignatureSize
const (
	signaturesFolder = "signatures"
	kindSignatures   = "neardup signatures 1"

	signedHead  = 12
	signedBytes = signedHead + sketch.SignatureSize // of a record
	signedBlock = 256 * signedBytes                 // of a block of the file, unless it is the last
)

// signatureWriter writes the signatures of a split. A nil one writes none.
type signatureWriter struct {
	*state.File
	name    string // within the run directory
	row     uint64
	pending []byte // records of the next block
}

// createSignatures starts the file of a split, if signatures decide in the run.
func createSignatures(job *Job, task int) (*signatureWriter, error) {
	if !job.Config.Match.Signs() {
		return nil, nil
	}
	name := rundir.StatePart(signaturesFolder, task)
	out, err := state.Create(job.Dir.Path(name), kindSignatures)
	return &signatureWriter{File: out, name: name}, err
}

// add appends the next row of the split.
func (w *signatureWriter) add(row *data.FingerprintRow) error {
	if w == nil {
		return nil
	}
	if len(row.Signature) > 0 {
		w.pending = binary.LittleEndian.AppendUint64(w.pending, w.row)
		w.pending = binary.LittleEndian.AppendUint32(w.pending, uint32(max(row.Length, 0)))
		w.pending = append(w.pending, row.Signature...)
	}
	w.row++
	if len(w.pending) < signedBlock {
		return nil
	}
	return w.flush()
}

func (w *signatureWriter) flush() error {
	_, err := w.Write(w.pending)
	w.pending = w.pending[:0]
	return err
}

// Commit completes the file.
func (w *signatureWriter) Commit() error {
	_ = w.flush() // Commit returns its error
	return w.File.Commit()
}

// Signatures returns the signatures of documents docs, which ascend, by their place in
// docs. A document that has none gets the zero value.
func Signatures(ctx context.Context, job *Job, documents *Documents, workers int, docs []uint64) ([]mapper.Signed, error) {
	signed := make([]mapper.Signed, len(docs))
	kept := make([]sketch.Signature, len(docs))
	err := parallel.Each(ctx, documents.Parts(), workers, func(ctx context.Context, task int) error {
		first := documents.First(task)
		from, _ := slices.BinarySearch(docs, first)
		to, _ := slices.BinarySearch(docs, documents.First(task+1))
		if from == to {
			return nil
		}
		path := job.Dir.Path(rundir.StatePart(signaturesFolder, task))
		return state.Each(ctx, path, kindSignatures, func(records []byte) error {
			if len(records)%signedBytes > 0 {
				return fmt.Errorf("%s: %w", path, state.ErrDamaged)
			}
			for r := range slices.Chunk(records, signedBytes) {
				doc := first + binary.LittleEndian.Uint64(r)
				for from < to && docs[from] < doc {
					from++
				}
				if from == to {
					return nil
				}
				if docs[from] == doc {
					kept[from] = sketch.Signature(r[signedHead:])
					signed[from] = mapper.Signed{Length: int(binary.LittleEndian.Uint32(r[8:])), Signature: &kept[from]}
				}
			}
			return nil
		})
	})
	return signed, err
}

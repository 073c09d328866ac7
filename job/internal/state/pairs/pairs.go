// Package pairs stores the pairs that a run's join finds. There may be many more
// pairs than documents, so readers get them one by one and never hold all.
//
// It is state that one stage hands to the next;
// job/docs/internals/run-directory.md describes the file. The package never
// interprets what was found of a pair.
package pairs

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state"
)

// With all_pairs, Folder within the run directory's state holds the pairs by the
// split of their first document. A file has records of pairs, in ascending order of
// their documents.
const (
	Folder   = "pairs"
	FileKind = "neardup all pairs 2"
)

// Pair is a pair of documents with all that was found of it.
type Pair struct {
	data.Pair
	data.Overlap
}

// The kind of the files, and the most records of a block.
const (
	kind       = "neardup pairs 3"
	blockPairs = 4096
)

// Compare orders pairs by their first documents, then by their second.
func Compare(p, q Pair) int {
	return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B))
}

// RecordBytes is the width of a pair's record: the numbers of both documents,
// and what was found of them.
const RecordBytes = 2*state.NumberBytes + state.FindingBytes

// Append appends the record of a pair to dst. Records sort as Compare orders pairs.
func Append(dst []byte, p *Pair) []byte {
	dst = state.AppendNumber(state.AppendNumber(dst, p.A), p.B)
	return state.AppendFinding(dst, p.Distance, p.Evidence, p.Overlap)
}

// Unpack decodes the record at the start of b.
func Unpack(b []byte) (p Pair) {
	p.A, p.B = state.Number(b), state.Number(b[state.NumberBytes:])
	p.Distance, p.Evidence, p.Overlap = state.Finding(b[2*state.NumberBytes:])
	return p
}

// Writer writes a file of pairs.
type Writer struct{ *state.File }

// Create starts the file at path.
func Create(path string) (Writer, error) {
	f, err := state.Create(path, kind)
	return Writer{f}, err
}

// Add appends pairs. It does not retain the slice. Safe for concurrent use.
func (w Writer) Add(pairs []Pair) error {
	for batch := range slices.Chunk(pairs, blockPairs) {
		b := make([]byte, 0, len(batch)*RecordBytes)
		for i := range batch {
			b = Append(b, &batch[i])
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// Each calls yield with the pairs of the file at path, in the order in which
// they were added, until yield returns an error or ctx ends.
func Each(ctx context.Context, path string, yield func(Pair) error) error {
	return state.Each(ctx, path, kind, func(b []byte) error { return unpack(b, yield) })
}

// Concurrently is like Each, but calls yield on workers goroutines at once, in no
// particular order.
func Concurrently(ctx context.Context, path string, workers int, yield func(Pair) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	err := state.Each(ctx, path, kind, func(b []byte) error {
		group.Go(func() error { return unpack(b, yield) })
		return nil
	})
	if failed := group.Wait(); failed != nil {
		return failed // err is that ctx ended
	}
	return err
}

// unpack calls yield with the pairs of a block's records.
func unpack(b []byte, yield func(Pair) error) error {
	for ; len(b) > 0; b = b[RecordBytes:] {
		if err := yield(Unpack(b)); err != nil {
			return err
		}
	}
	return nil
}

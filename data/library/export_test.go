package library

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/neardup/neardup/data"
)

// What the tests look at.
var (
	ErrChanged = errChanged
	ErrDamaged = errDamaged
)

// AsBefore makes the library one as it was before nights had folders, after a
// compaction: all nights' documents in one file, merges and samples beside each
// other.
func (l *Library) AsBefore(ctx context.Context) error {
	next := l.manifest.copy()
	next.Sequence++
	name := fmt.Sprintf("%s/c-%08d-00000.parquet", documents, next.Sequence)
	w := &writer{library: l, deleted: l.manifest.Sequence, limit: math.MaxInt64, as: name}
	at := int64(0)
	for i := range next.Nights {
		n := &next.Nights[i]
		start := at
		err := l.Rows(ctx, StreamOptions{Nights: []string{n.Name}}, func(row *data.LibraryRow) error {
			at++
			return w.write(row)
		})
		if err != nil {
			return err
		}
		n.Rows, n.Deleted, n.Extents = at-start, 0, nil
		if n.Rows > 0 {
			n.Extents = []extent{{name, start, n.Rows}}
		}
		for kind, file := range map[string]*string{merges: &n.Merges, samples: &n.Samples} {
			f, ok := l.manifest.File(*file)
			if !ok {
				continue
			}
			f.Name = fmt.Sprintf("%s/%s-%08d.parquet", kind, n.Name, next.Sequence)
			text, err := os.ReadFile(l.Path(*file))
			if err != nil {
				return err
			}
			if err := data.WriteFileAtomicIn(l.fs, l.Path(f.Name), text); err != nil {
				return err
			}
			*file, next.Files = f.Name, append(next.Files, f)
		}
	}
	if err := w.close(); err != nil {
		return err
	}
	next.Files = append(next.Files, w.files...)
	return l.commit(next)
}

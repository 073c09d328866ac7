package parquet

import (
	"errors"

	"github.com/neardup/neardup/data"
)

// What the tests look at.
var ErrNotTable = errNotTable

// CopyFile is CopyRows to a file that appears whole, or not at all.
func CopyFile(path string, split data.Split, o Options, changes Changes, keep func(file int, row int64) bool) (kept int64, err error) {
	out, err := data.CreateAtomicIn(o.filled().FS, path)
	if err != nil {
		return 0, err
	}
	if kept, err = CopyRows(out, split, data.ReaderOptions{}, o, changes, keep); err != nil {
		return 0, errors.Join(err, out.Abort())
	}
	return kept, out.Commit()
}

package parquet

import (
	"context"
	"errors"

	"github.com/neardup/neardup/data"
)

// ReadDrift calls yield for every row of a file of the drift table. The row's
// bytes are valid during the call.
func ReadDrift(ctx context.Context, path string, yield func(*data.DriftRow) error) error {
	var row data.DriftRow
	var night, site, language *byteArrays
	var documents, fresh, repeated, returning *int64Values
	return readWhole(ctx, path, data.DriftColumns, func(found map[string]column) error {
		return errors.Join(assign(&night, found, "night"), assign(&site, found, "site"), assign(&language, found, "language"),
			assign(&documents, found, "documents"), assign(&fresh, found, "new"), assign(&repeated, found, "repeated"), assign(&returning, found, "returning"))
	}, func() error {
		row = data.DriftRow{
			Night: sameBytes(row.Night, night.value), Site: site.value, Language: sameBytes(row.Language, language.value),
			Documents: documents.value, New: fresh.value, Repeated: repeated.value, Returning: returning.value,
		}
		return yield(&row)
	})
}

// ReadGrowth calls yield for every row of a file of the growth table. The
// row's bytes are valid during the call.
func ReadGrowth(ctx context.Context, path string, yield func(*data.GrowthRow) error) error {
	var row data.GrowthRow
	var night, example *byteArrays
	var print column
	var documents, before, earlier *int64Values
	return readWhole(ctx, path, data.GrowthColumns, func(found map[string]column) error {
		print = found["fingerprint"]
		return errors.Join(assign(&night, found, "night"), assign(&example, found, "example"),
			assign(&documents, found, "documents"), assign(&before, found, "before"), assign(&earlier, found, "earlier"))
	}, func() (err error) {
		row = data.GrowthRow{
			Night: sameBytes(row.Night, night.value), Documents: documents.value, Before: before.value, Earlier: earlier.value, Example: example.value,
		}
		if row.Hi, row.Lo, err = fingerprintOf(print, false); err != nil {
			return err
		}
		return yield(&row)
	})
}

// readWhole calls yield for every row of a table that has these columns, none
// of which may be null; open takes the columns.
func readWhole(ctx context.Context, path string, columns []data.Column, open func(found map[string]column) error, yield func() error) error {
	r, err := openTable(path, ReadOptions{}, columns, open)
	if err != nil {
		return err
	}
	return errors.Join(each(ctx, r.next, yield), r.Close())
}

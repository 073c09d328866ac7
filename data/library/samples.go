package library

import (
	"context"
	"fmt"
	"slices"

	"github.com/neardup/neardup/data"
)

// KeepSamples makes the pages that rows yields, as far as there is room, the
// samples of the night that is added next. Pages that were deleted for good are
// left out.
func (l *Library) KeepSamples(night string, rows func(yield func(*data.SampleRow) error) error) error {
	f, err := l.writeSamples(night, l.manifest.Sequence+1, func(yield func(*data.SampleRow) error) error {
		room := l.sampleBytes / 2 // so that a night leaves some for those before it
		return rows(func(row *data.SampleRow) error {
			if room -= int64(len(row.DocID) + len(row.Page)); room < 0 || l.hidden.forever(row.DocID) {
				return nil
			}
			return yield(row)
		})
	})
	if err == nil {
		l.sampled = &f
	}
	return err
}

func (l *Library) writeSamples(night string, sequence int64, rows func(yield func(*data.SampleRow) error) error) (f File, err error) {
	f, err = writeFile(l, fmt.Sprintf("%s%08d.parquet", folderOf(samples, night), sequence), &data.Samples, rows)
	f.Deleted = l.manifest.Sequence
	return f, err
}

// Samples calls yield with the sampled pages of the nights of smaller names
// than before, the newest night first. The row is valid during the call.
func (l *Library) Samples(ctx context.Context, before string, yield func(*data.SampleRow) error) error {
	for _, n := range slices.Backward(l.manifest.Nights) {
		if n.Samples == "" || n.Name >= before {
			continue
		}
		if err := l.readSamples(ctx, n.Samples, yield); err != nil {
			return err
		}
	}
	return nil
}

// readSamples calls yield with the pages of a file that are not deleted.
func (l *Library) readSamples(ctx context.Context, name string, yield func(*data.SampleRow) error) error {
	f, _ := l.manifest.File(name)
	rows := int64(0)
	err := readTable(ctx, l, name, &data.Samples, func(row *data.SampleRow) error {
		if rows++; l.hidden.after(row.DocID, f.Deleted) {
			return nil
		}
		return yield(row)
	})
	if err == nil && rows != f.Rows {
		err = fmt.Errorf("%s has %d rows, the manifest says %d", l.Path(name), rows, f.Rows)
	}
	if err != nil && ctx.Err() == nil {
		return l.damaged(err)
	}
	return err
}

// boundSamples drops the samples of the oldest nights, so that those that stay
// have no more bytes than that.
func (m *Manifest) boundSamples(bytes int64) {
	m.prune() // which sorts the files
	for i, n := range slices.Backward(m.Nights) {
		if n.Samples == "" {
			continue
		}
		if f, _ := m.File(n.Samples); bytes >= 0 {
			bytes -= f.Bytes
		}
		if bytes < 0 {
			m.Nights[i].Samples = ""
		}
	}
}

// compactSamples rewrites the files of samples that hold pages that were deleted.
func (l *Library) compactSamples(ctx context.Context) error {
	next := l.manifest.after()
	changed := false
	for i := range next.Nights {
		n := &next.Nights[i]
		was, ok := l.manifest.File(n.Samples)
		if !ok || l.hidden.latest <= was.Deleted {
			continue
		}
		f, err := l.writeSamples(n.Name, next.Sequence, func(yield func(*data.SampleRow) error) error {
			if err := l.sound(ctx, was); err != nil {
				return err
			}
			return l.readSamples(ctx, was.Name, yield)
		})
		if err != nil {
			return err
		}
		changed = true
		if n.Samples = f.Name; f.Rows > 0 {
			next.Files = append(next.Files, f)
		}
	}
	if !changed {
		return nil
	}
	return l.commit(next)
}

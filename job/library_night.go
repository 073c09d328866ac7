package job

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/extsort"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/simhash/template"
)

// night sorts all rows of the fingerprints table by id, and writes those
// that the library is to have: the first of each id, in all lanes.
func (r *run) night(ctx context.Context) (rec rundir.TaskRecord, err error) {
	began := time.Now()
	rec = rundir.TaskRecord{Stage: stageNight, Skipped: map[string]int64{}}
	sorter := extsort.New(r.dir.Path(rundir.Scratch), sortMemory, r.workers)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	var packed []byte
	for i := range r.job.Splits {
		path := r.dir.Path(rundir.Fingerprints, rundir.PartName(i, ".parquet"))
		err := parquet.ReadFingerprints(ctx, path, parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
			packed = packNight(packed[:0], uint64(rec.RowsIn), row)
			rec.RowsIn++
			return sorter.Add(row.DocID, packed)
		})
		if err != nil {
			return rec, err
		}
	}
	out, err := parquet.CreateLibrary(r.dir.Path(rundir.State, engine.NightFile), r.job.TableOptions())
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	row := data.LibraryRow{Night: r.config.Library.Night, FirstSeen: r.config.Library.Night}
	err = sorter.Sorted(ctx, func(id, packed []byte) error {
		if rec.RowsOut > 0 && bytes.Equal(id, row.DocID) {
			rec.Skipped[data.ReasonDuplicateID]++
			return nil
		}
		if r.deleted(id) {
			rec.Skipped[data.ReasonDeleted]++
			return nil
		}
		row.DocID = append(row.DocID[:0], id...)
		unpackNight(packed, &row)
		row.Site = append(row.Site[:0], template.Site(id)...)
		rec.RowsOut++
		return out.Write(&row)
	})
	if err != nil {
		return rec, fmt.Errorf("%s: %w", stageNight, err)
	}
	if err := out.Commit(); err != nil {
		return rec, err
	}
	rec.Outputs = []string{filepath.Join(rundir.State, engine.NightFile)}
	rec.Seconds = time.Since(began).Seconds()
	return rec, r.dir.PutRecord(rec)
}

// packNight packs what travels with an id through the sort; the row comes
// first and big-endian, so that rows of one id keep the input's order.
func packNight(dst []byte, number uint64, row *data.FingerprintRow) []byte {
	dst = binary.BigEndian.AppendUint64(dst, number)
	dst = binary.BigEndian.AppendUint64(dst, row.Hi)
	dst = binary.BigEndian.AppendUint64(dst, row.Lo)
	dst = binary.BigEndian.AppendUint64(dst, uint64(row.Date))
	dst = binary.BigEndian.AppendUint32(dst, uint32(row.Length))
	for _, part := range [][]byte{[]byte(row.Lane), []byte(row.Language), row.Sketch, row.Letters} {
		dst = append(binary.AppendUvarint(dst, uint64(len(part))), part...)
	}
	return dst
}

func unpackNight(b []byte, row *data.LibraryRow) {
	row.Hi, row.Lo = binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	row.Date = int64(binary.BigEndian.Uint64(b[24:]))
	row.Length = int32(binary.BigEndian.Uint32(b[32:]))
	b = b[36:]
	part := func() []byte {
		n, size := binary.Uvarint(b)
		p := b[size : size+int(n)]
		b = b[size+int(n):]
		return p
	}
	if lane := part(); string(lane) != row.Lane {
		row.Lane = string(lane)
	}
	if language := part(); string(language) != row.Language {
		row.Language = string(language)
	}
	row.Sketch, row.Letters = part(), part()
}

// eachOfNight calls yield with the night's documents in order of id.
func (r *run) eachOfNight(ctx context.Context, yield func(*data.LibraryRow) error) error {
	return engine.EachOfNight(ctx, r.dir, nil, yield)
}

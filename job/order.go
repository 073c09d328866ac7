package job

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/extsort"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// sortMemory bounds what the order stage holds; beyond it, it spills.
const sortMemory = 64 << 20

// Names within the state folder.
const (
	documentsFolder = "documents"  // numbered documents
	duplicatesFile  = "duplicates" // rows whose id appeared earlier, uint64 little-endian
	droppedFile     = "dropped"    // bitmap of the rows that the clean dump leaves out
)

// order sorts all rows of the fingerprints table by id and numbers the
// documents that are matched: those of the normal lane, and with verification
// all that have a sketch, the first of each id in the order of the input.
// Fingerprint rows go in; out come numbered documents, the rest is counted by
// lane or as duplicate id.
func (r *run) order(ctx context.Context, rows rowSource) (rec rundir.TaskRecord, err error) {
	began := time.Now()
	rec = rundir.TaskRecord{Stage: stageOrder, Skipped: map[string]int64{}}

	sorter := extsort.New(r.dir.Path(rundir.Scratch), sortMemory, r.workers)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	value := keepValue(r.config.Clusters.Keep)
	verified := r.config.Match.Verified()
	var packed []byte
	err = rows(ctx, func(row *data.FingerprintRow) error {
		s := sortedRow{row: uint64(rec.RowsIn), hi: row.Hi, lo: row.Lo, value: value(row), lane: row.Lane}
		if verified {
			s.length, s.sketch, s.letters = row.Length, row.Sketch, row.Letters
		}
		packed = s.append(packed[:0])
		rec.RowsIn++
		return sorter.Add(row.DocID, packed)
	})
	if err != nil {
		return rec, err
	}

	form := numbered.Form{Wide: r.config.Features.Bits == 128, Views: verified}
	out, err := numbered.Create(r.dir.Path(rundir.State, documentsFolder), form)
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	duplicates, err := data.CreateAtomic(r.dir.Path(rundir.State, duplicatesFile))
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, duplicates.Abort()) }()

	var last []byte
	first := true
	err = sorter.Sorted(ctx, func(id, packed []byte) error {
		row := unpackRow(packed)
		if !first && string(id) == string(last) {
			if r.config.Input.DuplicateIDs == "fail" {
				return fmt.Errorf("id %q appears more than once (row %d of the dump): mend the dump, or let later ones be skipped with --set input.duplicate_ids=skip", id, row.row)
			}
			rec.Skipped[data.ReasonDuplicateID]++
			_, err := duplicates.Write(binary.LittleEndian.AppendUint64(nil, row.row))
			return err
		}
		first, last = false, append(last[:0], id...)
		if r.deleted(id) {
			rec.Skipped[data.ReasonDeleted]++
			_, err := duplicates.Write(binary.LittleEndian.AppendUint64(nil, row.row))
			return err
		}
		if row.lane != simhash.LaneNormal.String() && len(row.sketch) == 0 {
			rec.Skipped[row.lane]++
			return nil
		}
		rec.RowsOut++
		d := numbered.Document{ID: id, Hi: row.hi, Lo: row.lo, Row: row.row, Value: row.value}
		mapper.View(&data.FingerprintRow{Lane: row.lane, Length: row.length, Sketch: row.sketch, Letters: row.letters}, &d.View)
		return out.Add(d)
	})
	if err != nil {
		return rec, fmt.Errorf("%s: %w", stageOrder, err)
	}
	if err := duplicates.Commit(); err != nil {
		return rec, err
	}
	if err := out.Commit(); err != nil {
		return rec, err
	}
	for _, name := range form.Files() {
		rec.Outputs = append(rec.Outputs, filepath.Join(rundir.State, documentsFolder, name))
	}
	rec.Outputs = append(rec.Outputs, filepath.Join(rundir.State, duplicatesFile))
	rec.Seconds = time.Since(began).Seconds()
	return rec, r.dir.PutRecord(rec)
}

// keepValue is what the keep rule compares, NaN where a row has none.
func keepValue(rule string) func(*data.FingerprintRow) float64 {
	switch rule {
	case config.KeepLongest:
		return func(r *data.FingerprintRow) float64 { return float64(r.Length) }
	case config.KeepEarliest:
		return func(r *data.FingerprintRow) float64 {
			if r.Date == data.NoDate {
				return math.NaN()
			}
			return float64(r.Date)
		}
	case config.KeepRank:
		return func(r *data.FingerprintRow) float64 { return r.Rank }
	}
	return func(*data.FingerprintRow) float64 { return math.NaN() }
}

// keepColumns are the columns that keepValue looks at.
func keepColumns(rule string) []string {
	switch rule {
	case config.KeepLongest:
		return []string{"length"}
	case config.KeepEarliest:
		return []string{"date"}
	case config.KeepRank:
		return []string{"rank"}
	}
	return nil
}

// sortedRow is what travels with an id through the sort. Packed, the row
// comes first and big-endian, so that rows of one id keep the input's order.
type sortedRow struct {
	row, hi, lo uint64
	value       float64
	length      int32
	lane        string
	sketch      []byte // empty, or of data.SketchSize
	letters     []byte
}

func (s sortedRow) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, s.row)
	dst = binary.BigEndian.AppendUint64(dst, s.hi)
	dst = binary.BigEndian.AppendUint64(dst, s.lo)
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(s.value))
	dst = binary.BigEndian.AppendUint32(dst, uint32(s.length))
	for _, part := range [][]byte{[]byte(s.lane), s.sketch} {
		dst = append(append(dst, byte(len(part))), part...)
	}
	return append(dst, s.letters...)
}

func unpackRow(b []byte) sortedRow {
	s := sortedRow{
		row:    binary.BigEndian.Uint64(b),
		hi:     binary.BigEndian.Uint64(b[8:]),
		lo:     binary.BigEndian.Uint64(b[16:]),
		value:  math.Float64frombits(binary.BigEndian.Uint64(b[24:])),
		length: int32(binary.BigEndian.Uint32(b[32:])),
	}
	b = b[36:]
	part := func() (p []byte) {
		p, b = b[1:1+b[0]], b[1+b[0]:]
		return p
	}
	s.lane = string(part())
	s.sketch, s.letters = part(), b
	return s
}

// readDuplicates returns the rows whose id appeared earlier.
func readDuplicates(path string) ([]uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows := make([]uint64, len(b)/8)
	for i := range rows {
		rows[i] = binary.LittleEndian.Uint64(b[i*8:])
	}
	return rows, nil
}

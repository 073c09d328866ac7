package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/simhash"
)

// readFingerprints reads a split of fingerprint files and writes its views. Rows of another
// program have no length class and count as normal.
func readFingerprints(ctx context.Context, job *Job, rec *rundir.TaskRecord, _ int) (err error) {
	split := job.Splits[rec.Task]
	if split.Format == source.FormatParquet {
		info, err := parquet.ReadInfo(split.Path)
		if err != nil {
			return err
		}
		if info.Bits != 0 && info.Bits != job.Config.Features.Bits {
			return fmt.Errorf("%s holds fingerprints of %d bits, not %d: give --set features.bits=%d", split.Path, info.Bits, job.Config.Features.Bits, info.Bits)
		}
	}
	seen, err := createViews(job, rec.Task)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seen.out.Abort()) }()
	columns := []string{"doc_id", "fingerprint", "length_class"}
	switch job.Config.Clusters.Keep {
	case config.KeepLongest:
		columns = append(columns, "length")
	case config.KeepEarliest:
		columns = append(columns, "date")
	case config.KeepRank:
		columns = append(columns, "rank")
	}
	class, n := simhash.LengthNormal, int64(0) // of the last rows, and how many
	sketched := job.Config.Match.Sketched()
	if sketched {
		columns = append(columns, "sketch", "letters")
	}
	if job.Config.Match.Verified() {
		columns = append(columns, "length")
	}
	err = source.ReadFingerprints(ctx, split, job.Columns, columns, func(row *data.FingerprintRow) error {
		if row.LengthClass == "" {
			row.LengthClass = simhash.LengthNormal
		}
		if sketched && len(row.Sketch) == 0 && row.LengthClass == simhash.LengthNormal {
			return fmt.Errorf("%s has no sketches to verify by: match with --preset %s, or fingerprint the dump again with --preset %s", split.Path, config.PresetClassic, config.PresetBalanced)
		}
		if row.LengthClass != class {
			if n > 0 {
				rec.Counts[class] += n
			}
			class, n = row.LengthClass, 0
		}
		n++
		rec.RowsIn++
		if rec.RowsIn&0xffff == 0 {
			job.Tell(0x10000)
		}
		return seen.write(row)
	})
	if err != nil {
		return err
	}
	if n > 0 {
		rec.Counts[class] += n
	}
	job.Tell(rec.RowsIn & 0xffff)
	rec.RowsOut = rec.RowsIn
	rec.Outputs = []string{seen.name}
	if seen.frames != nil {
		rec.Outputs = append(rec.Outputs, seen.frames.name)
	}
	return errors.Join(seen.frames.Commit(), seen.out.Commit())
}

// openRows opens columns of the rows of split task: of its part of the
// fingerprints table, or of the fingerprint file that is read.
func (j *Job) openRows(task int, columns []string) (source.FingerprintReader, error) {
	if j.Manifest.Command == rundir.CommandRun {
		return parquet.OpenFingerprints(j.Dir.Path(rundir.Fingerprints, rundir.PartName(task, ".parquet")), parquet.ReadOptions{Columns: columns})
	}
	return source.OpenFingerprints(j.Splits[task], j.Columns, columns)
}

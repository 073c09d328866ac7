package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/simhash"
)

// Read is the stage read as an engine knows it.
var Read = engine.Stage{Name: stage.Read, Task: readFingerprints, Reads: (*engine.Job).ReadsFirst, Counts: engine.Rows.Always}

// readFingerprints is the task of the stage read. It reads a split of fingerprint files
// and writes its views. Rows of another program have no length class and count as
// normal.
func readFingerprints(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, _ int) (err error) {
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
	defer func() { err = errors.Join(err, seen.Abort()) }()
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
	rec.Outputs = seen.names
	return seen.Commit()
}

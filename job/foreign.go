package job

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/simhash"
)

// expandFingerprints lists the fingerprint files of a match. A run directory
// stands for its fingerprints table, once it is complete.
func expandFingerprints(inputs []string) ([]data.Split, error) {
	for _, in := range inputs {
		if _, err := os.Stat(filepath.Join(in, rundir.ManifestFile)); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(in, rundir.SuccessFile)); err != nil {
			return nil, fmt.Errorf("%s is a run that is not finished: finish it first, or name its %s folder", in, rundir.Fingerprints)
		}
	}
	return source.ExpandFingerprints(inputs)
}

// foreignRows yields the rows of the fingerprint files that were named. Rows
// of another program have no lane and count as normal.
func (r *run) foreignRows(ctx context.Context, yield func(*data.FingerprintRow) error) error {
	verified, path := r.config.Match.Verified(), ""
	normal := func(row *data.FingerprintRow) error {
		if row.Lane == "" {
			row.Lane = simhash.LaneNormal.String()
		}
		if verified && len(row.Sketch) == 0 && row.Lane == simhash.LaneNormal.String() {
			return fmt.Errorf("%s has no sketches to verify by: match with --preset %s, or fingerprint the dump again with --preset %s", path, config.PresetClassic, config.PresetBalanced)
		}
		return yield(row)
	}
	for _, split := range r.job.Splits {
		path = split.Path
		if split.Format == source.FormatParquet {
			info, err := parquet.ReadInfo(split.Path)
			if err != nil {
				return err
			}
			if info.Bits != 0 && info.Bits != r.config.Features.Bits {
				return fmt.Errorf("%s holds fingerprints of %d bits, not %d: give --set features.bits=%d", split.Path, info.Bits, r.config.Features.Bits, info.Bits)
			}
		}
		if err := source.ReadFingerprints(ctx, split, r.Columns, normal); err != nil {
			return err
		}
	}
	return nil
}

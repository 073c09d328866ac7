package runs

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Publish uploads what a finished run is for, its tables, clean dump,
// quarantine, manifest and summary, to s3://BUCKET/PREFIX, and last _SUCCESS:
// who waits for it never sees half a run.
func Publish(ctx context.Context, run, prefix string) error {
	files := []string{rundir.ManifestFile, rundir.SummaryFile}
	for _, table := range rundir.Outputs {
		parts, err := rundir.Parts(run, table)
		if err != nil {
			return err
		}
		for _, part := range parts {
			name, err := filepath.Rel(run, part)
			if err != nil {
				return err
			}
			files = append(files, name)
		}
	}
	if err := object.Publish(ctx, run, files, rundir.Outputs, rundir.SuccessFile, prefix); err != nil {
		return fmt.Errorf("publish: %w: the run itself is finished: the same command publishes it again", err)
	}
	return nil
}

package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Publish uploads what a finished run is for, its tables, clean dump,
// quarantine, manifest and summary, to s3://BUCKET/PREFIX, and last _SUCCESS:
// who waits for it never sees half a run.
func Publish(ctx context.Context, run, prefix string) error {
	files := []string{rundir.ManifestFile, rundir.SummaryFile}
	var folders []string // that are the run's own
	if _, err := object.Stat(strings.TrimSuffix(prefix, "/") + "/" + rundir.ManifestFile); err == nil {
		folders = append(folders, rundir.Quarantine) // of a run before, which this one may not have
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("publish: %w", err)
	}
	for _, table := range rundir.Outputs {
		parts, err := rundir.Parts(run, table)
		if err != nil {
			return err
		}
		if len(parts) > 0 && !slices.Contains(folders, table) {
			folders = append(folders, table)
		}
		for _, part := range parts {
			name, err := filepath.Rel(run, part)
			if err != nil {
				return err
			}
			files = append(files, name)
		}
	}
	if err := object.Publish(ctx, run, files, folders, rundir.SuccessFile, prefix); err != nil {
		return fmt.Errorf("publish: %w: the run itself is finished: the same command publishes it again", err)
	}
	return nil
}

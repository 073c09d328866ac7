package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/history"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/boilerplate"
)

// Publish is the task of the stage publish. It adds this run's night to the library,
// unless an earlier process of the run has done so.
func Publish(ctx context.Context, r *stage.Run, rec *rundir.TaskRecord) (err error) {
	if n, ok := r.Library.Manifest().Night(r.Config.Library.Night); ok && n.Run == r.Token() {
		rec.RowsIn = n.Rows
	} else {
		if err := boilerplate.Publish(r); err != nil {
			return fmt.Errorf("%s: %w", stage.Publish, err)
		}
		added, replaced, err := r.Library.Add(ctx, r.Config.Library.Night, r.Token(), func(yield func(*data.LibraryRow) error) error {
			return libraryRows(ctx, r, yield)
		}, r.Counts.EachMerge)
		if err != nil {
			return fmt.Errorf("%s: %w", stage.Publish, err)
		}
		rec.RowsIn = added.Rows
		if replaced {
			rec.Counts["replaced"] = 1
		}
	}
	rec.RowsOut = rec.RowsIn
	return nil
}

// Published counts what came into the library.
func Published(_ context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	l, counts := r.Sum.Library, r.Counts
	l.Matched, l.Continued, l.Merges, l.Left = counts.InHistory, counts.Continued, int64(len(counts.Merges)), r.Sum.Skipped[data.ReasonDeleted]
	l.Added, l.Replaced = records[0].RowsOut, records[0].Counts["replaced"] > 0
	return nil
}

// libraryRows calls yield with this run's documents as the library keeps them: with
// the first night that had the id, the component, and whether the document stayed.
func libraryRows(ctx context.Context, r *stage.Run, yield func(*data.LibraryRow) error) error {
	first := uint64(0)
	for task := range r.Job.Splits {
		rows, err := librarySplit(ctx, r, task, first, yield)
		if err != nil {
			return err
		}
		first += rows
	}
	return nil
}

// nightColumns are the columns of fingerprints that the library keeps.
var nightColumns = []string{"doc_id", "fingerprint", "length_class", "length", "sketch", "letters", "language", "date"}

func librarySplit(ctx context.Context, r *stage.Run, task int, first uint64, yield func(*data.LibraryRow) error) (rows uint64, err error) {
	known, err := history.ReadDocuments(r.Dir.Path(rundir.StatePart(history.Folder, task)))
	if err != nil {
		return 0, err
	}
	clustered, end, err := withClusters(r.Dir, task, yield)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	return corpus.EachOfNight(ctx, r.Dir, task, first, nightColumns, func(doc uint64, row *data.LibraryRow) error {
		row.Night, row.FirstSeen = r.Config.Library.Night, r.Config.Library.Night
		if d := known[doc]; d != nil && d.FirstSeen != "" {
			row.FirstSeen = d.FirstSeen
		}
		return clustered(row)
	})
}

// withClusters returns a function that adds to a row its component and whether the
// document stays, and passes the row to yield. Call it with the documents of split
// task in order, and end afterwards.
func withClusters(dir *rundir.Dir, task int, yield func(*data.LibraryRow) error) (with func(*data.LibraryRow) error, end func() error, err error) {
	in, err := parquet.OpenTable(dir.Path(rundir.Clusters, rundir.PartName(task, ".parquet")), &data.Clusters, parquet.ReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	var next data.ClusterRow
	at := in.Read(&next)
	return func(row *data.LibraryRow) error {
		row.Cluster, row.Kept = nil, true
		if at == nil && bytes.Equal(next.DocID, row.DocID) {
			row.Cluster, row.Kept = bytes.Clone(next.Component), next.Representative
			at = in.Read(&next)
		}
		if at != nil && !errors.Is(at, io.EOF) {
			return at
		}
		return yield(row)
	}, in.Close, nil
}

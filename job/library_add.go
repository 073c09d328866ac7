package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
)

// add makes the night a part of the library, unless an earlier process of this
// run did.
func (r *run) add(ctx context.Context, rec *rundir.TaskRecord) (err error) {
	if n, ok := r.library.Manifest().Night(r.config.Library.Night); ok && n.Run == r.token() {
		rec.RowsIn = n.Rows
	} else {
		if err := r.keepTemplates(); err != nil {
			return fmt.Errorf("%s: %w", stageAdd, err)
		}
		added, err := r.library.Add(ctx, r.config.Library.Night, r.token(), func(yield func(*data.LibraryRow) error) error {
			return r.libraryRows(ctx, yield)
		}, func(yield func(from, into []byte) error) error {
			for _, m := range r.counts.Merges {
				if err := yield([]byte(m.From), []byte(m.Into)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", stageAdd, err)
		}
		rec.RowsIn = added.Rows
		if added.Replaced {
			rec.Counts["replaced"] = 1
		}
	}
	rec.RowsOut = rec.RowsIn
	return nil
}

// added counts what came into the library.
func (r *run) added(_ context.Context, records []rundir.TaskRecord) error {
	l, counts := r.sum.Library, r.counts
	l.Matched, l.Continued, l.Merges, l.Left = counts.Earlier, counts.Continued, int64(len(counts.Merges)), r.sum.Skipped[data.ReasonDeleted]
	l.Added, l.Replaced = records[0].RowsOut, records[0].Counts["replaced"] > 0
	return nil
}

// libraryRows yields the night's documents as the library keeps them: with the
// night in which each was first seen, and its copies.
func (r *run) libraryRows(ctx context.Context, yield func(*data.LibraryRow) error) error {
	first := uint64(0)
	for task := range r.job.Splits {
		rows, err := r.librarySplit(ctx, task, first, yield)
		if err != nil {
			return err
		}
		first += rows
	}
	return nil
}

// nightColumns are the columns of fingerprints that the library keeps.
var nightColumns = []string{"doc_id", "fingerprint", "lane", "length", "sketch", "letters", "language", "date"}

func (r *run) librarySplit(ctx context.Context, task int, first uint64, yield func(*data.LibraryRow) error) (rows uint64, err error) {
	known, err := engine.ReadEarlier(r.dir, task)
	if err != nil {
		return 0, err
	}
	clusters, err := openClusters(r.dir.Path(rundir.Clusters, rundir.PartName(task, ".parquet")))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, clusters.in.Close()) }()
	return engine.EachOfNight(ctx, r.dir, task, first, nightColumns, func(doc uint64, row *data.LibraryRow) error {
		row.Night, row.FirstSeen = r.config.Library.Night, r.config.Library.Night
		if d := known[doc]; d != nil && d.FirstSeen != "" {
			row.FirstSeen = d.FirstSeen
		}
		if row.Cluster, err = clusters.of(row.DocID); err != nil {
			return err
		}
		return yield(row)
	})
}

// clusterReader reads a part of the clusters table, asked in its order.
type clusterReader struct {
	in   *parquet.TableReader[data.ClusterRow]
	row  data.ClusterRow
	more bool
}

func openClusters(path string) (*clusterReader, error) {
	in, err := parquet.OpenTable(path, &data.Clusters, parquet.ReadOptions{})
	if err != nil {
		return nil, err
	}
	c := &clusterReader{in: in}
	if err := c.advance(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return c, nil
}

func (c *clusterReader) advance() error {
	err := c.in.Read(&c.row)
	if c.more = err == nil; errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// of returns the id of the document's copies, nil if it has none.
func (c *clusterReader) of(id []byte) ([]byte, error) {
	if !c.more || !bytes.Equal(c.row.DocID, id) {
		return nil, nil
	}
	copies := bytes.Clone(c.row.CopiesID)
	return copies, c.advance()
}

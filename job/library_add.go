package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/rundir"
)

// addNight makes the night a part of the library, unless an earlier process of
// this run did.
func (r *run) addNight(ctx context.Context, s *Summary, counts MatchCounts) (err error) {
	began := time.Now()
	l := s.Library
	l.Matched, l.Continued, l.Merges, l.Left = counts.Earlier, counts.Continued, int64(len(counts.Merges)), s.Skipped[data.ReasonDeleted]
	if n, ok := r.library.Manifest().Night(l.Night); ok && n.Run == r.token() {
		l.Added = n.Rows
		return nil
	}
	_, finish := r.Progress(stageAdd, 1, "tasks")
	defer finish()
	added, err := r.library.Add(ctx, l.Night, r.token(), func(yield func(*data.LibraryRow) error) error {
		return r.libraryRows(ctx, yield)
	}, func(yield func(from, into []byte) error) error {
		for _, m := range counts.Merges {
			if err := yield([]byte(m.From), []byte(m.Into)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", stageAdd, err)
	}
	l.Added, l.Replaced = added.Rows, added.Replaced
	r.stages = append(r.stages, StageTime{Stage: stageAdd, Tasks: 1, Seconds: time.Since(began).Seconds()})
	return nil
}

// libraryRows yields the night's documents as the library keeps them: with the
// night in which each was first seen, and its cluster.
func (r *run) libraryRows(ctx context.Context, yield func(*data.LibraryRow) error) (err error) {
	known, err := r.openEarlier()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, known.close()) }()
	clusters, err := r.openClusters()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clusters.close()) }()
	return r.eachOfNight(ctx, func(row *data.LibraryRow) error {
		d, err := known.of(row.DocID)
		if err != nil {
			return err
		}
		row.FirstSeen = r.config.Library.Night
		if d != nil && d.FirstSeen != "" {
			row.FirstSeen = d.FirstSeen
		}
		if row.Cluster, err = clusters.of(row.DocID); err != nil {
			return err
		}
		return yield(row)
	})
}

// clusterReader reads the clusters table, asked in order of id.
type clusterReader struct {
	paths []string
	in    *parquet.TableReader[data.ClusterRow]
	row   data.ClusterRow
	more  bool
}

func (r *run) openClusters() (*clusterReader, error) {
	paths, err := r.dir.Parts(rundir.Clusters)
	if err != nil {
		return nil, err
	}
	c := &clusterReader{paths: paths, more: true}
	return c, c.advance()
}

func (c *clusterReader) advance() error {
	for {
		if c.in == nil {
			if len(c.paths) == 0 {
				c.more = false
				return nil
			}
			var err error
			if c.in, err = parquet.OpenClusters(c.paths[0], parquet.ReadOptions{}); err != nil {
				return err
			}
			c.paths = c.paths[1:]
		}
		err := c.in.Read(&c.row)
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := c.close(); err != nil {
			return err
		}
	}
}

// of returns the document's cluster, nil if it is alone. It is valid until the
// next call.
func (c *clusterReader) of(id []byte) ([]byte, error) {
	for c.more && bytes.Compare(c.row.DocID, id) < 0 {
		if err := c.advance(); err != nil {
			return nil, err
		}
	}
	if c.more && bytes.Equal(c.row.DocID, id) {
		return c.row.ClusterID, nil
	}
	return nil, nil
}

func (c *clusterReader) close() error {
	if c.in == nil {
		return nil
	}
	in := c.in
	c.in = nil
	return in.Close()
}

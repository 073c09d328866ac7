package parquet

import (
	"context"

	"github.com/neardup/neardup/data"
)

// The tables of a run and of a library, each as package data states it: a
// Create… as Create, an Open… that opens one file of it, a Read… that calls
// yield for every row of one in order, until yield returns an error or ctx
// ends. The row is valid during the call.

// CreateFingerprints starts a file of data.Fingerprints.
func CreateFingerprints(path string, o Options) (*TableWriter[data.FingerprintRow], error) {
	return Create(path, &data.Fingerprints, o)
}

// OpenFingerprints opens a file of data.Fingerprints, or a foreign one that
// has an id and a fingerprint column; other columns may be missing.
func OpenFingerprints(path string, o ReadOptions) (*TableReader[data.FingerprintRow], error) {
	return open(path, &data.Fingerprints, o, &o.Foreign)
}

// ReadFingerprints reads what OpenFingerprints opens.
func ReadFingerprints(ctx context.Context, path string, o ReadOptions, yield func(*data.FingerprintRow) error) error {
	r, err := OpenFingerprints(path, o)
	if err != nil {
		return err
	}
	return r.each(ctx, data.EmptyFingerprintRow(), yield)
}

// CreateTexts starts a file of data.Texts.
func CreateTexts(path string, o Options) (*TableWriter[data.TextRow], error) {
	return Create(path, &data.Texts, o)
}

// OpenTexts opens a file of data.Texts.
func OpenTexts(path string, o ReadOptions) (*TableReader[data.TextRow], error) {
	return open(path, &data.Texts, o, nil)
}

// CreateMatches starts a file of data.Matches.
func CreateMatches(path string, o Options) (*TableWriter[data.MatchRow], error) {
	return Create(path, &data.Matches, o)
}

// OpenMatches opens a file of data.Matches.
func OpenMatches(path string, o ReadOptions) (*TableReader[data.MatchRow], error) {
	return open(path, &data.Matches, o, nil)
}

// CreateClusters starts a file of data.Clusters.
func CreateClusters(path string, o Options) (*TableWriter[data.ClusterRow], error) {
	return Create(path, &data.Clusters, o)
}

// OpenClusters opens a file of data.Clusters.
func OpenClusters(path string, o ReadOptions) (*TableReader[data.ClusterRow], error) {
	return open(path, &data.Clusters, o, nil)
}

// CreateRemoved starts a file of data.Removed.
func CreateRemoved(path string, o Options) (*TableWriter[data.RemovedRow], error) {
	return Create(path, &data.Removed, o)
}

// OpenRemoved opens a file of data.Removed.
func OpenRemoved(path string, o ReadOptions) (*TableReader[data.RemovedRow], error) {
	return open(path, &data.Removed, o, nil)
}

// CreateLibrary starts a file of data.LibraryDocuments.
func CreateLibrary(path string, o Options) (*TableWriter[data.LibraryRow], error) {
	return Create(path, &data.LibraryDocuments, o)
}

// OpenLibrary opens a file of data.LibraryDocuments.
func OpenLibrary(path string, o ReadOptions) (*TableReader[data.LibraryRow], error) {
	return open(path, &data.LibraryDocuments, o, nil)
}

// ReadLibrary reads a file of data.LibraryDocuments.
func ReadLibrary(ctx context.Context, path string, o ReadOptions, yield func(*data.LibraryRow) error) error {
	return read(ctx, path, &data.LibraryDocuments, o, yield)
}

// CreateMerges starts a file of data.Merges.
func CreateMerges(path string, o Options) (*TableWriter[data.MergeRow], error) {
	return Create(path, &data.Merges, o)
}

// ReadMerges reads a file of data.Merges.
func ReadMerges(ctx context.Context, path string, yield func(*data.MergeRow) error) error {
	return read(ctx, path, &data.Merges, ReadOptions{}, yield)
}

// CreateDrift starts a file of data.Drift.
func CreateDrift(path string, o Options) (*TableWriter[data.DriftRow], error) {
	return Create(path, &data.Drift, o)
}

// ReadDrift reads a file of data.Drift.
func ReadDrift(ctx context.Context, path string, yield func(*data.DriftRow) error) error {
	return read(ctx, path, &data.Drift, ReadOptions{}, yield)
}

// CreateSamples starts a file of data.Samples.
func CreateSamples(path string, o Options) (*TableWriter[data.SampleRow], error) {
	return Create(path, &data.Samples, o)
}

// ReadSamples reads a file of data.Samples.
func ReadSamples(ctx context.Context, path string, yield func(*data.SampleRow) error) error {
	return read(ctx, path, &data.Samples, ReadOptions{}, yield)
}

// CreateGrowth starts a file of data.Growth.
func CreateGrowth(path string, o Options) (*TableWriter[data.GrowthRow], error) {
	return Create(path, &data.Growth, o)
}

// ReadGrowth reads a file of data.Growth.
func ReadGrowth(ctx context.Context, path string, yield func(*data.GrowthRow) error) error {
	return read(ctx, path, &data.Growth, ReadOptions{}, yield)
}

func read[R any](ctx context.Context, path string, t *data.Table[R], o ReadOptions, yield func(*R) error) error {
	r, err := open(path, t, o, nil)
	if err != nil {
		return err
	}
	var row R
	return r.each(ctx, row, yield)
}

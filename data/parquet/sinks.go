package parquet

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
)

// fieldOf builds a column of the schema.
func fieldOf(name string, rep parquet.Repetition, logical schema.LogicalType, physical parquet.Type, length int) schema.Node {
	if logical == nil {
		logical = schema.NoLogicalType{}
	}
	return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(name, rep, logical, physical, length, -1))
}

func stringField(name string) schema.Node {
	return fieldOf(name, parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, -1)
}

func plainField(name string, physical parquet.Type) schema.Node {
	return fieldOf(name, parquet.Repetitions.Required, nil, physical, -1)
}

// FingerprintWriter writes the fingerprints table.
type FingerprintWriter struct {
	*table
	docID, title           *byteValues
	print                  *prints
	lane, source, language *names
	features, length       *int32s
	sketch                 *fixed
	letters                *byteValues
	offset, date           *int64s
	rank                   *doubles
}

// CreateFingerprints starts a file of the fingerprints table; it appears at
// path with Commit.
func CreateFingerprints(path string, o Options) (*FingerprintWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	w := &FingerprintWriter{
		docID: &byteValues{stats: true}, title: &byteValues{},
		print: &prints{bits: bits},
		lane:  &names{}, source: &names{}, language: &names{},
		features: &int32s{}, length: &int32s{},
		sketch: &fixed{nullable: true}, letters: &byteValues{nullable: true},
		offset: &int64s{}, date: &int64s{nullable: true},
		rank: &doubles{nullable: true},
	}
	w.table, err = createTable(path, data.TableFingerprints, bits, o, schema.FieldList{
		stringField("doc_id"),
		printField(bits),
		stringField("lane"),
		plainField("features", parquet.Types.Int32),
		plainField("length", parquet.Types.Int32),
		fieldOf("sketch", parquet.Repetitions.Optional, nil, parquet.Types.FixedLenByteArray, data.SketchSize),
		fieldOf("letters", parquet.Repetitions.Optional, schema.StringLogicalType{}, parquet.Types.ByteArray, -1),
		stringField("title"),
		stringField("source"),
		plainField("offset", parquet.Types.Int64),
		fieldOf("date", parquet.Repetitions.Optional, schema.NewTimestampLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int64, -1),
		fieldOf("rank", parquet.Repetitions.Optional, nil, parquet.Types.Double, -1),
		stringField("language"),
	}, []batch{w.docID, w.print, w.lane, w.features, w.length, w.sketch, w.letters, w.title, w.source, w.offset, w.date, w.rank, w.language},
		parquet.WithCompressionFor("fingerprint", compress.Codecs.Uncompressed), // random bits
		parquet.WithStatsFor("fingerprint", false),
		parquet.WithCompressionFor("sketch", compress.Codecs.Uncompressed),
		parquet.WithStatsFor("sketch", false),
		parquet.WithStatsFor("letters", false),
		parquet.WithDictionaryFor("lane", true),
		parquet.WithDictionaryFor("source", true),
		parquet.WithDictionaryFor("language", true),
		parquet.WithStatsFor("title", false),
	)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// printField is the column of the fingerprints of so many bits.
func printField(bits int) schema.Node {
	if bits == 128 {
		return fieldOf("fingerprint", parquet.Repetitions.Required, nil, parquet.Types.FixedLenByteArray, 16)
	}
	return fieldOf("fingerprint", parquet.Repetitions.Required, schema.NewIntLogicalType(64, false), parquet.Types.Int64, -1)
}

// prints is a batch of fingerprints.
type prints struct {
	bits   int
	narrow int64s // those of up to 64 bits
	wide   fixed  // those of 128
}

func (c *prints) add(hi, lo uint64) {
	if c.bits < 128 {
		c.narrow.add(int64(lo))
		return
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	c.wide.add(b[:])
}

func (c *prints) flush(w file.ColumnChunkWriter) error {
	if c.bits < 128 {
		return c.narrow.flush(w)
	}
	return c.wide.flush(w)
}

// Write appends a row. It keeps nothing of it.
func (w *FingerprintWriter) Write(r *data.FingerprintRow) error {
	w.docID.add(r.DocID)
	w.print.add(r.Hi, r.Lo)
	w.lane.add(r.Lane)
	w.features.add(r.Features)
	w.length.add(r.Length)
	w.sketch.add(r.Sketch)
	w.letters.add(r.Letters)
	w.title.add(r.Title)
	w.source.add(r.Source)
	w.offset.add(r.Offset)
	w.date.addNullable(r.Date, r.Date == data.NoDate)
	w.rank.addNullable(r.Rank, math.IsNaN(r.Rank))
	w.language.add(r.Language)
	return w.added(len(r.DocID) + len(r.Title) + len(r.Sketch) + len(r.Letters) + 64)
}

// MatchWriter writes the matches table.
type MatchWriter struct {
	*table
	docID, matchID    *byteValues
	distance          *int32s
	similarity        *doubles
	from, verdict     *names
	firstSeen         *names
	estimate, jaccard *doubles
}

// CreateMatches starts a file of the matches table; it appears at path with
// Commit.
func CreateMatches(path string, o Options) (*MatchWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	w := &MatchWriter{
		docID: &byteValues{stats: true}, matchID: &byteValues{},
		distance: &int32s{}, similarity: &doubles{}, from: &names{}, verdict: &names{}, firstSeen: &names{},
		estimate: &doubles{nullable: true}, jaccard: &doubles{nullable: true},
	}
	w.table, err = createTable(path, data.TableMatches, bits, o, schema.FieldList{
		stringField("doc_id"),
		stringField("match_id"),
		plainField("distance", parquet.Types.Int32),
		plainField("similarity", parquet.Types.Double),
		stringField("match_from"),
		fieldOf("estimate", parquet.Repetitions.Optional, nil, parquet.Types.Double, -1),
		fieldOf("jaccard", parquet.Repetitions.Optional, nil, parquet.Types.Double, -1),
		stringField("verdict"),
		stringField("first_seen"),
	}, []batch{w.docID, w.matchID, w.distance, w.similarity, w.from, w.estimate, w.jaccard, w.verdict, w.firstSeen},
		parquet.WithDictionaryFor("distance", true),
		parquet.WithDictionaryFor("similarity", true),
		parquet.WithDictionaryFor("match_from", true),
		parquet.WithDictionaryFor("estimate", true),
		parquet.WithDictionaryFor("verdict", true),
		parquet.WithDictionaryFor("first_seen", true),
		parquet.WithStatsFor("match_id", false),
	)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Write appends a row. It keeps nothing of it.
func (w *MatchWriter) Write(r *data.MatchRow) error {
	w.docID.add(r.DocID)
	w.matchID.add(r.MatchID)
	w.distance.add(r.Distance)
	w.similarity.add(r.Similarity)
	w.from.add(r.MatchFrom)
	w.estimate.addNullable(r.Estimate, math.IsNaN(r.Estimate))
	w.jaccard.addNullable(r.Jaccard, math.IsNaN(r.Jaccard))
	w.verdict.add(r.Verdict)
	w.firstSeen.add(r.FirstSeen)
	return w.added(len(r.DocID) + len(r.MatchID) + 40)
}

// ClusterWriter writes the clusters table.
type ClusterWriter struct {
	*table
	docID, clusterID *byteValues
	size             *int32s
	keeper           *bools
}

// CreateClusters starts a file of the clusters table; it appears at path with
// Commit.
func CreateClusters(path string, o Options) (*ClusterWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	w := &ClusterWriter{
		docID: &byteValues{stats: true}, clusterID: &byteValues{stats: true},
		size: &int32s{}, keeper: &bools{},
	}
	w.table, err = createTable(path, data.TableClusters, bits, o, schema.FieldList{
		stringField("doc_id"),
		stringField("cluster_id"),
		plainField("size", parquet.Types.Int32),
		plainField("keeper", parquet.Types.Boolean),
	}, []batch{w.docID, w.clusterID, w.size, w.keeper})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Write appends a row. It keeps nothing of it.
func (w *ClusterWriter) Write(r *data.ClusterRow) error {
	w.docID.add(r.DocID)
	w.clusterID.add(r.ClusterID)
	w.size.add(r.Size)
	w.keeper.add(r.Keeper)
	return w.added(len(r.DocID) + len(r.ClusterID) + 8)
}

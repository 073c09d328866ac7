package data

import "math"

// Rows of the tables that a run writes. The byte slices of a row that was
// read are valid until the next read; a sink copies what it is given.

// Names of the tables, as their files' metadata says them.
const (
	TableFingerprints = "fingerprints"
	TableTexts        = "texts"
	TableMatches      = "matches"
	TableClusters     = "clusters"
)

// FingerprintRow is one document with its fingerprint: what the ingest stage
// writes, and what an earlier night's library is made of.
type FingerprintRow struct {
	DocID    []byte  // the document's id; never empty, unique in a run
	Hi, Lo   uint64  // the fingerprint; 32 and 64 bits stand in Lo, Hi is the upper half of 128
	Lane     string  // how the document is judged by its length: normal, short or empty
	Features int32   // features that the fingerprint was made of
	Length   int32   // of the text in characters
	Sketch   []byte  // SketchSize bytes for the second look at a pair; empty when none was made
	Letters  []byte  // of a short text its letters and digits in normal form; empty for other texts and when none were kept
	Title    []byte  // the document's title; may be empty
	Source   string  // path of the input, as the split names it
	Offset   int64   // where the document starts in its source, as Document.Offset
	Date     int64   // Unix milliseconds; NoDate is written as null
	Rank     float64 // value of the rank column; NaN is written as null
	Language string  // of the text, as a BCP 47 language subtag; empty when it is not known
}

// EmptyFingerprintRow is a row of which nothing is known: without a date and
// a rank.
func EmptyFingerprintRow() FingerprintRow {
	return FingerprintRow{Date: NoDate, Rank: math.NaN()}
}

// TextRow is the text of a document whose text had to be extracted. Row i of
// a part of the texts table is the document of row i of the same part of the
// fingerprints table.
type TextRow struct {
	DocID []byte // as in FingerprintRow
	Title []byte // as in FingerprintRow
	Text  []byte // what was extracted, before any template of its site is left out
}

// MatchRow is a document with a similar one: its best match, or one of all
// its matches.
type MatchRow struct {
	DocID      []byte  // the document's id
	MatchID    []byte  // the other document's id
	Distance   int32   // Hamming distance of the two fingerprints
	Similarity float64 // 1 − Distance / bits
	MatchFrom  string  // where the other document is from: "run", or an earlier night
	FirstSeen  string  // the night in which the library first had the other document; empty when it is from this run
	Estimate   float64 // estimated similarity of the texts, 0 to 1; NaN when the pair was not verified
	Jaccard    float64 // similarity of the texts themselves; NaN when they were not consulted
	Verdict    string  // why the pair is a match
}

// ClusterRow is a document's place in a cluster.
type ClusterRow struct {
	DocID     []byte // the document's id
	ClusterID []byte // the smallest id in the cluster; with a library, the cluster's id through all nights
	Size      int32  // documents in the cluster
	Keeper    bool   // true for the one document that the clean dump keeps
}

// Column documents one column of a table.
type Column struct {
	Name string // as in the Parquet schema
	Type string // as an analyst sees it
	Doc  string // what it holds
}

// FingerprintColumns documents the fingerprints table, in its order.
var FingerprintColumns = []Column{
	{"doc_id", "string", "id of the document: its URL or record id, else <file name>#<offset>"},
	{"fingerprint", "uint64 or 16 bytes", "SimHash of the text; of 128 bits, the upper half first, big-endian"},
	{"lane", "string", "how the document is judged by its length: normal, short or empty"},
	{"features", "int32", "features that the fingerprint was made of"},
	{"length", "int32", "length of the text in characters"},
	{"sketch", "64 bytes, nullable", "sketch of the text, for verification; null when the run did not verify, or the text has no letters"},
	{"letters", "string, nullable", "letters and digits of a text of at most 40 of them, in normal form; null for other texts, or when the run did not verify"},
	{"title", "string", "title of the document; empty when it has none"},
	{"source", "string", "path of the input file, as it was named to the run"},
	{"offset", "int64", "where the document starts in its source: byte offset, or row number for Parquet"},
	{"date", "timestamp(ms, UTC), nullable", "date of the document; null when unknown"},
	{"rank", "double, nullable", "value of the rank column; null when there is none"},
	{"language", "string", "language of the text: zh, en and so on; empty when it is not known"},
}

// TextColumns documents the texts table, in its order.
var TextColumns = []Column{
	{"doc_id", "string", "id of the document, as in the fingerprints table"},
	{"title", "string", "title of the document; empty when it has none"},
	{"text", "string", "text of the document, as it was extracted from the page"},
}

// MatchColumns documents the matches table, in its order.
var MatchColumns = []Column{
	{"doc_id", "string", "id of the document"},
	{"match_id", "string", "id of the similar document"},
	{"distance", "int32", "Hamming distance of the two fingerprints"},
	{"similarity", "double", "1 - distance / bits"},
	{"match_from", "string", "where the similar document is from: run, or the earlier night"},
	{"estimate", "double, nullable", "similarity of the texts by their sketches, or of short texts by their edits, 0 to 1; null when the run did not verify"},
	{"jaccard", "double, nullable", "Jaccard similarity of the texts' 5-grams, where they were consulted; else null"},
	{"verdict", "string", "why the pair is a match: distance, sketches alike, sketches near the limit, texts alike, short, equal or short, few edits"},
	{"first_seen", "string", "the night in which the library first had the similar document; empty when it is from this run"},
}

// ClusterColumns documents the clusters table, in its order.
var ClusterColumns = []Column{
	{"doc_id", "string", "id of the document"},
	{"cluster_id", "string", "smallest id in the cluster; with a library the night in which the cluster began, /, and 24 hexadecimal digits"},
	{"size", "int32", "number of the run's documents in the cluster"},
	{"keeper", "boolean", "true for the one document of the cluster that the clean dump keeps"},
}

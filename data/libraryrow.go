package data

// TableLibrary names the library's table in its files' metadata.
const TableLibrary = "library"

// LibraryRow is one document of one night: what the library keeps of it. A
// page that was crawled on ten nights has ten rows.
type LibraryRow struct {
	DocID     []byte // the document's id; never empty, unique in its night
	Hi, Lo    uint64 // the fingerprint, as in FingerprintRow
	Lane      string // how the document is judged by its length: normal, short or empty
	Length    int32  // of the text in characters
	Sketch    []byte // 64 bytes, or empty: none was made
	Letters   []byte // UTF-8 letters and digits of a short text, else empty
	Night     string // the night that the row is of
	FirstSeen string // the night in which the library first had the id
	Cluster   []byte // id of the document's cluster when the night was added; empty: it was alone
	Site      []byte // host of the document's URL; empty when the id is none
	Language  string // of the text, as FingerprintRow.Language
	Date      int64  // Unix milliseconds; NoDate is written as null
}

// LibraryColumns documents the library's table, in its order.
var LibraryColumns = []Column{
	{"doc_id", "string", "id of the document"},
	{"fingerprint", "uint64 or 16 bytes", "SimHash of the text; of 128 bits, the upper half first, big-endian"},
	{"lane", "string", "how the document is judged by its length: normal, short or empty"},
	{"length", "int32", "length of the text in characters"},
	{"sketch", "bytes", "64 bytes that a second look compares; empty when none were made"},
	{"letters", "string", "letters and digits of a short text; else empty"},
	{"night", "string", "the night that the row is of"},
	{"first_seen", "string", "the night in which the library first had the id"},
	{"cluster_id", "string", "cluster of the document when the night was added; empty: it was alone"},
	{"site", "string", "host of the document's URL; empty when the id is none"},
	{"language", "string", "language of the text: zh, en and so on; empty when it is not known"},
	{"date", "timestamp(ms, UTC), nullable", "date of the document; null when unknown"},
}

// TableMerges names the table of cluster merges in its files' metadata.
const TableMerges = "merges"

// MergeRow says that a night joined two clusters: from then on the documents
// of From are of Into.
type MergeRow struct {
	Night      string
	From, Into []byte
}

// MergeColumns documents the table of merges, in its order.
var MergeColumns = []Column{
	{"night", "string", "the night that joined the clusters"},
	{"from", "string", "cluster that is no more"},
	{"into", "string", "cluster that its documents are of since"},
}

// Names of the tables that tell how a night differs from the earlier ones, as
// their files' metadata says them.
const (
	TableDrift  = "drift"
	TableGrowth = "growth"
)

// DriftRow counts the documents of a site in a language by what the library
// knew of them.
type DriftRow struct {
	Night     string
	Site      []byte
	Language  string
	Documents int64
	New       int64 // neither the id nor the content was known
	Repeated  int64 // the content was known under another id
	Returning int64 // the id was known
}

// DriftColumns documents the drift table, in its order.
var DriftColumns = []Column{
	{"night", "string", "the night"},
	{"site", "string", "host of the documents' URLs; empty for ids that are none"},
	{"language", "string", "language of their texts: zh, en and so on; empty when it is not known"},
	{"documents", "int64", "documents of the night"},
	{"new", "int64", "of them those whose id and content no earlier night had"},
	{"repeated", "int64", "those whose content an earlier night had under another id"},
	{"returning", "int64", "those whose id an earlier night had"},
}

// GrowthRow is a fingerprint that more documents have than the night before.
type GrowthRow struct {
	Night     string
	Hi, Lo    uint64
	Documents int64 // of the night
	Before    int64 // of the night before
	Earlier   int64 // of all earlier nights
	Example   []byte
}

// GrowthColumns documents the growth table, in its order.
var GrowthColumns = []Column{
	{"night", "string", "the night"},
	{"fingerprint", "uint64 or 16 bytes", "SimHash that several documents of the night have"},
	{"documents", "int64", "how many"},
	{"before", "int64", "how many of the night before have it"},
	{"earlier", "int64", "how many of all earlier nights"},
	{"example", "string", "the smallest id of the night that has it"},
}

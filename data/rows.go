package data

import "math"

// Rows of the tables that a run writes; what a field holds says the table's
// column. The byte slices of a row that was read are valid until the next
// read; a sink copies what it is given.

// FingerprintRow is one document with its fingerprint: what the ingest stage
// writes, and what an earlier night's library is made of.
type FingerprintRow struct {
	DocID       []byte // never empty, unique in a run
	Hi, Lo      uint64 // 32 and 64 bits stand in Lo, Hi is the upper half of 128
	LengthClass string
	Features    int32
	Length      int32
	Template    int32
	Sketch      []byte // SketchSize bytes, or empty
	Letters     []byte
	Sample      []byte // no column: only this run's views have it
	Signature   []byte // the same; empty or of simhash/sketch's size
	Title       []byte
	Source      string
	Offset      int64 // as Document.Offset
	Date        int64 // Unix milliseconds, or NoDate
	Rank        float64
	Language    string
	Site        []byte
	Row         int64
	Night       string
}

// EmptyFingerprintRow is a row of which nothing is known: without a date,
// a rank and a row.
func EmptyFingerprintRow() FingerprintRow {
	return FingerprintRow{Date: NoDate, Rank: math.NaN(), Row: NoRow}
}

// TextRow is the text of a document whose text had to be extracted. Row i of
// a part of the texts table is the document of row i of the same part of the
// fingerprints table.
type TextRow struct {
	DocID []byte
	Title []byte
	Text  []byte
	Body  int32 // as Document.Body, in characters
	Row   int64
}

// MatchRow is a document with a similar one: its best match, or one of all
// its matches.
type MatchRow struct {
	DocID      []byte
	MatchID    []byte
	Distance   int32
	Similarity float64
	MatchFrom  string
	FirstSeen  string
	Estimate   float64 // NaN when the pair was not verified
	Jaccard    float64 // NaN when the texts were not consulted
	Verdict    string

	Containment float64 // NaN when the texts were not consulted
	Site        []byte
	Row         int64
	MatchRow    int64
	Night       string
}

// ClusterRow is a document's place in a cluster.
type ClusterRow struct {
	DocID          []byte
	ClusterID      []byte
	Component      []byte // empty: no pair connects it
	Versions       []byte // empty: containment joins it with nothing
	Size           int32
	Representative bool
	FirstSeen      string
	Site           []byte
	Row            int64
	Night          string
}

// RemovedRow is a document that the clean dump leaves out.
type RemovedRow struct {
	DocID       []byte
	Reason      string
	KeptID      []byte
	KeptFrom    string
	ClusterID   []byte
	Distance    int32   // NoDistance without one
	Similarity  float64 // NaN without a distance
	Estimate    float64 // NaN when the pair was not verified
	Jaccard     float64 // NaN when the texts were not consulted
	Containment float64 // NaN when the texts were not consulted
	Verdict     string
	KeptSite    []byte
	Site        []byte
	Row         int64
	KeptRow     int64
	Night       string
}

// SeenRow is how often and since when a document that stays was seen.
type SeenRow struct {
	DocID     []byte
	KeptFrom  string
	Copies    int32
	Sites     int32
	FirstSeen string
	LastSeen  string
	Nights    int32
	Site      []byte
	Row       int64
	Night     string
}

// AgainstRow is a stretch of a document that stands in a text of the reference.
type AgainstRow struct {
	DocID    []byte
	Set      string
	RefID    []byte
	Verdict  string
	Share    float64
	DocShare float64
	Run      int32
	From, To int64 // characters
	RefFrom  int64
	RefTo    int64
	Site     []byte
	Row      int64
}

// What several tables say of their columns.
const (
	docHex   = "the same in hexadecimal, 16 digits for 64 bits: for tools that know no unsigned integers, and round them"
	docRow   = "the document in all tables of the run: 10,000,000,000 times its part of `fingerprints`, and its row there, both counted from 0"
	docNight = "night of the run; null when it has no library"
)

// Fingerprints states the fingerprints table.
var Fingerprints = Table[FingerprintRow]{Name: "fingerprints", RowBytes: 64, Columns: []Column[FingerprintRow]{
	{Name: "doc_id", Doc: "id of the document: its URL or record id, else `<file name>#<offset>`",
		String: func(r *FingerprintRow) *[]byte { return &r.DocID }},
	{Name: "fingerprint", Doc: "SimHash of the text. 32 bits stand in the lower half. Of 128 bits the upper half comes first, big-endian", Random: true, NoStats: true,
		Fingerprint: func(r *FingerprintRow) (hi, lo *uint64) { return &r.Hi, &r.Lo }},
	{Name: "fingerprint_hex", Doc: docHex, NoStats: true,
		Hex: func(r *FingerprintRow) (hi, lo *uint64) { return &r.Hi, &r.Lo }},
	{Name: "length_class", Doc: "how the document is judged by its length: `normal`, `short`, `empty`; `template`: it has no text of its own",
		Word: func(r *FingerprintRow) *string { return &r.LengthClass }},
	{Name: "features", Doc: "features that the fingerprint was made of",
		Int32: func(r *FingerprintRow) *int32 { return &r.Features }},
	{Name: "length", Unit: "characters", Doc: "length of the document's own text, in normal form",
		Int32: func(r *FingerprintRow) *int32 { return &r.Length }},
	{Name: "template_chars", Unit: "characters", Doc: "length of what else its text has, which pages of its site share: it is not compared",
		Int32: func(r *FingerprintRow) *int32 { return &r.Template }},
	{Name: "sketch", Doc: "the text's sketch: 256 bits of minima, then 8 bands of 32 bits. Null when the run did not verify, or the text has no letters", Null: true, Random: true, NoStats: true,
		Sketch: func(r *FingerprintRow) *[]byte { return &r.Sketch }},
	{Name: "letters", Doc: "letters and digits, in normal form, of a text of at most 160 of them; null for other texts, or when the run did not verify", Null: true, NoStats: true,
		String: func(r *FingerprintRow) *[]byte { return &r.Letters }},
	{Name: "title", Doc: "title of the document; null when it has none", Null: true, NoStats: true,
		String: func(r *FingerprintRow) *[]byte { return &r.Title }},
	{Name: "source", Doc: "path of the input file, as it was named to the run",
		Word: func(r *FingerprintRow) *string { return &r.Source }},
	{Name: "offset", Unit: "bytes, or rows", Doc: "where the document starts in its source",
		Int64: func(r *FingerprintRow) *int64 { return &r.Offset }},
	{Name: "date", Doc: "date of the document; null when unknown", Null: true,
		Date: func(r *FingerprintRow) *int64 { return &r.Date }},
	{Name: "rank", Doc: "value of the rank column; null when there is none", Null: true,
		Double: func(r *FingerprintRow) *float64 { return &r.Rank }},
	{Name: "language", Doc: "language of the text as a BCP 47 subtag, `zh`, `en` and so on; null when it is not known", Null: true,
		Word: func(r *FingerprintRow) *string { return &r.Language }},
	{Name: "site", Doc: "host of the document's URL; null when the id is none", Null: true, Few: true, NoStats: true,
		String: func(r *FingerprintRow) *[]byte { return &r.Site }},
	{Name: "row", Doc: docRow, NoStats: true,
		Row: func(r *FingerprintRow) *int64 { return &r.Row }},
	{Name: "night", Doc: docNight, Null: true,
		Word: func(r *FingerprintRow) *string { return &r.Night }},
}}

// Texts states the texts table. Its row groups are small, because a reader of
// few documents reads the row groups that they stand in; so are its pages,
// several of which are in memory.
var Texts = Table[TextRow]{Name: "texts", GroupBytes: 16 << 20, PageBytes: 1 << 20, Columns: []Column[TextRow]{
	{Name: "doc_id", Doc: "id of the document, as in `fingerprints`", NoStats: true,
		String: func(r *TextRow) *[]byte { return &r.DocID }},
	{Name: "title", Doc: "title of the document; null when it has none", Null: true, NoStats: true,
		String: func(r *TextRow) *[]byte { return &r.Title }},
	{Name: "text", Doc: "text of the document, as it was extracted from the page; what is not its own is in it", NoStats: true,
		String: func(r *TextRow) *[]byte { return &r.Text }},
	{Name: "body_from", Unit: "characters", Doc: "where the body begins in the text of short news: Unicode code points, counted from 0. The title and summary before it are not compared", Few: true, NoStats: true, Later: true,
		Int32: func(r *TextRow) *int32 { return &r.Body }},
	{Name: "row", Doc: docRow, NoStats: true,
		Row: func(r *TextRow) *int64 { return &r.Row }},
}}

// Matches states the matches table, and that of all pairs.
var Matches = Table[MatchRow]{Name: "matches", RowBytes: 40, Columns: []Column[MatchRow]{
	{Name: "doc_id", Doc: "id of the document",
		String: func(r *MatchRow) *[]byte { return &r.DocID }},
	{Name: "match_id", Doc: "id of the similar document", NoStats: true,
		String: func(r *MatchRow) *[]byte { return &r.MatchID }},
	{Name: "distance", Unit: "bits", Doc: "Hamming distance of the two fingerprints", Few: true,
		Int32: func(r *MatchRow) *int32 { return &r.Distance }},
	{Name: "similarity", Unit: "0 to 1", Doc: "1 − distance / bits", Few: true,
		Double: func(r *MatchRow) *float64 { return &r.Similarity }},
	{Name: "match_from", Doc: "where the similar document is from: `run`, or the earlier night",
		Word: func(r *MatchRow) *string { return &r.MatchFrom }},
	{Name: "estimate", Unit: "0 to 1", Doc: "similarity of the texts: by their sketches, with a standard error of 0.05 or less; of two short texts 1 − edits / letters of the longer. Null when the run did not verify", Null: true, Few: true,
		Double: func(r *MatchRow) *float64 { return &r.Estimate }},
	{Name: "jaccard", Unit: "0 to 1", Doc: "Jaccard similarity of the texts' character 5-grams, where they were consulted; else null", Null: true,
		Double: func(r *MatchRow) *float64 { return &r.Jaccard }},
	{Name: "containment", Unit: "0 to 1", Doc: "share of the character 5-grams of the text that has fewer that the other has too, where the texts were consulted; else null", Null: true,
		Double: func(r *MatchRow) *float64 { return &r.Containment }},
	{Name: "verdict", Doc: "why it is a match: `distance`, `sketches alike`, `signatures alike`, `texts alike`, `texts alike but for slips`, `texts alike in order`, `short, equal`, `short, few edits`; and `sketches near the limit` where texts or signatures would have decided but the earlier night's are gone: the estimate decided. Not the same: `contains`, the text of `doc_id` has nearly all of that of `match_id`; `contained`, it is nearly all in it",
		Word: func(r *MatchRow) *string { return &r.Verdict }},
	{Name: "first_seen", Doc: "the night in which the library first had the similar document; null when it is from this run", Null: true,
		Word: func(r *MatchRow) *string { return &r.FirstSeen }},
	{Name: "site", Doc: "host of the document's URL; null when the id is none", Null: true, Few: true, NoStats: true,
		String: func(r *MatchRow) *[]byte { return &r.Site }},
	{Name: "row", Doc: docRow, NoStats: true,
		Row: func(r *MatchRow) *int64 { return &r.Row }},
	{Name: "match_row", Doc: "`row` of the similar document; -1 when it is of an earlier night", NoStats: true,
		Row: func(r *MatchRow) *int64 { return &r.MatchRow }},
	{Name: "night", Doc: docNight, Null: true,
		Word: func(r *MatchRow) *string { return &r.Night }},
}}

// Clusters states the clusters table.
var Clusters = Table[ClusterRow]{Name: "clusters", RowBytes: 8, Columns: []Column[ClusterRow]{
	{Name: "doc_id", Doc: "id of the document",
		String: func(r *ClusterRow) *[]byte { return &r.DocID }},
	{Name: "cluster_id", Doc: "its cluster, a document that stays and those that go for it: the id of the one that stays; with a library the night that has it, `/`, and 24 hexadecimal digits, a hash of its id",
		String: func(r *ClusterRow) *[]byte { return &r.ClusterID }},
	{Name: "component_id", Doc: "what pairs that are the same connect, over however many documents: the id of the first of them in the input; with a library the night in which it began, `/`, and 24 hexadecimal digits. Later nights know documents by it. Null when no pair connects the document", Null: true, NoStats: true,
		String: func(r *ClusterRow) *[]byte { return &r.Component }},
	{Name: "versions_id", Doc: "the same of components, and documents without any, that contain each other and no third (`clusters.contained`); null when containment joins nothing", Null: true, NoStats: true,
		String: func(r *ClusterRow) *[]byte { return &r.Versions }},
	{Name: "size", Unit: "documents", Doc: "number of the run's documents in the cluster; 1 when all that the document is a pair of go for others",
		Int32: func(r *ClusterRow) *int32 { return &r.Size }},
	{Name: "is_representative", Doc: "true for the document of the cluster that stays; where an earlier night has it, for none",
		Bool: func(r *ClusterRow) *bool { return &r.Representative }},
	{Name: "first_seen", Doc: "the night in which the library first had the document's id: the run's `night` if it is new, so that a sum over nights counts each page once; null when the run has no library", Null: true,
		Word: func(r *ClusterRow) *string { return &r.FirstSeen }},
	{Name: "site", Doc: "host of the document's URL; null when the id is none", Null: true, Few: true, NoStats: true,
		String: func(r *ClusterRow) *[]byte { return &r.Site }},
	{Name: "row", Doc: docRow, NoStats: true,
		Row: func(r *ClusterRow) *int64 { return &r.Row }},
	{Name: "night", Doc: docNight, Null: true,
		Word: func(r *ClusterRow) *string { return &r.Night }},
}}

// Removed states the table of what the clean dump leaves out.
var Removed = Table[RemovedRow]{Name: "removed", RowBytes: 24, Columns: []Column[RemovedRow]{
	{Name: "doc_id", Doc: "id of the document",
		String: func(r *RemovedRow) *[]byte { return &r.DocID }},
	{Name: "reason", Doc: "why the clean dump leaves it out: `copy`, it is the same as `kept_id`; `contained`, nearly all of its text is in that of `kept_id` (`output.contained: drop`); `history`, an earlier night keeps what is the same (`output.history: drop`); `duplicate_id`, its id appeared earlier; `deleted`, the library was told to forget it",
		Word: func(r *RemovedRow) *string { return &r.Reason }},
	{Name: "kept_id", Doc: "id of the document that stays for it: the two are a pair, and the columns from `distance` to `verdict` say what was found of them. That document is in the clean dump, or in that of the night `kept_from`. For a duplicate id the same id. Null of deleted documents", Null: true, NoStats: true,
		String: func(r *RemovedRow) *[]byte { return &r.KeptID }},
	{Name: "kept_from", Doc: "where that document is from, as `match_from` in `matches`: `run`, or the earlier night; null without one", Null: true,
		Word: func(r *RemovedRow) *string { return &r.KeptFrom }},
	{Name: "cluster_id", Doc: "its cluster, as in `clusters`; null when it is in none", Null: true, NoStats: true,
		String: func(r *RemovedRow) *[]byte { return &r.ClusterID }},
	{Name: "distance", Unit: "bits", Doc: "Hamming distance of the two fingerprints; -1 of deleted documents", Few: true,
		Int32: func(r *RemovedRow) *int32 { return &r.Distance }},
	{Name: "similarity", Unit: "0 to 1", Doc: "1 − distance / bits; null of deleted documents", Null: true, Few: true,
		Double: func(r *RemovedRow) *float64 { return &r.Similarity }},
	{Name: "estimate", Unit: "0 to 1", Doc: "as in `matches`, of it and `kept_id`; null when the run did not verify", Null: true, Few: true,
		Double: func(r *RemovedRow) *float64 { return &r.Estimate }},
	{Name: "jaccard", Unit: "0 to 1", Doc: "as in `matches`, of it and `kept_id`; null where their texts were not consulted", Null: true,
		Double: func(r *RemovedRow) *float64 { return &r.Jaccard }},
	{Name: "containment", Unit: "0 to 1", Doc: "as in `matches`, of it and `kept_id`; null where their texts were not consulted", Null: true,
		Double: func(r *RemovedRow) *float64 { return &r.Containment }},
	{Name: "verdict", Doc: "why the two are a pair, as in `matches`; `same id` of a duplicate id, whatever its text; `unchanged` where an earlier night has the id with a text that is not compared, of the same length and fingerprint; null of deleted documents", Null: true,
		Word: func(r *RemovedRow) *string { return &r.Verdict }},
	{Name: "site", Doc: "host of the document's URL; null when the id is none", Null: true, Few: true,
		String: func(r *RemovedRow) *[]byte { return &r.Site }},
	{Name: "kept_site", Doc: "the same of `kept_id`", Null: true, Few: true,
		String: func(r *RemovedRow) *[]byte { return &r.KeptSite }},
	{Name: "row", Doc: docRow, NoStats: true,
		Row: func(r *RemovedRow) *int64 { return &r.Row }},
	{Name: "kept_row", Doc: "`row` of the document of `kept_id`; -1 when the run does not have it", NoStats: true,
		Row: func(r *RemovedRow) *int64 { return &r.KeptRow }},
	{Name: "night", Doc: docNight, Null: true,
		Word: func(r *RemovedRow) *string { return &r.Night }},
}}

// Against states the table of what documents have of a reference.
var Against = Table[AgainstRow]{Name: "against", RowBytes: 72, Columns: []Column[AgainstRow]{
	{Name: "doc_id", Doc: "id of the document",
		String: func(r *AgainstRow) *[]byte { return &r.DocID }},
	{Name: "set", Doc: "the reference's set: the name of the file of its records, or of the folder of its texts",
		Word: func(r *AgainstRow) *string { return &r.Set }},
	{Name: "ref_id", Doc: "id of the reference's text: that of its record, else `<file name>#<offset>`; of a file that is one text its path in the folder. Of texts with the same letters the first",
		String: func(r *AgainstRow) *[]byte { return &r.RefID }},
	{Name: "verdict", Doc: "what the two have in common: `copy`, nearly all of each; `carries`, the document has nearly all of the reference's text, and more; `contained`, the reference's text has nearly all of the document, and more; `shared`, a long run (`against.run`)",
		Word: func(r *AgainstRow) *string { return &r.Verdict }},
	{Name: "share", Unit: "0 to 1", Doc: "share of the reference's letters and digits that the document has there, in their order",
		Double: func(r *AgainstRow) *float64 { return &r.Share }},
	{Name: "doc_share", Unit: "0 to 1", Doc: "the same letters as a share of the document's",
		Double: func(r *AgainstRow) *float64 { return &r.DocShare }},
	{Name: "longest_run", Unit: "letters", Doc: "the most letters and digits in a row that both have",
		Int32: func(r *AgainstRow) *int32 { return &r.Run }},
	{Name: "doc_from", Unit: "characters", Doc: "where the stretch begins in the document's text: Unicode code points, counted from 0",
		Int64: func(r *AgainstRow) *int64 { return &r.From }},
	{Name: "doc_to", Unit: "characters", Doc: "where it ends: the first character behind it",
		Int64: func(r *AgainstRow) *int64 { return &r.To }},
	{Name: "ref_from", Unit: "characters", Doc: "where it begins in the reference's text",
		Int64: func(r *AgainstRow) *int64 { return &r.RefFrom }},
	{Name: "ref_to", Unit: "characters", Doc: "where it ends there",
		Int64: func(r *AgainstRow) *int64 { return &r.RefTo }},
	{Name: "site", Doc: "host of the document's URL; null when the id is none", Null: true, Few: true,
		String: func(r *AgainstRow) *[]byte { return &r.Site }},
	{Name: "row", Doc: "the document: 10,000,000,000 times its split, and its place there, both counted from 0", NoStats: true,
		Row: func(r *AgainstRow) *int64 { return &r.Row }},
}}

// partRows is by how much the rows of a part's documents are higher than those
// of the part before.
const partRows = 10_000_000_000

// NoRow is the row of a document that the run does not have, and NoDistance the
// distance to a document that there is none of.
const (
	NoRow      = -1
	NoDistance = -1
)

// RowNumber is the row, in the tables, of the document of that row of that part
// of the fingerprints. A document's number would do, were it known to the task
// that writes the fingerprints.
func RowNumber(part int, row uint64) int64 { return int64(part)*partRows + int64(row) }

// Seen states the table of how often and since when each document that stays was
// seen.
var Seen = Table[SeenRow]{Name: "seen", RowBytes: 24, Columns: []Column[SeenRow]{
	{Name: "doc_id", Doc: "id of a document that stays: each of the clean dump, and each of an earlier night that documents of the run go for (`output.history: drop`)",
		String: func(r *SeenRow) *[]byte { return &r.DocID }},
	{Name: "kept_from", Doc: "where it is from, as in `removed`: `run`, or the earlier night",
		Word: func(r *SeenRow) *string { return &r.KeptFrom }},
	{Name: "copies", Unit: "documents", Doc: "how many documents of the run have this text: those that go for it, and itself if it is of the run. Later rows of an id are not counted", Few: true,
		Int32: func(r *SeenRow) *int32 { return &r.Copies }},
	{Name: "sites", Unit: "sites", Doc: "how many different hosts these are of; 0 when their ids are no URLs", Few: true,
		Int32: func(r *SeenRow) *int32 { return &r.Sites }},
	{Name: "first_seen", Doc: "the first night of the library that has a document with this text, under whatever id; the run's own if no earlier one has. Null without a library", Null: true,
		Word: func(r *SeenRow) *string { return &r.FirstSeen }},
	{Name: "last_seen", Doc: "the last such night: the run's own, of which the row tells. Over the tables of many nights the largest is the last of all. Null without a library", Null: true,
		Word: func(r *SeenRow) *string { return &r.LastSeen }},
	{Name: "nights", Unit: "nights", Doc: "how many nights of the library have it, the run's own among them; 1 without a library", Few: true,
		Int32: func(r *SeenRow) *int32 { return &r.Nights }},
	{Name: "site", Doc: "host of the document's URL; null when the id is none", Null: true, Few: true, NoStats: true,
		String: func(r *SeenRow) *[]byte { return &r.Site }},
	{Name: "row", Doc: docRow + "; -1 when it is of an earlier night", NoStats: true,
		Row: func(r *SeenRow) *int64 { return &r.Row }},
	{Name: "night", Doc: docNight, Null: true,
		Word: func(r *SeenRow) *string { return &r.Night }},
}}

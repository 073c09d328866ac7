package data

// LibraryRow is one document of one night: what the library keeps of it. A
// page that was crawled on ten nights has ten rows. Fields are as in
// FingerprintRow.
type LibraryRow struct {
	DocID       []byte // unique in its night
	Hi, Lo      uint64
	LengthClass string
	Length      int32
	Sketch      []byte
	Letters     []byte
	Night       string
	FirstSeen   string
	Cluster     []byte
	Kept        bool
	Site        []byte
	Language    string
	Date        int64
}

// LibraryDocuments states the library's table.
var LibraryDocuments = Table[LibraryRow]{Name: "library", RowBytes: 48, Columns: []Column[LibraryRow]{
	{Name: "doc_id", Doc: "id of the document",
		String: func(r *LibraryRow) *[]byte { return &r.DocID }},
	{Name: "fingerprint", Doc: "SimHash of the text, as in `fingerprints`", Random: true, NoStats: true,
		Fingerprint: func(r *LibraryRow) (hi, lo *uint64) { return &r.Hi, &r.Lo }},
	{Name: "length_class", Doc: "how the document is judged by its length: `normal`, `short`, `empty`, `template`",
		Word: func(r *LibraryRow) *string { return &r.LengthClass }},
	{Name: "length", Unit: "characters", Doc: "length of the text",
		Int32: func(r *LibraryRow) *int32 { return &r.Length }},
	{Name: "sketch", Doc: "the 64 bytes of the text's sketch, as in `fingerprints`; null when there is none", Null: true, Random: true, NoStats: true,
		Bytes: func(r *LibraryRow) *[]byte { return &r.Sketch }},
	{Name: "letters", Doc: "letters and digits of a short text, as in `fingerprints`; else null", Null: true, NoStats: true,
		String: func(r *LibraryRow) *[]byte { return &r.Letters }},
	{Name: "night", Doc: "the night that the row is of",
		Word: func(r *LibraryRow) *string { return &r.Night }},
	{Name: "first_seen", Doc: "the night in which the library first had the id",
		Word: func(r *LibraryRow) *string { return &r.FirstSeen }},
	{Name: "cluster_id", Doc: "`component_id` of the document when the night was added; null: it was alone", Null: true, NoStats: true,
		String: func(r *LibraryRow) *[]byte { return &r.Cluster }},
	{Name: "kept", Doc: "whether it stayed in its night: later documents go for such ones alone",
		Bool: func(r *LibraryRow) *bool { return &r.Kept }},
	{Name: "site", Doc: "host of the document's URL; null when the id is none", Null: true, NoStats: true,
		String: func(r *LibraryRow) *[]byte { return &r.Site }},
	{Name: "language", Doc: "language of the text, as in `fingerprints`; null when it is not known", Null: true,
		Word: func(r *LibraryRow) *string { return &r.Language }},
	{Name: "date", Doc: "date of the document; null when unknown", Null: true,
		Date: func(r *LibraryRow) *int64 { return &r.Date }},
}}

// MergeRow says that a night joined two clusters: from then on the documents
// of From are of Into.
type MergeRow struct {
	Night      string
	From, Into []byte
}

// Merges states the table of cluster merges.
var Merges = Table[MergeRow]{Name: "merges", RowBytes: 16, Columns: []Column[MergeRow]{
	{Name: "night", Doc: "the night that joined the clusters",
		Word: func(r *MergeRow) *string { return &r.Night }},
	{Name: "from", Doc: "cluster that is no more",
		String: func(r *MergeRow) *[]byte { return &r.From }},
	{Name: "into", Doc: "cluster that its documents are of since", NoStats: true,
		String: func(r *MergeRow) *[]byte { return &r.Into }},
}}

// SampleRow is a page of a site of which too few are sampled in one night to
// learn what they share.
type SampleRow struct {
	DocID []byte
	Page  []byte
}

// Samples states the table of sampled pages.
var Samples = Table[SampleRow]{Name: "samples", RowBytes: 16, Columns: []Column[SampleRow]{
	{Name: "doc_id", Doc: "id of the document",
		String: func(r *SampleRow) *[]byte { return &r.DocID }},
	{Name: "page", Doc: "hashes of its blocks and of some of their shingles, as package `simhash/template` writes them: 16 bytes a block and 8 a shingle, at most 512 and 64 of them", Random: true, NoStats: true,
		Bytes: func(r *SampleRow) *[]byte { return &r.Page }},
}}

// DriftRow counts the documents of a site in a language by what the library
// knew of them.
type DriftRow struct {
	Night     string
	Site      []byte
	Language  string
	Documents int64
	New       int64
	Repeated  int64
	Returned  int64
}

// Drift states the drift table, which tells how a night differs from the
// earlier ones.
var Drift = Table[DriftRow]{Name: "drift", RowBytes: 48, Columns: []Column[DriftRow]{
	{Name: "night", Doc: "the night",
		Word: func(r *DriftRow) *string { return &r.Night }},
	{Name: "site", Doc: "host of the documents' URLs; null for ids that are none", Null: true,
		String: func(r *DriftRow) *[]byte { return &r.Site }},
	{Name: "language", Doc: "language of their texts, as in `fingerprints`; null when it is not known", Null: true,
		Word: func(r *DriftRow) *string { return &r.Language }},
	{Name: "documents", Unit: "documents", Doc: "those of the night, of all length classes: `new` + `repeated` + `returned`",
		Int64: func(r *DriftRow) *int64 { return &r.Documents }},
	{Name: "new", Unit: "documents", Doc: "of them those whose id and content no earlier night had",
		Int64: func(r *DriftRow) *int64 { return &r.New }},
	{Name: "repeated", Unit: "documents", Doc: "those whose content an earlier night had under another id",
		Int64: func(r *DriftRow) *int64 { return &r.Repeated }},
	{Name: "returned", Unit: "documents", Doc: "those whose id an earlier night had, whatever their content",
		Int64: func(r *DriftRow) *int64 { return &r.Returned }},
}}

// GrowthRow is a fingerprint that more documents have than the night before.
type GrowthRow struct {
	Night     string
	Hi, Lo    uint64
	Documents int64
	Before    int64
	History   int64
	Example   []byte
	Title     []byte
	Row       int64
}

// Growth states the growth table.
var Growth = Table[GrowthRow]{Name: "growth", RowBytes: 48, Columns: []Column[GrowthRow]{
	{Name: "night", Doc: "the night",
		Word: func(r *GrowthRow) *string { return &r.Night }},
	{Name: "fingerprint", Doc: "SimHash that several documents of the night have, as in `fingerprints`", NoStats: true,
		Fingerprint: func(r *GrowthRow) (hi, lo *uint64) { return &r.Hi, &r.Lo }},
	{Name: "fingerprint_hex", Doc: docHex, NoStats: true,
		Hex: func(r *GrowthRow) (hi, lo *uint64) { return &r.Hi, &r.Lo }},
	{Name: "documents", Unit: "documents", Doc: "how many of the night have it",
		Int64: func(r *GrowthRow) *int64 { return &r.Documents }},
	{Name: "before", Unit: "documents", Doc: "how many of the night before",
		Int64: func(r *GrowthRow) *int64 { return &r.Before }},
	{Name: "history", Unit: "documents", Doc: "how many of all earlier nights",
		Int64: func(r *GrowthRow) *int64 { return &r.History }},
	{Name: "example", Doc: "the first id of the night, in the order of its input, that has it",
		String: func(r *GrowthRow) *[]byte { return &r.Example }},
	{Name: "title", Doc: "title of that document; null when it has none", Null: true, NoStats: true,
		String: func(r *GrowthRow) *[]byte { return &r.Title }},
	{Name: "row", Doc: "that document, as `row` of the run's tables: `clusters` has its cluster", NoStats: true,
		Row: func(r *GrowthRow) *int64 { return &r.Row }},
}}

package data

// Table states a table whose rows are R, once: what package data/parquet
// writes and reads, what the files say of their columns, and what tables.md
// documents.
//
// To add a column, add a field to the row and a Column here; then bring
// job/docs/tables.md up to date with
//
//	go test ./data/parquet -run TestFormats -update
type Table[R any] struct {
	Name    string // as the files' metadata says it
	Columns []Column[R]

	// RowBytes is the size of a row in memory besides its byte slices. Rows
	// are written in batches and row groups of about equal size.
	RowBytes int
	// GroupBytes and PageBytes are the sizes of a row group and of a page; 0
	// means 128 MiB and 4 MiB.
	GroupBytes, PageBytes int
}

// Column states one column of a table.
type Column[R any] struct {
	Name string // as in the schema
	Unit string // of the values; empty when they have none
	Doc  string // what it holds, in Markdown

	Null    bool // empty bytes and words, NaN and NoDate are written as null
	Few     bool // few different values: the column has a dictionary
	Random  bool // random bits: the column is not compressed
	NoStats bool // nobody looks for a range of values: no smallest and largest are kept
	Later   bool // files of earlier programs lack the column: the field stays as it is

	// Exactly one of these is set. Its name says the type of the values, its
	// result where a row has them.
	Fingerprint func(r *R) (hi, lo *uint64) // 64 bits as an unsigned integer, 128 as 16 bytes, big-endian
	Hex         func(r *R) (hi, lo *uint64) // the same as hexadecimal digits; written, never read: it says nothing of its own
	String      func(r *R) *[]byte          // UTF-8; bytes that are not become U+FFFD
	Word        func(r *R) *string          // UTF-8; Few without saying
	Bytes       func(r *R) *[]byte
	Sketch      func(r *R) *[]byte // SketchSize bytes
	Int32       func(r *R) *int32
	Int64       func(r *R) *int64
	Row         func(r *R) *int64 // as RowNumber; written as differences, which are not compressed
	Date        func(r *R) *int64 // Unix milliseconds
	Double      func(r *R) *float64
	Bool        func(r *R) *bool
}

// Names lists the names of the columns.
func (t *Table[R]) Names() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

package data

// NumberBytes is the width of a document's number in records: enough for 10¹²
// documents.
const NumberBytes = 5

// AppendNumber appends a document's number to dst, most significant byte first,
// so that records of numbers sort as the numbers do.
func AppendNumber(dst []byte, doc uint64) []byte {
	return append(dst, byte(doc>>32), byte(doc>>24), byte(doc>>16), byte(doc>>8), byte(doc))
}

// Number is the number that b starts with.
func Number(b []byte) uint64 {
	_ = b[4]
	return uint64(b[0])<<32 | uint64(b[1])<<24 | uint64(b[2])<<16 | uint64(b[3])<<8 | uint64(b[4])
}

// PartRows is by how much the rows of a part's documents are higher than those
// of the part before.
const PartRows = 10_000_000_000

// NoRow is the row of a document that the run does not have.
const NoRow = -1

// RowNumber is the row, in the tables, of the document of that row of that part
// of the fingerprints. A document's number would do, were it known to the task
// that writes the fingerprints.
func RowNumber(part int, row uint64) int64 { return int64(part)*PartRows + int64(row) }

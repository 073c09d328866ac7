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

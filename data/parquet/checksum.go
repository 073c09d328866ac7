package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// Each table that neardup writes has checksums of all its bytes in its own file
// metadata, in the value of metaChecksums:
//
//	<16 hexadecimal digits>:<base64>
//
// The digits are the XXH3-64 of the footer, computed with noSum in their place. The
// base64 text holds the XXH3-64, big-endian, of each block of checkedBytes before the
// footer. Other programs may copy metadata into files that they derive from a table, so
// the value counts only if the file says that neardup created it.
const (
	metaChecksums = "neardup.checksums"
	noSum         = "0000000000000000"
	checkedBytes  = 256 << 10
	createdBy     = "neardup "
)

// errChecksum is returned for a file whose bytes do not match its checksums.
var errChecksum = errors.New("the file is damaged: its bytes are not those that were written")

// summing writes to a file and computes the checksums of its blocks.
type summing struct {
	footerWriter
	hash   xxh3.Hasher
	filled int    // bytes of the block that hash has seen
	sums   []byte // of the complete blocks
}

// Write writes bytes of the row groups. After endData it only collects the bytes of
// the footer, for end.
func (s *summing) Write(p []byte) (int, error) {
	if s.footer != nil {
		return s.footerWriter.Write(p)
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), checkedBytes-s.filled)
		_, _ = s.hash.Write(rest[:n]) // it cannot fail
		if s.filled, rest = s.filled+n, rest[n:]; s.filled == checkedBytes {
			s.endBlock()
		}
	}
	return s.footerWriter.Write(p)
}

func (s *summing) endBlock() {
	s.sums = binary.BigEndian.AppendUint64(s.sums, s.hash.Sum64())
	s.hash.Reset()
	s.filled = 0
}

// endData ends the row groups. It returns the value of metaChecksums for the footer,
// with noSum in the place of the footer's own checksum, which end fills in.
func (s *summing) endData() string {
	if s.filled > 0 {
		s.endBlock()
	}
	s.begin()
	return noSum + ":" + base64.StdEncoding.EncodeToString(s.sums)
}

// end writes the footer with its checksum.
func (s *summing) end() error {
	return s.footerWriter.end(func(footer []byte) error {
		at := sumIn(footer)
		if at < 0 {
			return errors.New("the footer has no checksums")
		}
		copy(footer[at:], sumOf(footer))
		return nil
	})
}

// sumOf is the checksum of a footer that has noSum in the checksum's place.
func sumOf(footer []byte) string { return fmt.Sprintf("%016x", xxh3.Hash(footer)) }

// sumIn returns the offset of the checksum in a footer, −1 if it has none. The checksum
// follows the key and the few bytes that encode the value's length.
func sumIn(footer []byte) int {
	at := bytes.Index(footer, []byte(metaChecksums))
	if at < 0 {
		return -1
	}
	at += len(metaChecksums)
	const most = 8 // bytes for the value's type and length
	if at+len(noSum)+most > len(footer) {
		return -1
	}
	colon := bytes.IndexByte(footer[at+len(noSum):][:most], ':')
	if colon < 0 {
		return -1
	}
	return at + colon
}

// checked is an open file that compares bytes with their checksums before it returns
// them, once check has read the checksums.
type checked struct {
	data.InputFile
	size   int64
	failed error // of reading the file; no sign of damage
	end    int64 // of the row groups; 0: nothing is compared
	sums   []byte
	blocks [8]block // the last ones read: columns are read in turns
	next   int
}

// block is a piece of the file whose checksum was verified.
type block struct {
	number int64
	bytes  []byte // nil: none
}

// check reads the file's checksums, if it has any, and verifies the footer.
func (c *checked) check(f *file.Reader) (has bool, err error) {
	meta := f.MetaData()
	value := meta.KeyValueMetadata().FindValue(metaChecksums)
	if value == nil || !strings.HasPrefix(meta.GetCreatedBy(), createdBy) {
		return false, nil
	}
	footer, start, err := readFooter(c.InputFile, c.size)
	if err != nil {
		return false, err
	}
	at := sumIn(footer)
	if at < 0 {
		return false, errChecksum
	}
	want := string(footer[at : at+len(noSum)])
	copy(footer[at:], noSum)
	if sumOf(footer) != want {
		return false, errChecksum
	}
	_, encoded, _ := strings.Cut(*value, ":")
	if c.sums, err = base64.StdEncoding.DecodeString(encoded); err != nil || int64(len(c.sums)) != 8*((start+checkedBytes-1)/checkedBytes) {
		return false, errChecksum
	}
	c.end = start
	return true, nil
}

// ReadAt is io.ReaderAt. It returns bytes before the footer only after it has verified
// their blocks.
func (c *checked) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off >= 0 && off < c.end {
		b, err := c.block(off / checkedBytes)
		if err != nil {
			return n, err
		}
		m := copy(p[n:], b[off%checkedBytes:])
		n, off = n+m, off+int64(m)
	}
	if n == len(p) {
		return n, nil
	}
	m, err := c.InputFile.ReadAt(p[n:], off)
	if err != nil && off >= 0 && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n + m, err
}

// block returns a block: one of the last ones read, or else read and verified now.
func (c *checked) block(number int64) ([]byte, error) {
	for i := range c.blocks {
		if b := &c.blocks[i]; b.bytes != nil && b.number == number {
			return b.bytes, nil
		}
	}
	b := &c.blocks[c.next]
	c.next = (c.next + 1) % len(c.blocks)
	from := number * checkedBytes
	size := min(checkedBytes, c.end-from)
	if cap(b.bytes) < int(size) {
		b.bytes = make([]byte, size, min(checkedBytes, c.end))
	}
	read := b.bytes[:size]
	b.bytes = nil
	if n, err := c.InputFile.ReadAt(read, from); n < len(read) {
		return nil, fmt.Errorf("at offset %d: %w", from, err)
	}
	if xxh3.Hash(read) != binary.BigEndian.Uint64(c.sums[8*number:]) {
		return nil, fmt.Errorf("offset %d to %d: %w", from, from+size, errChecksum)
	}
	b.number, b.bytes = number, read
	return read, nil
}

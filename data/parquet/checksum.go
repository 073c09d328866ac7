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

	"github.com/neardup/neardup/data/object"
)

// A table of neardup's tells of itself, in its file metadata, what its bytes
// are: the value of metaChecksums is the XXH3-64 of the footer with noSum in
// that sum's place, as 16 hexadecimal digits, a colon, and in base64 the
// XXH3-64, big-endian, of each block of checkedBytes before the footer. Files
// that another program made of it carry the value on, so it counts only where
// neardup is the one that created the file.
const (
	metaChecksums = "neardup.checksums"
	noSum         = "0000000000000000"
	checkedBytes  = 256 << 10
	createdBy     = "neardup "
)

// errChecksum is returned for a file whose bytes are not those that were written.
var errChecksum = errors.New("the file is damaged: its bytes are not those that were written")

// summing passes on what is written to a file, and sums it up block by block.
type summing struct {
	to     io.Writer
	hash   xxh3.Hasher
	filled int    // bytes of the block that hash has seen
	sums   []byte // of the complete blocks
	footer *bytes.Buffer
}

// Write takes bytes of the row groups, after endData those of the footer, which
// it keeps.
func (s *summing) Write(p []byte) (int, error) {
	if s.footer != nil {
		return s.footer.Write(p)
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), checkedBytes-s.filled)
		_, _ = s.hash.Write(rest[:n]) // it cannot fail
		if s.filled, rest = s.filled+n, rest[n:]; s.filled == checkedBytes {
			s.endBlock()
		}
	}
	return s.to.Write(p)
}

func (s *summing) endBlock() {
	s.sums = binary.BigEndian.AppendUint64(s.sums, s.hash.Sum64())
	s.hash.Reset()
	s.filled = 0
}

// endData is called when all row groups are written; it returns the value of
// metaChecksums as it is to stand in the footer for now.
func (s *summing) endData() string {
	if s.filled > 0 {
		s.endBlock()
	}
	s.footer = new(bytes.Buffer)
	return noSum + ":" + base64.StdEncoding.EncodeToString(s.sums)
}

// end writes the footer, with its sum.
func (s *summing) end() error {
	footer := s.footer.Bytes()
	at := sumIn(footer)
	if at < 0 {
		return errors.New("the footer has no checksums")
	}
	copy(footer[at:], sumOf(footer))
	_, err := s.to.Write(footer)
	return err
}

// sumOf is the sum of a footer whose own place for it has noSum.
func sumOf(footer []byte) string { return fmt.Sprintf("%016x", xxh3.Hash(footer)) }

// sumIn is where the sum of a footer stands in it, −1 if it has none: behind
// the key and the few bytes that say how long the value is.
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

// checked is an open file whose bytes, once check has read its checksums, are
// compared with them before they are given out.
type checked struct {
	object.File
	size   int64
	failed error // of reading, which says nothing of the bytes
	end    int64 // of the row groups; 0: nothing is compared
	sums   []byte
	blocks [8]block // those that were read last: columns are read in turns
	next   int
}

// block is a stretch of the file that is as it was written.
type block struct {
	number int64
	bytes  []byte // nil: none
}

// check reads the checksums of an opened file, if it has some, and compares the
// footer with its own.
func (c *checked) check(f *file.Reader) (has bool, err error) {
	meta := f.MetaData()
	value := meta.KeyValueMetadata().FindValue(metaChecksums)
	if value == nil || !strings.HasPrefix(meta.GetCreatedBy(), createdBy) {
		return false, nil
	}
	footer, start, err := readFooter(c.File, c.size)
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

// ReadAt reads as the file does; what stands before the footer only if it is as
// it was written.
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
	m, err := c.File.ReadAt(p[n:], off)
	if err != nil && off >= 0 && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n + m, err
}

// block returns a block, read and compared unless it is one of the last.
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
	if n, err := c.File.ReadAt(read, from); n < len(read) {
		return nil, fmt.Errorf("at offset %d: %w", from, err)
	}
	if xxh3.Hash(read) != binary.BigEndian.Uint64(c.sums[8*number:]) {
		return nil, fmt.Errorf("offset %d to %d: %w", from, from+size, errChecksum)
	}
	b.number, b.bytes = number, read
	return read, nil
}

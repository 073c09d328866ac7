package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/thrift/lib/go/thrift"
)

// Fields of a page's header, in Parquet's parquet.thrift.
const (
	pageUncompressed = 2
	pageCompressed   = 3
	pageChecksum     = 4
)

// page is what a page's header says that matters before it is decoded, which
// Arrow does without a look at the checksum.
type page struct {
	header     int64 // bytes
	size       int64 // behind the header, as it stands in the file
	text       int64 // decompressed
	checksum   uint32
	hasChecked bool
}

// readPage reads the header of the page that b starts with.
func readPage(b []byte) (p page, err error) {
	c := newCompact(b)
	err = c.fields(func(id int16, kind thrift.TType, _ int) error {
		if id < pageUncompressed || id > pageChecksum || kind != thrift.I32 {
			return c.Skip(c.ctx, kind)
		}
		n, err := c.ReadI32(c.ctx)
		switch id {
		case pageUncompressed:
			p.text = int64(n)
		case pageCompressed:
			p.size = int64(n)
		case pageChecksum:
			p.checksum, p.hasChecked = uint32(n), true
		}
		return err
	})
	p.header = int64(c.at())
	if err == nil && (p.size < 0 || p.text < 0) {
		err = errors.New("a page of a negative size")
	}
	return p, err
}

// chunkStart is where the pages of a column chunk start in the file.
func chunkStart(chunk *metadata.ColumnChunkMetaData) int64 {
	from := chunk.DataPageOffset()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		from = min(from, chunk.DictionaryPageOffset())
	}
	return from
}

// errPage is returned for a page whose checksum is wrong.
var errPage = errors.New("a page's checksum is wrong")

// checkPages goes over the pages that stand in a file from at to end: those that
// have a checksum have the right one. It returns the size of the largest page,
// decompressed.
func checkPages(f io.ReaderAt, at, end int64) (largest int64, err error) {
	head := make([]byte, pageHeader)
	var sum []byte
	for at < end {
		n, err := f.ReadAt(head[:min(int64(len(head)), end-at)], at)
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("the page at offset %d: %w", at, err)
		}
		p, err := readPage(head[:n])
		if err != nil {
			return 0, fmt.Errorf("the page at offset %d: %w", at, err)
		}
		largest = max(largest, p.text)
		if at += p.header; at+p.size > end {
			return 0, fmt.Errorf("the page at offset %d goes beyond its column", at)
		}
		if p.hasChecked {
			if sum == nil {
				sum = make([]byte, checkedBytes)
			}
			crc := crc32.NewIEEE()
			if _, err := io.CopyBuffer(crc, struct{ io.Reader }{io.NewSectionReader(f, at, p.size)}, sum); err != nil {
				return 0, fmt.Errorf("the page at offset %d: %w", at, err)
			}
			if crc.Sum32() != p.checksum {
				return 0, fmt.Errorf("%w, at offset %d", errPage, at)
			}
		}
		at += p.size
	}
	return largest, nil
}

package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	_ "unsafe" // for go:linkname

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/pierrec/lz4/v4"
)

// Arrow has names for the two LZ4 codecs of Parquet, and no code: the older
// one was written with three framings. This adds both to its table of codecs.
// Arrow v15 exports no way to register a codec and takes none as an option; see
// job/docs/decisions/lz4.md. If Arrow renames the table, it is nil here, and init
// panics before any test runs.
//
//go:linkname codecs github.com/apache/arrow/go/v15/parquet/compress.codecs
var codecs map[compress.Compression]compress.Codec

// codecLZ4Raw is LZ4_RAW: one block, without a frame.
const codecLZ4Raw compress.Compression = 7

func init() {
	codecs[codecLZ4Raw] = lz4Codec{}
	codecs[compress.Codecs.Lz4] = lz4Codec{hadoop: true}
}

// lz4Codec is LZ4_RAW, or the deprecated LZ4. Of the framings of the latter it
// reads that of Hadoop and none; it writes none, so only LZ4_RAW is written
// with it. As Arrow's own codecs do, it panics for bytes that are damaged;
// recovering makes an error of it. The streams of the interface, which pages do
// not come as, are not there.
type lz4Codec struct {
	compress.Codec // nil
	hadoop         bool
}

var errLZ4 = errors.New("lz4: the bytes are damaged, or in a framing that is not read")

// Decode decodes a page; dst has its size.
func (c lz4Codec) Decode(dst, src []byte) []byte {
	if c.hadoop {
		if n, ok := decodeHadoop(dst, src); ok {
			return dst[:n]
		}
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		panic(fmt.Errorf("%w: %w", errLZ4, err))
	}
	return dst[:n]
}

// decodeHadoop decodes the blocks of Hadoop's Lz4Codec: before each stand its
// size and the size that it has decoded, four bytes each, big-endian; more
// blocks may follow behind the first until that size is reached.
func decodeHadoop(dst, src []byte) (n int, ok bool) {
	for len(src) > 0 {
		if len(src) < 4 {
			return 0, false
		}
		end := n + int(binary.BigEndian.Uint32(src))
		src = src[4:]
		if end > len(dst) {
			return 0, false
		}
		for n < end {
			if len(src) < 4 {
				return 0, false
			}
			size := int(binary.BigEndian.Uint32(src))
			src = src[4:]
			if size > len(src) {
				return 0, false
			}
			m, err := lz4.UncompressBlock(src[:size], dst[n:end])
			if err != nil || m == 0 {
				return 0, false
			}
			n += m
			src = src[size:]
		}
	}
	return n, n == len(dst)
}

// CompressBound is the largest size of n bytes compressed.
func (lz4Codec) CompressBound(n int64) int64 { return int64(lz4.CompressBlockBound(int(n))) }

func (c lz4Codec) Encode(dst, src []byte) []byte {
	if n := lz4.CompressBlockBound(len(src)); cap(dst) < n {
		dst = make([]byte, n)
	}
	n, err := lz4.CompressBlock(src, dst[:cap(dst)], nil)
	if err != nil {
		panic(fmt.Errorf("lz4: %w", err))
	}
	return dst[:n]
}

// EncodeLevel is Encode: there are no levels.
func (c lz4Codec) EncodeLevel(dst, src []byte, _ int) []byte { return c.Encode(dst, src) }

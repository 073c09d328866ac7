package parquet

import (
	"sync"

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

func init() {
	codecs[compress.Codecs.Zstd] = zstdCodec{codecs[compress.Codecs.Zstd]}
}

// zstdCodec is Arrow's, but at zstdLevel with one encoder for all pages: Arrow
// makes one for each, megabytes of tables.
type zstdCodec struct{ compress.Codec }

// zstdEncoder is safe for concurrent use by EncodeAll. What it makes of a page
// does not depend on the pages before.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(zstdLevel)))
	if err != nil {
		panic(err) // the options are valid
	}
	return e
})

func (c zstdCodec) EncodeLevel(dst, src []byte, level int) []byte {
	if level != zstdLevel {
		return c.Codec.EncodeLevel(dst, src, level)
	}
	return zstdEncoder().EncodeAll(src, dst[:0])
}

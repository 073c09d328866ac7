package parquet

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/parquet/compress"
)

// A page is compressed to the same bytes as Arrow compresses it to, whatever was
// compressed before and meanwhile.
func TestZstdCodec(t *testing.T) {
	codec := codecs[compress.Codecs.Zstd].(zstdCodec)
	rounds := 50
	if testing.Short() {
		rounds = 12
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			for range rounds {
				page := make([]byte, r.IntN(300_000))
				values := 1 + r.IntN(256)
				for i := range page {
					page[i] = byte(r.IntN(values))
					if i > 100 && r.IntN(3) > 0 {
						page[i] = page[i-100]
					}
				}
				got, want := codec.EncodeLevel(nil, page, zstdLevel), codec.Codec.EncodeLevel(nil, page, zstdLevel)
				if !bytes.Equal(got, want) {
					t.Errorf("%d bytes: %d compressed, want %d, or others", len(page), len(got), len(want))
				}
				if back := codec.Decode(make([]byte, len(page)), got); !bytes.Equal(back, page) {
					t.Errorf("%d bytes: not the same after decompression", len(page))
				}
			}
		})
	}
	group.Wait()
}

package clean

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data/internal/stream"
)

// blockSize is how many bytes are compressed at once, but for the end of what
// is written last.
const blockSize = 1 << 20

// packers make, for each compression, what compresses a block for one
// goroutine: it appends to dst a gzip member or a zstandard frame of its own.
// They are fast ones: a dump is written every night.
var packers = map[stream.Compression]func() (pack func(dst, src []byte) ([]byte, error)){
	stream.Gzip: func() func(dst, src []byte) ([]byte, error) {
		var z *gzip.Writer
		return func(dst, src []byte) ([]byte, error) {
			out := bytes.NewBuffer(dst)
			var err error
			if z == nil {
				z, err = gzip.NewWriterLevel(out, gzip.BestSpeed)
			} else {
				z.Reset(out)
			}
			if err == nil {
				_, err = z.Write(src)
			}
			if err == nil {
				err = z.Close()
			}
			return out.Bytes(), err
		}
	},
	stream.Zstd: func() func(dst, src []byte) ([]byte, error) {
		var z *zstd.Encoder
		return func(dst, src []byte) (_ []byte, err error) {
			if z == nil {
				if z, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
					return dst, err
				}
			}
			return z.EncodeAll(src, dst), nil
		}
	},
}

// blocks compresses what is written to it block by block on several
// goroutines. The output depends on what each Write was given, never on their
// number. It is used by one goroutine.
type blocks struct {
	current *block
	written bool        // a block was handed on
	free    chan *block // to be filled
	work    chan *block // to be packed
	order   chan *block // the same, in their order, to be written
	group   sync.WaitGroup

	failed chan struct{} // closed with err
	err    error         // the first
}

type block struct {
	plain, packed []byte
	err           error
	done          chan struct{} // receives once the block is packed
}

func newBlocks(out io.Writer, packer func() func(dst, src []byte) ([]byte, error), workers int) *blocks {
	workers = max(workers, 1)
	n := 2*workers + 1
	w := &blocks{free: make(chan *block, n), work: make(chan *block, n), order: make(chan *block, n), failed: make(chan struct{})}
	for range n {
		w.free <- &block{done: make(chan struct{}, 1)}
	}
	w.current = <-w.free
	for range workers {
		w.group.Go(func() {
			pack := packer()
			for b := range w.work {
				b.packed, b.err = pack(b.packed[:0], b.plain)
				b.done <- struct{}{}
			}
		})
	}
	w.group.Go(func() {
		for b := range w.order {
			<-b.done
			if w.err == nil {
				if w.err = b.err; w.err == nil {
					_, w.err = out.Write(b.packed)
				}
				if w.err != nil {
					close(w.failed)
				}
			}
			w.free <- b
		}
	})
	return w
}

// Write appends p, all of it to one block.
func (w *blocks) Write(p []byte) (int, error) {
	w.current.plain = append(w.current.plain, p...)
	if len(w.current.plain) >= blockSize {
		w.send()
		w.current = <-w.free
		w.current.plain = w.current.plain[:0]
	}
	select {
	case <-w.failed:
		return 0, w.err
	default:
		return len(p), nil
	}
}

func (w *blocks) send() {
	w.work <- w.current
	w.order <- w.current
	w.written = true
}

// Close writes what is left, at least one block, and ends the goroutines. It
// does not close what is written to.
func (w *blocks) Close() error {
	if len(w.current.plain) > 0 || !w.written {
		w.send()
	}
	close(w.work)
	close(w.order)
	w.group.Wait()
	return w.err
}

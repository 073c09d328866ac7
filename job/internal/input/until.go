package input

import (
	"context"
	"io"
)

// Until returns a reader of in, of which a Read ends with ctx's error when ctx is done,
// though in may never send anything, as standard input may. Such a read of in holds a
// goroutine until it ends, and what it reads is lost. It is used by one goroutine.
func Until(ctx context.Context, in io.Reader) io.Reader {
	return &until{ctx: ctx, in: in, chunk: make(chan chunk, 1), room: make([]byte, 64<<10)}
}

type until struct {
	ctx   context.Context //nolint:containedctx // io.Reader has none
	in    io.Reader
	asks  bool // the goroutine reads
	chunk chan chunk
	room  []byte // that it reads into
	left  []byte // of the last chunk
}

type chunk struct {
	n   int
	err error
}

func (u *until) Read(p []byte) (int, error) {
	var err error
	if len(u.left) == 0 {
		if !u.asks {
			u.asks = true
			go func() {
				n, err := u.in.Read(u.room)
				u.chunk <- chunk{n, err}
			}()
		}
		select {
		case c := <-u.chunk:
			u.asks, u.left, err = false, u.room[:c.n], c.err
		case <-u.ctx.Done():
			return 0, u.ctx.Err()
		}
	}
	n := copy(p, u.left)
	if u.left = u.left[n:]; len(u.left) > 0 {
		return n, nil // an error comes again with the next read
	}
	return n, err
}

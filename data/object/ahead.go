package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/neardup/neardup/data"
)

// requests is how many requests are under way at once where several are known beforehand.
const requests = 16

// Ahead reads small objects ahead, in the order in which they are opened. It is used by
// one goroutine, and holds them all in memory at worst.
type Ahead struct {
	asked  chan chan fetched // in order
	last   fetched           // that was opened
	cancel func()
}

// fetched is an object, or why there is none.
type fetched struct {
	path string
	text []byte
	err  error
}

// ReadAhead starts to read the objects of a split of several, which options o then open;
// nil if the split is not of objects. Close ends it.
func ReadAhead(split data.Split, o *data.ReaderOptions) *Ahead {
	if len(split.Files) == 0 || !Is(split.Path) {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &Ahead{asked: make(chan chan fetched, requests), cancel: cancel}
	go func() {
		defer close(a.asked)
		for _, o := range split.Files {
			answer := make(chan fetched, 1)
			select {
			case a.asked <- answer:
			case <-ctx.Done():
				return
			}
			go func() {
				text, err := readSmall(ctx, o)
				answer <- fetched{o.Path, text, err}
			}()
		}
	}()
	o.Open = a.Open
	return a
}

// Open opens the next object, which is that at path, or the last one again.
func (a *Ahead) Open(path string) (data.InputFile, error) {
	if a.last.path != path {
		answer, ok := <-a.asked
		if !ok {
			return nil, fmt.Errorf("%s: it is opened behind the last object", path)
		}
		a.last = <-answer
	}
	if a.last.err == nil && a.last.path != path {
		return nil, fmt.Errorf("%s: it is opened before %s", path, a.last.path)
	}
	return a.last.open()
}

func (c fetched) open() (data.InputFile, error) {
	if c.err != nil {
		return nil, c.err
	}
	return inMemory{bytes.NewReader(c.text)}, nil
}

// Close ends the reading. a may be nil.
func (a *Ahead) Close() error {
	if a == nil {
		return nil
	}
	a.cancel()
	for answer := range a.asked {
		<-answer
	}
	return nil
}

// readSmall reads an object with one request. Of one that has grown it reads a byte more
// than it had.
func readSmall(ctx context.Context, o data.SplitFile) (text []byte, err error) {
	bucket, key, err := split(o.Path)
	if err != nil {
		return nil, err
	}
	s, err := store()
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		body, _, _, err := s.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
		if err != nil {
			return nil, explained(o.Path, err)
		}
		text, err = io.ReadAll(io.LimitReader(body, o.Size+1))
		if err = errors.Join(err, body.Close()); err == nil {
			return text, nil
		}
		if try == retries || ctx.Err() != nil {
			return nil, fmt.Errorf("%s at offset %d: %w", o.Path, len(text), err)
		}
	}
}

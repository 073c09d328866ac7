package job

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
)

// Dump is what StopWords and Templates learn from.
type Dump struct {
	Config  config.Config
	Inputs  []string // as of a Request
	Workers int
	Pass    engine.Pass // over its bytes
}

// documents calls yield with documents, one after the other, up to its first
// error.
type documents func(yield func(*data.Document) error) error

// each calls read with the documents of every split, on the dump's workers, and
// what it returns, one call at a time. That there are none is an error.
func (d Dump) each(ctx context.Context, read func(documents) (merge func(), err error)) error {
	c := d.Config.Input
	splits, err := engine.Expand(d.Inputs, c, nil)
	if err != nil {
		return err
	}
	if err := source.CheckColumns(splits, c.ReaderOptions()); err != nil {
		return err
	}
	var documents atomic.Int64
	advance := d.Pass.Begin(engine.BytesOf(splits), "bytes")
	var mu sync.Mutex
	err = engine.Parallel(ctx, len(splits), d.Workers, func(ctx context.Context, i int) error {
		merge, err := read(func(yield func(*data.Document) error) error {
			return engine.EachDocument(ctx, splits[i], c, advance, func(doc *data.Document) error {
				documents.Add(1)
				return yield(doc)
			})
		})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		merge()
		return nil
	})
	if err != nil || documents.Load() > 0 {
		return err
	}
	return source.Textless(errNoDocuments, splits[0], c.ReaderOptions())
}

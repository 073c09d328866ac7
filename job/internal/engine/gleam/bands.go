//go:build linux

package gleam

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/counting"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// Most bands belong to a single document and can bring no pair together. Eight of a
// document's twelve postings are of bands, and most would be sent twice for nothing. So
// the command's host first counts, by a filter, which bands come more than once, and
// writes down for each document which of its bands another one may share. Only those
// are sent.

// kindBands names the files of shared bands, one for each split: a byte for each
// document, with a bit for each band.
const kindBands = "neardup shared bands 1"

var _ [8]struct{} = [sketch.Bands]struct{}{}

var bandsFolder = filepath.Join(rundir.State, "bands")

func bandsPath(dir *rundir.Dir, split int) string {
	return dir.Path(bandsFolder, rundir.PartName(split, ""))
}

// band is the band that a record is under, if its table is one of a band's.
func (p packing) band(key uint64) (band int, ok bool) { return p.bandOf(simhash.Key(key).Table()) }

func (p packing) bandOf(table int) (band int, ok bool) {
	band = table - p.tiers.Tables()
	return band, band >= 0 && band < sketch.Bands
}

// references counts, for each table, the references to documents under its keys
// that are sent, and those that are not since no other document has the band. It
// writes the files of shared bands.
func (p packing) references(ctx context.Context, job *engine.Job, documents *corpus.Documents) (sent, alone []uint64, err error) {
	limit := job.Config.Execution.MemoryLimit()
	counts := make([][]uint64, documents.Parts()) // of those sent, by split, by table
	mapped := make([][]uint64, documents.Parts()) // of all
	bands := counting.New(documents.Len()*sketch.Bands, limit/2)
	workers := runtime.GOMAXPROCS(0)
	err = parallel.Each(ctx, documents.Parts(), workers, func(ctx context.Context, split int) error {
		counts[split], mapped[split] = make([]uint64, p.tables), make([]uint64, p.tables)
		return bands.Add(func(yield func(doc, key uint64)) error {
			keys := mapper.NewKeyEmitter(p.tiers, p.rule)
			emit := func(r data.Posting) error {
				mapped[split][simhash.Key(r.Key).Table()]++
				if _, ok := p.band(r.Key); ok {
					yield(r.Doc, r.Key)
				}
				return nil
			}
			sizes := make([]uint64, len(p.tiers)) // a document has a posting in each segment table of its tiers
			err := documents.Each(ctx, documents.First(split), documents.First(split+1), p.columns(), func(doc uint64, r *views.Row) error {
				p.tiers.Count(sizes, &r.View)
				return keys.Postings(p.tiers.Tables(), p.tables, &r.View, doc, emit)
			})
			table := 0
			for i, n := range sizes {
				for range p.tiers[i].Layout.Tables() {
					mapped[split][table] = n
					table++
				}
			}
			return err
		})
	})
	for split := range mapped {
		for t, n := range mapped[split] {
			if _, ok := p.bandOf(t); !ok {
				counts[split][t] = n
			}
		}
	}
	if err == nil && p.rule.Bands {
		err = parallel.Each(ctx, documents.Parts(), workers, func(ctx context.Context, split int) error {
			return p.writeShared(ctx, job.Dir, documents, split, bands, counts[split])
		})
	}
	sent, alone = make([]uint64, p.tables), make([]uint64, p.tables)
	for split := range counts {
		for t, n := range counts[split] {
			sent[t] += n
			alone[t] += mapped[split][t] - n
		}
	}
	return sent, alone, err
}

// writeShared writes which bands of the documents of a split are shared, and
// counts them.
func (p packing) writeShared(ctx context.Context, dir *rundir.Dir, documents *corpus.Documents, split int, bands *counting.Filter, counts []uint64) error {
	first := documents.First(split)
	shared := make([]byte, documents.First(split+1)-first)
	err := bands.Repeated(func(yield func(doc, key uint64)) error {
		keys, table := mapper.NewKeyEmitter(p.tiers, p.rule), p.tiers.Tables()
		emit := func(r data.Posting) error {
			yield(r.Doc, r.Key)
			return nil
		}
		return documents.Each(ctx, first, documents.First(split+1), p.columns(), func(doc uint64, r *views.Row) error {
			return keys.Postings(table, table+sketch.Bands, &r.View, doc, emit)
		})
	}, func(doc, key uint64) {
		band, _ := p.band(key)
		shared[doc-first] |= 1 << band
		counts[simhash.Key(key).Table()]++
	})
	if err != nil {
		return err
	}
	path, err := dir.Part(bandsFolder, split, "")
	if err != nil {
		return err
	}
	return state.Write(path, kindBands, shared)
}

// sharedBands reads which bands of the documents from first to last − 1 are
// shared; nil without bands.
func (w *worker) sharedBands(p packing, documents *corpus.Documents, first, last uint64) (shared []byte, err error) {
	if !p.rule.Bands || first == last {
		return nil, nil
	}
	dir, err := rundir.Attach(w.spec.Run)
	if err != nil {
		return nil, err
	}
	for split := documents.Part(first); split < documents.Parts() && documents.First(split) < last; split++ {
		from, to := documents.First(split), documents.First(split+1)
		of, err := state.Read(bandsPath(dir, split), kindBands)
		if err != nil {
			return nil, fmt.Errorf("this host does not see which bands are shared: %w", err)
		}
		if uint64(len(of)) != to-from {
			return nil, fmt.Errorf("%w: %s: %d documents of %d", state.ErrDamaged, bandsPath(dir, split), len(of), to-from)
		}
		shared = append(shared, of[max(first, from)-from:min(last, to)-from]...)
	}
	return shared, nil
}

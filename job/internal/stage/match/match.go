// Package match is the stages match, texts and verify.
//
// In match the engine joins the documents, and verifies candidate pairs by their
// sketches. Pairs near the limit stay undecided. In texts, if the settings say so,
// a task for each split reads the documents of these pairs again. In verify their
// signatures decide, or their texts.
package match

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/signatures"
	"github.com/neardup/neardup/job/internal/state/texts"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// Join is the task of match: the engine joins the documents, and Join writes the
// pairs, and for each split which texts the stage texts has to read. The record
// counts documents, in and out.
func Join(ctx context.Context, r *stage.Run, rec *rundir.TaskRecord) (err error) {
	documents, err := r.Documents()
	if err != nil {
		return err
	}
	rec.RowsIn, rec.RowsOut = int64(documents.Len()), int64(documents.Len())
	path := r.Dir.Path(rundir.State, stage.MatchedFile)
	out, err := pairs.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	var mu sync.Mutex
	open := map[uint64]bool{} // documents of undecided pairs whose texts are to be read
	consults := r.Config.Match.Consults()
	err = r.Engine.Match(ctx, r.Job, documents, func(found []data.Pair) error {
		batch := make([]pairs.Pair, len(found))
		for i, p := range found {
			batch[i] = pairs.Pair{Pair: p, Overlap: data.UnknownOverlap()}
			if consults && p.Evidence.Reason == data.Undecided {
				mu.Lock()
				open[p.A], open[p.B] = true, true
				mu.Unlock()
			}
		}
		return out.Add(batch)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", stage.Match, err)
	}
	rec.Tables = r.Job.Tables
	for _, t := range rec.Tables {
		r.Log.Debug("table joined", "table", t.Table, "postings", t.Postings, "keys", t.Keys, "largest_mapped", t.LargestMapped, "posting_lists", t.PostingLists, "largest", t.Largest, "compared", t.Compared, "candidates", t.Candidates, "pairs", t.Pairs)
	}
	if err := want(r, documents, open); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	rec.Outputs = []string{filepath.Join(rundir.State, stage.MatchedFile)}
	return nil
}

// want writes, for each split, the rows of the documents in open.
func want(r *stage.Run, documents *corpus.Documents, open map[uint64]bool) error {
	if err := os.RemoveAll(r.Dir.Path(rundir.State, texts.WantedFolder)); err != nil {
		return err
	}
	rows := map[int][]int64{}
	for doc := range open {
		task := documents.Part(doc)
		rows[task] = append(rows[task], int64(doc-documents.First(task)))
	}
	for task, wanted := range rows {
		slices.Sort(wanted)
		if err := texts.WriteRows(r.StatePath(texts.WantedFolder)(task), wanted); err != nil {
			return err
		}
	}
	return nil
}

// Verify is the task of verify: signatures or the texts decide the undecided pairs. It
// keeps the pairs that they refuse too, since the run's self-check needs them.
func Verify(ctx context.Context, r *stage.Run, rec *rundir.TaskRecord) (err error) {
	documents, err := r.Documents()
	if err != nil {
		return err
	}
	var open []pairs.Pair
	err = pairs.Each(ctx, r.Dir.Path(rundir.State, stage.MatchedFile), func(p pairs.Pair) error {
		if p.Evidence.Reason == data.Undecided {
			open = append(open, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(open, pairs.Compare)
	open = slices.CompactFunc(open, func(p, q pairs.Pair) bool { return pairs.Compare(p, q) == 0 })
	settle := bySignatures
	if r.Config.Match.Consults() {
		settle = byTexts
	}
	if err := settle(ctx, r, documents, open); err != nil {
		return fmt.Errorf("%s: %w", stage.Verify, err)
	}
	out, err := pairs.Create(r.Dir.Path(rundir.State, stage.ResolvedFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	if err := errors.Join(out.Add(open), out.Commit()); err != nil {
		return err
	}
	rec.RowsIn, rec.RowsOut = int64(len(open)), int64(len(open))
	rec.Outputs = []string{filepath.Join(rundir.State, stage.ResolvedFile)}
	return nil
}

// byTexts sets the evidence of all open pairs to what the texts say.
func byTexts(ctx context.Context, r *stage.Run, documents *corpus.Documents, open []pairs.Pair) error {
	shingles := texts.Open(r.StatePath(texts.ShinglesFolder), documents.Folder, r.Config.Execution.MemoryLimit()/2)
	order := byComponent(open)
	err := parallel.Each(ctx, r.Workers, r.Workers, func(ctx context.Context, w int) error {
		return consult(ctx, r, shingles, open, order[len(order)*w/r.Workers:len(order)*(w+1)/r.Workers])
	})
	if err != nil {
		return err
	}
	contained, of := containedDocuments(open, order)
	refused := make([][]int, r.Workers) // places of pairs
	err = parallel.Each(ctx, r.Workers, r.Workers, func(ctx context.Context, w int) (err error) {
		refused[w], err = refuseShared(ctx, r, shingles, open, contained[len(contained)*w/r.Workers:len(contained)*(w+1)/r.Workers], of)
		return err
	})
	for _, i := range slices.Concat(refused...) {
		open[i].Evidence.Reason = data.NotTheSame
	}
	return err
}

// containedDocuments returns the documents that others contain, in the order of their
// pairs, and for each of them the places of its pairs in open. It leaves out those of too
// few pairs for any page to be refused.
func containedDocuments(open []pairs.Pair, order []uint32) (contained []uint64, of map[uint64][]int) {
	of = map[uint64][]int{}
	for i := range open {
		if doc, ok := containedOf(&open[i]); ok {
			of[doc] = nil
		}
	}
	for i := range open {
		for _, doc := range [...]uint64{open[i].A, open[i].B} {
			if places, ok := of[doc]; ok {
				of[doc] = append(places, i)
			}
		}
	}
	seen := map[uint64]bool{}
	for _, i := range order {
		if doc, ok := containedOf(&open[i]); ok && !seen[doc] && len(of[doc]) >= mapper.OwnPages {
			seen[doc] = true
			contained = append(contained, doc)
		}
	}
	return contained, of
}

// containedOf returns the document that the other one of a pair contains.
func containedOf(p *pairs.Pair) (doc uint64, ok bool) {
	switch p.Evidence.Reason {
	case data.Contains:
		return p.B, true
	case data.Contained:
		return p.A, true
	}
	return 0, false
}

// refuseShared returns the places of those pairs in which one text is contained in the
// other by what many other pages have too. For each of the documents it looks at the
// texts of all its pairs in open, whose places are in of: pages that have a note of some
// length are candidates with a page that is little more than the note.
func refuseShared(ctx context.Context, r *stage.Run, shingles *texts.Reader, open []pairs.Pair, contained []uint64, of map[uint64][]int) (refused []int, err error) {
	var own mapper.Own
	var x, y mapper.Text
	for _, doc := range contained {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := shingles.Read(doc, &x); err != nil {
			return nil, err
		}
		own.Reset(x.Shingles)
		other := func(i int) error { return shingles.Read(open[i].A+open[i].B-doc, &y) }
		for _, i := range of[doc] {
			if err := other(i); err != nil {
				return nil, err
			}
			own.Add(y.Shingles)
		}
		if !own.Shared() {
			continue
		}
		for _, i := range of[doc] {
			if in, ok := containedOf(&open[i]); !ok || in != doc {
				continue
			}
			if err := other(i); err != nil {
				return nil, err
			}
			if !own.Within(y.Shingles, r.Config.Match.Containment) {
				refused = append(refused, i)
			}
		}
	}
	return refused, nil
}

// bySignatures sets the evidence of all open pairs to what signatures say. It takes as
// many pairs at a time as a quarter of the memory cap holds signatures for.
func bySignatures(ctx context.Context, r *stage.Run, documents *corpus.Documents, open []pairs.Pair) error {
	const pairBytes = 2 * (sketch.SignatureSize + 32) // of two documents and their numbers
	most := int(max(1<<10, r.Config.Execution.MemoryLimit()/4/pairBytes))
	for some := range slices.Chunk(open, most) {
		var docs []uint64
		for i := range some {
			docs = append(docs, some[i].A, some[i].B)
		}
		slices.Sort(docs)
		docs = slices.Compact(docs)
		signed, err := signatures.Read(ctx, r.StatePath(signatures.Folder), documents.Folder, r.Workers, docs)
		if err != nil {
			return err
		}
		of := func(doc uint64) mapper.Signed {
			i, _ := slices.BinarySearch(docs, doc)
			return signed[i]
		}
		verify := mapper.NewVerifier(method.Rule(r.Config.Match))
		for i := range some {
			some[i].Evidence = verify.SettleSigned(some[i].Evidence, of(some[i].A), of(some[i].B))
		}
	}
	return nil
}

// byComponent returns indices of pairs in the order in which to read their texts.
// Pairs that a chain connects come together, wherever their documents are in the
// input, so that few texts have to be in memory at once.
func byComponent(open []pairs.Pair) []uint32 {
	first := map[uint64]uint64{} // union-find: the parent of a document, an earlier one that is connected with it
	root := func(doc uint64) uint64 {
		for {
			parent, ok := first[doc]
			if !ok {
				return doc
			}
			if next, ok := first[parent]; ok {
				first[doc] = next
			}
			doc = parent
		}
	}
	for i := range open {
		if a, b := root(open[i].A), root(open[i].B); a != b {
			first[max(a, b)] = min(a, b)
		}
	}
	order := make([]uint32, len(open))
	for i := range order {
		order[i] = uint32(i)
	}
	roots := make([]uint64, len(open))
	for i := range open {
		roots[i] = root(open[i].A)
	}
	slices.SortFunc(order, func(i, j uint32) int { return cmp.Or(cmp.Compare(roots[i], roots[j]), cmp.Compare(i, j)) })
	return order
}

// consult sets the evidence of open[places[i]], for all i, to what the texts say.
func consult(ctx context.Context, r *stage.Run, shingles *texts.Reader, open []pairs.Pair, places []uint32) error {
	verify := mapper.NewVerifier(method.Rule(r.Config.Match))
	var x, y mapper.Text
	for i, place := range places {
		if i&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p := &open[place]
		var err error
		if i == 0 || p.A != open[places[i-1]].A {
			if err = shingles.Read(p.A, &x); err != nil {
				return err
			}
		}
		if err = shingles.Read(p.B, &y); err != nil {
			return err
		}
		p.Evidence.Reason, p.Overlap, _ = verify.Settle(&x, &y)
	}
	return nil
}

// Joined checks that the join had all documents.
func Joined(_ context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	if rec := records[0]; rec.RowsIn != r.Sum.Documents {
		return fmt.Errorf("%s: %w: %d documents numbered, %d came in", stage.Match, rundir.ErrNotConserved, r.Sum.Documents, rec.RowsIn)
	}
	r.Sum.Tables = records[0].Tables
	return nil
}

// Consulted checks that all texts that verify needs were read.
func Consulted(_ context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	for _, rec := range records {
		if rec.RowsIn != rec.RowsOut {
			return fmt.Errorf("%s: %w: the texts of %d documents were asked for, %d were read", rec.Stage, rundir.ErrNotConserved, rec.RowsIn, rec.RowsOut)
		}
	}
	return nil
}

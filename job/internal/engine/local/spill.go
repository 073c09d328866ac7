package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/spill"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/columns"
)

// spiller is the join on disk. Each step deals records into buckets such that
// records that belong together share a bucket and a bucket fits into memory.
// Then each worker loads one bucket at a time.
//
//	documents of a tier
//	   │ 1 deal by hash of the fingerprint
//	   ▼
//	collapse ── documents of one fingerprint ─────────────────────┐
//	   │ 2 distinct fingerprints, by their block in table 0       │
//	   ▼                                                          │
//	table 0 ─► table 1 ─► … ── near pairs of fingerprints         │
//	                             │ 3 by hash of the first, then   │
//	                             ▼   of the second                │
//	                           name: fingerprints ─► documents ───┤
//	documents ── 4 other tables, by value ────────────────────────┤
//	                                                              ▼
//	                                                      candidate pairs
//	                             5 by first document, then by second,
//	                               to attach views ─► verified pairs
//
// The steps, and the methods that do them:
//
//  1. deal, collapse: the documents of each distinct fingerprint come together.
//     They are candidates of each other; one record of the fingerprint goes on.
//  2. nearTable: in each segment table, fingerprints that share a block are
//     compared. All fingerprints are dealt again for the next table.
//  3. name: each pair of near fingerprints becomes the pairs of their documents.
//     Without verification the join ends here.
//  4. shared: documents that share a value of any other table are candidates. Where
//     the table's postings carry views, their pairs get the verdict at once.
//  5. verify: the candidates get the views of both documents, and a verdict.
type spiller[F columns.Fingerprint] struct {
	*join
	dir      string
	tier     *mapper.Tier    // at hand
	first    int             // number of its first table
	distinct *spill.Buckets  // records of fingerprint and document of the tier, sorted within each bucket
	n        int             // number of buckets of fingerprints
	blocks   int             // number of buckets of a segment table
	open     *spill.Buckets  // candidates, a bucket for each chunk of first documents
	chunks   int             // number of chunks of documents; the views of a chunk fit into memory
	readers  []*views.Reader // by worker
	advance  func(int64)     // progress of the search for near fingerprints, in parts
}

func spilled[F columns.Fingerprint](ctx context.Context, j *join) (err error) {
	base := j.job.Config.Execution.Tmp
	if base == "" {
		base = j.job.Dir.Path(rundir.Scratch)
	}
	dir, err := os.MkdirTemp(base, "neardup-match-*")
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &spiller[F]{join: j, dir: dir}
	j.job.Log.Info("the documents do not fit under the memory cap: matching by way of the disk", "documents", j.documents.Len(), "cap", j.limit, "folder", dir)

	// Each worker holds one bucket of fingerprints, which it sorts or joins, or one
	// chunk of views. So a bucket may take the memory cap divided by the workers.
	documents := int64(j.documents.Len())
	parts := func(bytes int64) int { return int(documents*bytes*int64(j.workers)/j.limit) + j.workers }
	s.n, s.blocks, s.chunks = parts(2*7*int64(width[F]())), parts(6*int64(width[F]())), parts(2*j.viewBytes())
	s.open = s.buckets(s.chunks, candidateBytes, false)
	defer func() { err = errors.Join(err, s.open.Close()) }()
	s.readers = perWorker(s.workers, func(int) *views.Reader { return s.documents.Reader() })
	defer func() {
		for _, r := range s.readers {
			r.Close()
		}
	}()
	for t := range s.tiers {
		s.tier = &s.tiers[t]
		if err := s.near(ctx); err != nil {
			return err
		}
		s.first += s.tier.Layout.Tables()
	}
	if j.rule.Sketched() {
		if err := s.shared(ctx); err != nil {
			return err
		}
	}
	if j.rule.Verified {
		if err := s.verify(ctx); err != nil {
			return err
		}
	}
	return j.out.flush()
}

func (s *spiller[F]) buckets(n, head int, tail bool) *spill.Buckets {
	return spill.New(n, spill.Options{Dir: s.dir, Head: head, Tail: tail})
}

// perWorker returns, for each worker, the value that of makes for it.
func perWorker[T any](workers int, of func(worker int) T) []T {
	all := make([]T, workers)
	for w := range all {
		all[w] = of(w)
	}
	return all
}

func (s *spiller[F]) dealers(to *spill.Buckets) []*spill.Dealer {
	return perWorker(s.workers, func(int) *spill.Dealer { return to.Dealer() })
}

func flush(dealers []*spill.Dealer) (err error) {
	for _, d := range dealers {
		err = errors.Join(err, d.Flush())
	}
	return err
}

// candidateBytes is the size of a candidate's record: both documents, the table,
// and the key.
const candidateBytes = 2*state.NumberBytes + 1 + 4

func packCandidate(dst []byte, c *mapper.Candidate) []byte {
	dst = append(state.AppendNumber(state.AppendNumber(dst, c.A), c.B), byte(int8(c.Table)))
	return binary.LittleEndian.AppendUint32(dst, uint32(c.Key))
}

func unpackCandidate(b []byte) mapper.Candidate {
	numbers, b := b, b[2*state.NumberBytes:]
	return mapper.Candidate{
		A: state.Number(numbers), B: state.Number(numbers[state.NumberBytes:]),
		Table: int(int8(b[0])), Key: uint64(binary.LittleEndian.Uint32(b[1:])),
	}
}

// comparers returns a Comparer for each worker, which writes its candidates to
// s.open by way of the worker's dealer. The caller must flush the dealers.
func (s *spiller[F]) comparers() ([]*mapper.Comparer, []*spill.Dealer) {
	dealers := s.dealers(s.open)
	return perWorker(s.workers, func(w int) *mapper.Comparer {
		var record []byte
		return mapper.NewComparer(s.rule, s.readers[w].View, func(c mapper.Candidate) error {
			record = packCandidate(record[:0], &c)
			return dealers[w].Put(s.chunk(c.A), record, nil)
		})
	}), dealers
}

// chunk returns the chunk that a document belongs to.
func (s *spiller[F]) chunk(doc uint64) int {
	return int(doc / s.chunkDocuments())
}

func (s *spiller[F]) chunkDocuments() uint64 {
	return s.documents.Len()/uint64(s.chunks) + 1
}

// near does steps 1 to 3 for the tier: it finds documents with the same fingerprint,
// and documents whose fingerprints are within the distance.
func (s *spiller[F]) near(ctx context.Context) (err error) {
	tables := s.tier.Layout.Tables()
	passes := 4 + tables // deal, collapse, the tables, and name twice
	s.advance = s.job.Pass.Begin(int64(passes*passParts), "parts")
	s.distinct = s.buckets(s.n, width[F]()+state.NumberBytes, false)
	defer func() { err = errors.Join(err, s.distinct.Close()) }()
	raw := s.buckets(s.n, width[F]()+state.NumberBytes, false)
	defer func() { err = errors.Join(err, raw.Close()) }()
	if err := s.deal(ctx, raw); err != nil {
		return err
	}
	next := s.table()
	defer func() { err = errors.Join(err, next.Close()) }()
	if err := s.collapse(ctx, raw, next); err != nil {
		return err
	}
	found := s.buckets(s.n, 2*width[F]()+1, false)
	defer func() { err = errors.Join(err, found.Close()) }()
	for table := range tables {
		this := next
		next = s.table()
		if err := errors.Join(s.nearTable(ctx, table, this, next, found), this.Close()); err != nil {
			return err
		}
	}
	return s.name(ctx, found)
}

// passParts is the number of parts, for progress, that a pass over the
// fingerprints counts for.
const passParts = 1000

// done reports to advance that item i of the n items of a pass is done.
func (s *spiller[F]) done(i, n int) { s.advance(int64(passParts*(i+1)/n - passParts*i/n)) }

// deal writes a record of fingerprint and document number for each document of the
// tier, dealt by a hash of the fingerprint.
func (s *spiller[F]) deal(ctx context.Context, raw *spill.Buckets) error {
	out := s.dealers(raw)
	err := s.each(ctx, s.documents.Parts(), func(worker, split int) error {
		defer s.done(split, s.documents.Parts())
		var record []byte
		return s.documents.Each(ctx, s.documents.First(split), s.documents.First(split+1), views.Reading(s.tier.Reads()), func(doc uint64, r *views.Row) error {
			if !s.tier.Has(&r.View) {
				return nil
			}
			f := mapper.Segments[F](&r.View)
			record = state.AppendNumber(appendValue(record[:0], f), doc)
			return out[worker].Put(bucketOf(f, s.n), record, nil)
		})
	})
	return errors.Join(err, flush(out))
}

// collapse sorts the buckets of raw into s.distinct, and deals each distinct
// fingerprint to first, by its block in the tier's first table. In the first tier it
// compares the documents of each fingerprint with each other. It drops the buckets of
// raw.
func (s *spiller[F]) collapse(ctx context.Context, raw, first *spill.Buckets) error {
	compare, candidates := s.comparers()
	out, blocks := s.dealers(s.distinct), s.dealers(first)
	keys := make([][]*shuffle.Keys[F], s.tier.Layout.Tables()) // by table and worker
	for table := range keys {
		keys[table] = perWorker(s.workers, func(int) *shuffle.Keys[F] { return shuffle.NewKeys[F](s.tier.Layout, table) })
	}
	err := s.each(ctx, s.n, func(worker, b int) error {
		defer s.done(b, s.n)
		var members []uint64
		var of F // the fingerprint of all members
		group := func() error {
			for table := range keys {
				if len(members) > 0 {
					keys[table][worker].Add(&of, len(members))
				}
			}
			if s.first > 0 {
				return nil
			}
			return compare[worker].Shared(mapper.SegmentTables, 0, members)
		}
		last := make([]byte, 0, width[F]())
		err := raw.Sorted(b, func(record, _ []byte) error {
			fp := record[:width[F]()]
			if !bytes.Equal(fp, last) {
				if err := group(); err != nil {
					return err
				}
				of = value[F](fp)
				if err := s.putBlock(blocks[worker], 0, of, fp); err != nil {
					return err
				}
				last, members = append(last[:0], fp...), members[:0]
			}
			members = append(members, state.Number(record[width[F]():]))
			return out[worker].Put(b, record, nil)
		})
		if err == nil {
			err = group()
		}
		return errors.Join(err, raw.Drop(b))
	})
	for table := range keys {
		shuffle.AddKeys(s.counts[s.first+table], keys[table]...)
	}
	return errors.Join(err, flush(out), flush(blocks), flush(candidates))
}

// table returns empty buckets for the distinct fingerprints of a segment table.
func (s *spiller[F]) table() *spill.Buckets { return s.buckets(s.blocks, width[F](), false) }

// putBlock puts record, which holds the fingerprint f, into the bucket of f's
// block in a table.
func (s *spiller[F]) putBlock(to *spill.Dealer, table int, f F, record []byte) error {
	return to.Put(bucketOf(columns.Masked(f, s.tier.Layout.Block(table)), s.blocks), record, nil)
}

// nearTable finds the near pairs of a segment table, bucket by bucket. It deals
// each pair to found by its first fingerprint, and every fingerprint to next by
// its block in the next table, if there is one. It drops the buckets of this.
func (s *spiller[F]) nearTable(ctx context.Context, table int, this, next, found *spill.Buckets) error {
	w := width[F]()
	reduce := make([]*shuffle.Worker[F], s.workers)
	out, blocks := s.dealers(found), s.dealers(next)
	err := s.each(ctx, s.blocks, func(worker, b int) error {
		defer s.done(b, s.blocks)
		heads, err := this.Load(b)
		if err != nil {
			return err
		}
		if table+1 < s.tier.Layout.Tables() {
			for at := 0; at < len(heads); at += w {
				if err := s.putBlock(blocks[worker], table+1, value[F](heads[at:]), heads[at:at+w]); err != nil {
					return err
				}
			}
		}
		values := inPlace[F](heads)
		if reduce[worker] == nil {
			reduce[worker] = shuffle.NewWorker[F](s.tier)
		}
		var record []byte
		var failed error
		err = reduce[worker].Bucket(ctx, table, values, s.counts[s.first+table], func(x, y *F, distance int) {
			record = append(appendValue(appendValue(record[:0], *x), *y), byte(distance))
			if failed == nil {
				failed = out[worker].Put(bucketOf(*x, s.n), record, nil)
			}
		})
		return errors.Join(err, failed, this.Drop(b))
	})
	return errors.Join(err, flush(out), flush(blocks))
}

// name replaces fingerprints by their documents, in two passes over s.distinct.
// The first turns records (first, second, distance) into (second, distance),
// dealt by second, with the documents of first as tail. The second compares
// these documents with those of second.
func (s *spiller[F]) name(ctx context.Context, found *spill.Buckets) (err error) {
	named := s.buckets(s.n, width[F]()+1, true)
	defer func() { err = errors.Join(err, named.Close()) }()
	out, tails := s.dealers(named), make([][]byte, s.workers)
	err = s.eachNamed(ctx, found, func(worker int, head, _ []byte, first []uint64) error {
		tail := tails[worker][:0]
		for _, doc := range first {
			tail = state.AppendNumber(tail, doc)
		}
		tails[worker] = tail
		second := head[width[F]():]
		return out[worker].Put(bucketOf(value[F](second), s.n), second, tail)
	})
	if err := errors.Join(err, flush(out)); err != nil {
		return err
	}
	compare, candidates := s.comparers()
	firsts := make([][]uint64, s.workers)
	err = s.eachNamed(ctx, named, func(worker int, head, tail []byte, second []uint64) error {
		first := firsts[worker][:0]
		for ; len(tail) > 0; tail = tail[state.NumberBytes:] {
			first = append(first, state.Number(tail))
		}
		firsts[worker] = first
		distance := head[len(head)-1]
		if !s.rule.Verified {
			a, b := first[0], second[0]
			s.out.add(worker, data.Pair{A: min(a, b), B: max(a, b), Distance: distance})
			return nil
		}
		return compare[worker].Near(first, second, int(distance))
	})
	return errors.Join(err, flush(candidates))
}

// eachNamed calls yield with each record and the documents, ascending, of the
// fingerprint that the record begins with. docs holds at most mapper.MostNear of
// them and is reused. Workers call yield concurrently. eachNamed drops the
// buckets of records.
func (s *spiller[F]) eachNamed(ctx context.Context, records *spill.Buckets, yield func(worker int, head, tail []byte, docs []uint64) error) error {
	return s.each(ctx, s.n, func(worker, b int) error {
		defer s.done(b, s.n)
		if records.Len(b) == 0 {
			return nil
		}
		w, size := width[F](), width[F]()+state.NumberBytes
		all, err := s.distinct.Load(b)
		if err != nil {
			return err
		}
		var docs []uint64
		var of []byte // the fingerprint that docs are of
		err = records.Sorted(b, func(head, tail []byte) error {
			if f := head[:w]; !bytes.Equal(f, of) {
				for bytes.Compare(all[:w], f) < 0 {
					all = all[size:]
				}
				of, docs = all[:w], docs[:0]
				for ; len(all) > 0 && bytes.Equal(all[:w], of); all = all[size:] {
					if len(docs) < mapper.MostNear {
						docs = append(docs, state.Number(all[w:]))
					}
				}
			}
			return yield(worker, head, tail, docs)
		})
		return errors.Join(err, records.Drop(b))
	})
}

// shared finds the candidates of all tables of mapper.Tables.
func (s *spiller[F]) shared(ctx context.Context) error {
	advance := s.job.Pass.Begin(int64(len(mapper.Tables)), "tables")
	for table := range mapper.Tables {
		if err := s.sharedTable(ctx, table); err != nil {
			return err
		}
		advance(1)
	}
	return nil
}

// Buckets for the values of a table, for each bucket of fingerprints: a document has
// tens of sampled values, and a view is many times as long as a value.
const (
	sampledBuckets  = 4
	carryingBuckets = 32
)

// sharedTable deals the values of a table, each with its document, by a hash of
// the value, and compares the documents that share one.
func (s *spiller[F]) sharedTable(ctx context.Context, table int) (err error) {
	n, columns, carries := s.n, views.Reading(mapper.Tables[table].Reads), mapper.Tables[table].Carries && s.rule.Verified
	switch {
	case table == mapper.Samples:
		n *= sampledBuckets
	case carries:
		n *= carryingBuckets
		columns |= views.Verdict
	}
	dealt := s.buckets(n, 4+state.NumberBytes, carries)
	defer func() { err = errors.Join(err, dealt.Close()) }()
	deal := dealt.Dealer()
	values := mapper.NewKeyEmitter(nil, s.rule)
	var record, tail []byte
	err = s.documents.Each(ctx, 0, s.documents.Len(), columns, func(doc uint64, r *views.Row) error {
		of := values.Values(table, &r.View)
		if carries && len(of) > 0 {
			tail = r.View.Append(tail[:0])
		}
		for _, v := range of {
			record = state.AppendNumber(binary.BigEndian.AppendUint32(record[:0], uint32(v)), doc)
			if err := deal.Put(mapper.Shard(v, n), record, tail); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, deal.Flush()); err != nil {
		return err
	}
	compare, candidates := s.comparers()
	err = s.each(ctx, n, func(worker, b int) error {
		shared, name := compare[worker].Shared, func(doc uint64, _ []byte) uint64 { return doc }
		if carries {
			c := s.newCarried(worker)
			defer c.AddTo(s.counts[s.tiers.Tables():])
			shared, name = c.Shared, c.place
		}
		var docs []uint64
		var did rundir.TableCount
		last := uint32(0)
		group := func() error {
			shuffle.AddDocuments(&did, int64(len(docs)))
			return shared(table, uint64(last), docs)
		}
		err := dealt.Sorted(b, func(r, tail []byte) error {
			if v := binary.BigEndian.Uint32(r); v != last {
				if err := group(); err != nil {
					return err
				}
				last, docs = v, docs[:0]
			}
			docs = append(docs, name(state.Number(r[4:]), tail))
			return nil
		})
		if err == nil {
			err = group()
		}
		s.count(table).Add(did)
		return errors.Join(err, dealt.Drop(b))
	})
	return errors.Join(err, flush(candidates))
}

// carried are the documents of a bucket whose postings carry their views.
type carried struct {
	*shuffle.Verdicts
	views *mapper.Units
	docs  []uint64 // by place in views
}

// newCarried returns those of an empty bucket. The worker gets their pairs.
func (s *spiller[F]) newCarried(worker int) *carried {
	c := &carried{views: mapper.NewUnits(true)}
	c.Verdicts = shuffle.NewVerdicts(s.rule, c.views, func(p data.Pair) {
		p.A, p.B = c.docs[p.A], c.docs[p.B]
		s.out.add(worker, p)
	})
	return c
}

// place adds a document and returns its place.
func (c *carried) place(doc uint64, view []byte) uint64 {
	var v data.View
	v.Unpack(view)
	c.views.Append(&v)
	c.docs = append(c.docs, doc)
	return uint64(len(c.docs) - 1)
}

// verify gives a verdict on the candidates, in two passes over the views, a chunk
// at a time. The first attaches to each candidate the view of its first
// document and deals it by its second. The second pass has both views.
func (s *spiller[F]) verify(ctx context.Context) (err error) {
	attached := s.buckets(s.chunks, candidateBytes, true)
	defer func() { err = errors.Join(err, attached.Close()) }()
	out := s.dealers(attached)
	advance := s.job.Pass.Begin(2*int64(s.chunks), "parts")
	err = s.each(ctx, s.chunks, func(worker, chunk int) error {
		defer advance(1)
		view, err := s.loadChunk(ctx, chunk, s.open)
		if err != nil {
			return err
		}
		var a data.View
		var tail []byte
		err = s.open.Each(chunk, func(head, _ []byte) error {
			c := unpackCandidate(head)
			view(c.A, &a)
			tail = a.Append(tail[:0])
			return out[worker].Put(s.chunk(c.B), head, tail)
		})
		return errors.Join(err, s.open.Drop(chunk))
	})
	if err := errors.Join(err, flush(out)); err != nil {
		return err
	}
	return s.each(ctx, s.chunks, func(worker, chunk int) error {
		defer advance(1)
		view, err := s.loadChunk(ctx, chunk, attached)
		if err != nil {
			return err
		}
		verify, did := mapper.NewVerifier(s.rule), make([]rundir.TableCount, len(mapper.Tables))
		var a, b data.View
		err = attached.Each(chunk, func(head, tail []byte) error {
			c := unpackCandidate(head)
			a.Unpack(tail)
			view(c.B, &b)
			p, ok := verify.Pair(&c, &a, &b)
			if ok {
				s.out.add(worker, p)
			}
			if c.Table >= 0 {
				did[c.Table].Candidates++
				if ok {
					did[c.Table].Pairs++
				}
			}
			return nil
		})
		for table := range did {
			s.count(table).Add(did[table])
		}
		return errors.Join(err, attached.Drop(chunk))
	})
}

// loadChunk reads the views of a chunk of documents. It returns a function that
// gives the view of one of them, or nil if records has none for the chunk.
func (s *spiller[F]) loadChunk(ctx context.Context, chunk int, records *spill.Buckets) (view func(doc uint64, v *data.View), err error) {
	if records.Len(chunk) == 0 {
		return nil, nil
	}
	first := uint64(chunk) * s.chunkDocuments()
	last := min(first+s.chunkDocuments(), s.documents.Len())
	loaded := mapper.NewUnits(true)
	places := make([]uint32, last-first)
	err = s.documents.Each(ctx, first, last, views.Verdict, func(doc uint64, r *views.Row) error {
		places[doc-first] = uint32(loaded.Len())
		loaded.Append(&r.View)
		return nil
	})
	return func(doc uint64, v *data.View) { loaded.View(places[doc-first], v) }, err
}

// bucketOf returns the bucket, of n, of a fingerprint. It hashes, so buckets fill
// evenly whatever the distribution of f. Equal fingerprints share a bucket.
func bucketOf[F columns.Fingerprint](f F, n int) int {
	w := words(&f)
	return mapper.Salt(w[len(w)-1], w[0], n)
}

// words returns the one or two 64-bit words of a fingerprint, sharing its memory.
func words[F columns.Fingerprint](f *F) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(f)), unsafe.Sizeof(*f)/8)
}

func width[F columns.Fingerprint]() int { return int(unsafe.Sizeof(*new(F))) }

// appendValue appends a fingerprint in big-endian order, so that records sort as
// fingerprints do.
func appendValue[F columns.Fingerprint](dst []byte, f F) []byte {
	for _, x := range words(&f) {
		dst = binary.BigEndian.AppendUint64(dst, x)
	}
	return dst
}

func value[F columns.Fingerprint](b []byte) (f F) {
	w := words(&f)
	for i := range w {
		w[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return f
}

// inPlace decodes consecutive fingerprints that appendValue wrote. The result
// shares the memory of b and overwrites it.
func inPlace[F columns.Fingerprint](b []byte) []F {
	w := width[F]()
	all := unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/w)
	for i := range all {
		all[i] = value[F](b[i*w:])
	}
	return all
}

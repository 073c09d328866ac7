package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/hamming"
)

// spiller is the join by way of the disk. Everything is dealt into buckets
// that fit under the memory cap, one bucket is worked on at a time:
//
//  1. collapse: (fingerprint, document) by a hash of the fingerprint; identical
//     ones meet, are reported, and leave one (value, representative) each;
//  2. join: the distinct values by their block in one table of the plan after
//     the other; what the kernel finds is (value, value, distance);
//  3. name: those by a hash of the first value, then of the second, to put the
//     representatives of step 1 in the values' place.
type spiller[F hamming.Fingerprint] struct {
	workers int
	limit   int64
	dir     string
	bits    int
	k       int
	plan    *hamming.Plan // nil: chosen by N
	out     *batches
}

func spill[F hamming.Fingerprint](ctx context.Context, workers int, limit int64, job *engine.Job, documents *numbered.Folder, emit func([]data.Pair) error, pack func(hi, lo uint64) F) (err error) {
	base := job.Config.Execution.Tmp
	if base == "" {
		base = job.Dir.Path(rundir.Scratch)
	}
	dir, err := os.MkdirTemp(base, "neardup-match-*")
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plan, err := job.Config.Plan()
	if err != nil {
		return err
	}
	s := &spiller[F]{plan: plan, workers: workers, limit: limit, dir: dir, bits: job.Config.Features.Bits, k: job.Config.Match.Distance, out: newBatches(emit, workers)}
	job.Log.Info("the fingerprints do not fit under the memory cap: matching by way of the disk", "documents", documents.Len(), "cap", limit, "folder", dir)

	// A bucket of the first step takes about inMemory per document, and there
	// is one on each worker.
	n := int(int64(documents.Len())*inMemory[F]()*2*int64(workers)/limit) + workers
	raw, err := s.buckets("raw", n, width[F]()+4)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.close()) }()
	deal := raw.dealer()
	var failed error
	var record []byte
	err = documents.Fingerprints(func(doc uint32, hi, lo uint64) {
		if failed == nil && doc&0xffff == 0 {
			failed = ctx.Err()
		}
		if failed == nil {
			f := pack(hi, lo)
			record = binary.LittleEndian.AppendUint32(appendValue(record[:0], f), doc)
			failed = deal.add(bucketOf(f, n), record)
		}
	})
	if err := errors.Join(err, failed, deal.flush()); err != nil {
		return err
	}

	distinct, err := s.buckets("distinct", n, width[F]()+4)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, distinct.close()) }()
	if err := s.each(ctx, n, func(worker, b int) error { return s.collapse(worker, raw, distinct, b) }); err != nil {
		return err
	}
	found, err := s.buckets("found", n, 2*width[F]()+1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.close()) }()
	if err := s.join(ctx, distinct, found); err != nil {
		return err
	}
	named, err := s.buckets("named", n, width[F]()+4+1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, named.close()) }()
	if err := s.each(ctx, n, func(_, b int) error { return s.nameFirst(distinct, found, named, b) }); err != nil {
		return err
	}
	if err := s.each(ctx, n, func(worker, b int) error { return s.nameSecond(worker, distinct, named, b) }); err != nil {
		return err
	}
	return s.out.flush()
}

// each calls f for the buckets 0 to n-1, one on each worker at a time, with
// the number of the worker.
func (s *spiller[F]) each(ctx context.Context, n int, f func(worker, b int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for w := range s.workers {
		group.Go(func() error {
			return engine.Guard(func() error {
				for b := int(next.Add(1)) - 1; b < n; b = int(next.Add(1)) - 1 {
					if err := ctx.Err(); err != nil {
						return err
					}
					if err := f(w, b); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return group.Wait()
}

// collapse reports bucket b's identical fingerprints and leaves its distinct
// values, each with its representative.
func (s *spiller[F]) collapse(worker int, raw, distinct *buckets, b int) error {
	values, docs := make([]F, 0, raw.len(b)), make([]uint32, 0, raw.len(b))
	err := raw.each(b, func(r []byte) error {
		values = append(values, value[F](r))
		docs = append(docs, binary.LittleEndian.Uint32(r[width[F]():]))
		return nil
	})
	if err != nil {
		return err
	}
	if err := raw.drop(b); err != nil {
		return err
	}
	set, err := hamming.Collapse(values, hamming.Options{Bits: s.bits, Workers: 1})
	if err != nil {
		return err
	}
	deal := distinct.dealer()
	var record []byte
	var members []uint32
	for i := range set.Len() {
		members = members[:0]
		for _, m := range set.Members(i) {
			members = append(members, docs[m]) // ascending: a bucket is in order of document
		}
		mapper.Identical(members, func(p data.Pair) { s.out.add(worker, p) })
		record = binary.LittleEndian.AppendUint32(appendValue(record[:0], set.Value(i)), members[0])
		if err := deal.add(b, record); err != nil {
			return err
		}
	}
	return deal.flush()
}

// join finds the pairs of distinct values within k and deals them by their
// first value.
func (s *spiller[F]) join(ctx context.Context, distinct, found *buckets) error {
	total := int64(0)
	for b := range distinct.files {
		total += distinct.len(b)
	}
	plan := s.plan
	if plan == nil {
		var err error
		if plan, err = hamming.ChoosePlan(s.bits, s.k, int(total)); err != nil {
			return err
		}
	}
	for table := range plan.Tables() {
		if err := s.joinTable(ctx, plan, table, total, distinct, found); err != nil {
			return err
		}
	}
	return nil
}

// joinTable deals the values by their block in one table and joins the
// buckets.
func (s *spiller[F]) joinTable(ctx context.Context, plan *hamming.Plan, table int, total int64, distinct, found *buckets) (err error) {
	w := width[F]()
	n := int(total*int64(w)*6*int64(s.workers)/s.limit) + s.workers
	dealt, err := s.buckets(fmt.Sprintf("table-%d", table), n, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dealt.close()) }()
	err = s.each(ctx, len(distinct.files), func(_, b int) error {
		deal := dealt.dealer()
		err := distinct.each(b, func(r []byte) error {
			block := hamming.Block(plan, table, value[F](r))
			return deal.add(int(mix(block)%uint64(n)), r[:w])
		})
		return errors.Join(err, deal.flush())
	})
	if err != nil {
		return err
	}
	joiners := make([]*hamming.Joiner[F], s.workers)
	return s.each(ctx, n, func(worker, b int) error {
		values := make([]F, 0, dealt.len(b))
		err := dealt.each(b, func(r []byte) error {
			values = append(values, value[F](r))
			return nil
		})
		if err != nil {
			return err
		}
		if err := dealt.drop(b); err != nil {
			return err
		}
		if joiners[worker] == nil {
			joiners[worker] = hamming.NewJoiner[F]()
		}
		deal := found.dealer()
		var record []byte
		var failed error
		err = joiners[worker].Bucket(plan, table, values, func(x, y F, distance int) {
			record = append(appendValue(appendValue(record[:0], x), y), byte(distance))
			if failed == nil {
				failed = deal.add(bucketOf(x, len(found.files)), record)
			}
		})
		return errors.Join(err, failed, deal.flush())
	})
}

// nameFirst puts the documents of bucket b in the place of the first values:
// (first, second, distance) becomes (second, document, distance), dealt by the
// second value.
func (s *spiller[F]) nameFirst(distinct, found, named *buckets, b int) error {
	docs, err := s.documents(distinct, found, b)
	if err != nil {
		return err
	}
	deal := named.dealer()
	var record []byte
	err = found.each(b, func(r []byte) error {
		second := value[F](r[width[F]():])
		record = binary.LittleEndian.AppendUint32(appendValue(record[:0], second), docs[value[F](r)])
		return deal.add(bucketOf(second, len(named.files)), append(record, r[len(r)-1]))
	})
	return errors.Join(err, deal.flush(), found.drop(b))
}

// nameSecond emits bucket b's pairs, the second value's document found.
func (s *spiller[F]) nameSecond(worker int, distinct, named *buckets, b int) error {
	docs, err := s.documents(distinct, named, b)
	if err != nil {
		return err
	}
	err = named.each(b, func(r []byte) error {
		x, y := docs[value[F](r)], binary.LittleEndian.Uint32(r[width[F]():])
		s.out.add(worker, data.Pair{A: min(x, y), B: max(x, y), Distance: r[len(r)-1]})
		return nil
	})
	return errors.Join(err, named.drop(b))
}

// documents returns the representatives of the values that start bucket b's
// records.
func (s *spiller[F]) documents(distinct, records *buckets, b int) (map[F]uint32, error) {
	docs := make(map[F]uint32)
	err := records.each(b, func(r []byte) error {
		docs[value[F](r)] = 0
		return nil
	})
	if err != nil {
		return nil, err
	}
	return docs, distinct.each(b, func(r []byte) error {
		if v := value[F](r); len(docs) > 0 {
			if _, ok := docs[v]; ok {
				docs[v] = binary.LittleEndian.Uint32(r[width[F]():])
			}
		}
		return nil
	})
}

// bucketOf deals values evenly, whatever their distribution; equal ones meet.
func bucketOf[F hamming.Fingerprint](f F, n int) int {
	w := words(&f)
	h := uint64(0)
	for _, x := range w {
		h = mix(h ^ x)
	}
	return int(h % uint64(n))
}

func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// words views a fingerprint as its one or two words.
func words[F hamming.Fingerprint](f *F) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(f)), unsafe.Sizeof(*f)/8)
}

func width[F hamming.Fingerprint]() int { return int(unsafe.Sizeof(*new(F))) }

func appendValue[F hamming.Fingerprint](dst []byte, f F) []byte {
	for _, x := range words(&f) {
		dst = binary.LittleEndian.AppendUint64(dst, x)
	}
	return dst
}

func value[F hamming.Fingerprint](b []byte) (f F) {
	w := words(&f)
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return f
}

// buckets are files of records of one size, written by dealers. All writing
// comes before all reading.
type buckets struct {
	files  []*os.File
	locks  []sync.Mutex // of the files' ends
	ends   []int64      // bytes written
	record int
}

func (s *spiller[F]) buckets(name string, n, record int) (*buckets, error) {
	b := &buckets{record: record, locks: make([]sync.Mutex, n), ends: make([]int64, n)}
	for i := range n {
		f, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%s-%d", name, i)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("spill: %w", err), b.close())
		}
		b.files = append(b.files, f)
	}
	return b, nil
}

// len is the number of records in bucket i.
func (b *buckets) len(i int) int64 { return b.ends[i] / int64(b.record) }

// chunkBytes is how much is written to, or read from, a bucket at a time.
const chunkBytes = 64 << 10

// dealer deals records into buckets; each goroutine has its own.
type dealer struct {
	to     *buckets
	chunks [][]byte
}

func (b *buckets) dealer() *dealer { return &dealer{to: b, chunks: make([][]byte, len(b.files))} }

// add copies record into bucket i.
func (d *dealer) add(i int, record []byte) error {
	chunk := d.chunks[i]
	if chunk == nil {
		chunk = make([]byte, 0, chunkBytes)
	}
	if len(chunk)+len(record) > chunkBytes {
		if err := d.write(i); err != nil {
			return err
		}
		chunk = chunk[:0]
	}
	d.chunks[i] = append(chunk, record...)
	return nil
}

func (d *dealer) write(i int) error {
	d.to.locks[i].Lock()
	defer d.to.locks[i].Unlock()
	if _, err := d.to.files[i].WriteAt(d.chunks[i], d.to.ends[i]); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	d.to.ends[i] += int64(len(d.chunks[i]))
	return nil
}

// flush writes what is left.
func (d *dealer) flush() error {
	for i, chunk := range d.chunks {
		if len(chunk) > 0 {
			if err := d.write(i); err != nil {
				return err
			}
			d.chunks[i] = chunk[:0]
		}
	}
	return nil
}

// each calls yield with bucket i's records in the order of their writing; the
// bytes are valid until yield returns. It may be called concurrently.
func (b *buckets) each(i int, yield func([]byte) error) error {
	buf := make([]byte, chunkBytes/b.record*b.record)
	for at := int64(0); at < b.ends[i]; {
		chunk := buf[:min(int64(len(buf)), b.ends[i]-at)]
		if _, err := b.files[i].ReadAt(chunk, at); err != nil {
			return fmt.Errorf("spill: %s: %w", b.files[i].Name(), err)
		}
		at += int64(len(chunk))
		for ; len(chunk) > 0; chunk = chunk[b.record:] {
			if err := yield(chunk[:b.record:b.record]); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop gives the disk space of bucket i back.
func (b *buckets) drop(i int) error {
	if err := b.files[i].Truncate(0); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

// close closes and removes the files.
func (b *buckets) close() error {
	var errs []error
	for _, f := range b.files {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	return errors.Join(errs...)
}

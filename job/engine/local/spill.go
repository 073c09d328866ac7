package local

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
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
	s := &spiller[F]{workers: workers, limit: limit, dir: dir, bits: job.Config.Features.Bits, k: job.Config.Match.Distance, out: newBatches(emit, workers)}
	job.Log.Info("the fingerprints do not fit under the memory cap: matching by way of the disk", "documents", documents.Len(), "cap", limit, "folder", dir)

	// A bucket of the first step takes about inMemory per document.
	n := int(int64(documents.Len())*inMemory[F]()*4/limit) + 1
	raw, err := s.buckets("raw", n, width[F]()+4)
	if err != nil {
		return err
	}
	defer raw.close()
	var failed error
	var record []byte
	err = documents.Fingerprints(func(doc uint32, hi, lo uint64) {
		if failed == nil && doc&0xffff == 0 {
			failed = ctx.Err()
		}
		if failed == nil {
			f := pack(hi, lo)
			record = binary.LittleEndian.AppendUint32(appendValue(record[:0], f), doc)
			failed = raw.add(bucketOf(f, n), record)
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	distinct, err := s.collapse(ctx, raw)
	if err != nil {
		return err
	}
	defer distinct.close()
	found, err := s.join(ctx, distinct)
	if err != nil {
		return err
	}
	defer found.close()
	half, err := s.name(ctx, distinct, found, false)
	if err != nil {
		return err
	}
	defer half.close()
	if _, err := s.name(ctx, distinct, half, true); err != nil {
		return err
	}
	return s.out.flush()
}

// collapse returns the distinct values, ascending in every bucket, each with
// its representative.
func (s *spiller[F]) collapse(ctx context.Context, raw *buckets) (*buckets, error) {
	out, err := s.buckets("distinct", len(raw.files), width[F]()+4)
	if err != nil {
		return nil, err
	}
	var record []byte
	for b := range raw.files {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, out.close())
		}
		n := raw.len(b)
		values, docs := make([]F, 0, n), make([]uint32, 0, n)
		err := raw.each(b, func(r []byte) error {
			values = append(values, value[F](r))
			docs = append(docs, binary.LittleEndian.Uint32(r[width[F]():]))
			return nil
		})
		if err != nil {
			return nil, errors.Join(err, out.close())
		}
		if err := raw.drop(b); err != nil {
			return nil, errors.Join(err, out.close())
		}
		set, err := hamming.Collapse(values, hamming.Options{Bits: s.bits, Workers: s.workers})
		if err != nil {
			return nil, errors.Join(err, out.close())
		}
		for i := range set.Len() {
			members := set.Members(i)
			for j, m := range members {
				members[j] = docs[m] // ascending still: a bucket is in order of document
			}
			mapper.Identical(members, func(p data.Pair) { s.out.add(0, p) })
			record = binary.LittleEndian.AppendUint32(appendValue(record[:0], set.Value(i)), members[0])
			if err := out.add(b, record); err != nil {
				return nil, errors.Join(err, out.close())
			}
		}
	}
	return out, nil
}

// join returns the pairs of distinct values within k, in buckets by their
// first value.
func (s *spiller[F]) join(ctx context.Context, distinct *buckets) (*buckets, error) {
	found, err := s.buckets("found", len(distinct.files), 2*width[F]()+1)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for b := range distinct.files {
		total += distinct.len(b)
	}
	plan, err := hamming.ChoosePlan(s.bits, s.k, int(total))
	if err != nil {
		return nil, errors.Join(err, found.close())
	}
	for table := range plan.Tables() {
		if err := s.joinTable(ctx, plan, table, total, distinct, found); err != nil {
			return nil, errors.Join(err, found.close())
		}
	}
	return found, nil
}

// joinTable deals the values by their block in one table and joins the
// buckets, one on each worker.
func (s *spiller[F]) joinTable(ctx context.Context, plan *hamming.Plan, table int, total int64, distinct, found *buckets) (err error) {
	n := int(total*int64(width[F]())*8*int64(s.workers)/s.limit) + s.workers
	dealt, err := s.buckets(fmt.Sprintf("table-%d", table), n, width[F]())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dealt.close()) }()
	for b := range distinct.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := distinct.each(b, func(r []byte) error {
			block := hamming.Block(plan, table, value[F](r))
			return dealt.add(int(mix(block)%uint64(n)), r[:width[F]()])
		})
		if err != nil {
			return err
		}
	}

	var mu sync.Mutex // of found
	joiners := sync.Pool{New: func() any { return hamming.NewJoiner[F](hamming.Options{Bits: s.bits}) }}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.workers)
	for b := range dealt.files {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
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
			joiner := joiners.Get().(*hamming.Joiner[F])
			defer joiners.Put(joiner)
			var record []byte
			var failed error
			err = joiner.Bucket(plan, table, values, func(x, y F, distance int) {
				record = append(appendValue(appendValue(record[:0], x), y), byte(distance))
				mu.Lock()
				defer mu.Unlock()
				if failed == nil {
					failed = found.add(bucketOf(x, len(found.files)), record)
				}
			})
			return errors.Join(err, failed)
		})
	}
	return group.Wait()
}

// name puts documents in the values' place. In the first round the pairs are
// (first value, second value, distance) in buckets of the first; they become
// (second value, document, distance) in buckets of the second, and in the last
// round pairs of documents, which are emitted.
func (s *spiller[F]) name(ctx context.Context, distinct, pairs *buckets, last bool) (*buckets, error) {
	w := width[F]()
	var out *buckets
	var err error
	if !last {
		if out, err = s.buckets("named", len(pairs.files), w+4+1); err != nil {
			return nil, err
		}
	}
	fail := func(err error) (*buckets, error) {
		if out != nil {
			err = errors.Join(err, out.close())
		}
		return nil, err
	}
	var record []byte
	for b := range pairs.files {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		docs := make(map[F]uint32) // of the values that occur
		err := pairs.each(b, func(r []byte) error {
			docs[value[F](r)] = 0
			return nil
		})
		if err != nil {
			return fail(err)
		}
		err = distinct.each(b, func(r []byte) error {
			v := value[F](r)
			if _, ok := docs[v]; ok {
				docs[v] = binary.LittleEndian.Uint32(r[w:])
			}
			return nil
		})
		if err != nil {
			return fail(err)
		}
		err = pairs.each(b, func(r []byte) error {
			doc := docs[value[F](r)]
			distance := r[len(r)-1]
			if last {
				other := binary.LittleEndian.Uint32(r[w:])
				s.out.add(0, data.Pair{A: min(doc, other), B: max(doc, other), Distance: distance})
				return nil
			}
			second := value[F](r[w:])
			record = append(binary.LittleEndian.AppendUint32(appendValue(record[:0], second), doc), distance)
			return out.add(bucketOf(second, len(out.files)), record)
		})
		if err != nil {
			return fail(err)
		}
		if err := pairs.drop(b); err != nil {
			return fail(err)
		}
	}
	return out, nil
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

// buckets are files of records of one size. add is used by one goroutine at a
// time, and comes before each.
type buckets struct {
	files  []*os.File
	out    []*bufio.Writer // nil once flushed
	record int
	counts []int64
	mu     sync.Mutex
}

func (s *spiller[F]) buckets(name string, n, record int) (*buckets, error) {
	b := &buckets{record: record, counts: make([]int64, n)}
	for i := range n {
		f, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%s-%d", name, i)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("spill: %w", err), b.close())
		}
		b.files = append(b.files, f)
		b.out = append(b.out, bufio.NewWriterSize(f, 64<<10))
	}
	return b, nil
}

func (b *buckets) add(i int, record []byte) error {
	b.counts[i]++
	if _, err := b.out[i].Write(record); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

// len is the number of records in bucket i.
func (b *buckets) len(i int) int64 { return b.counts[i] }

// each calls yield with bucket i's records in the order of their adding; the
// bytes are valid until yield returns. Different buckets may be read at once.
func (b *buckets) each(i int, yield func([]byte) error) error {
	if err := b.out[i].Flush(); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(b.files[i], 0, b.counts[i]*int64(b.record)), 256<<10)
	record := make([]byte, b.record)
	for range b.counts[i] {
		if _, err := io.ReadFull(in, record); err != nil {
			return fmt.Errorf("spill: %s: %w", b.files[i].Name(), err)
		}
		if err := yield(record); err != nil {
			return err
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
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, f := range b.files {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	b.files = nil
	return errors.Join(errs...)
}

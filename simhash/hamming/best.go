package hamming

import (
	"context"
	"sync/atomic"
	"unsafe"
)

// Matches holds the best match of each document.
type Matches struct {
	Match    []uint32 // the most similar other document, the smallest of equals; None if there is none within k
	Distance []uint8  // its distance; 0 without a match
}

// Best returns, for each of fps, whose index is the document number, the most
// similar other document within distance k; of equally similar ones the one
// with the smallest number. An identical document is at distance 0.
func Best[F Fingerprint](ctx context.Context, fps []F, k int, opt Options) (*Matches, error) {
	s, err := Collapse(fps, opt)
	if err != nil {
		return nil, err
	}
	return s.Best(ctx, k, opt)
}

// Best is the function [Best] for the documents of a Set.
func (s *Set[F]) Best(ctx context.Context, k int, opt Options) (*Matches, error) {
	plan, err := s.plan(k, opt)
	if err != nil {
		return nil, err
	}
	r := NewReducer(s, opt)
	if err := s.pairs(ctx, k, plan, opt, s.balls(ctx, k, opt, r), r.Visit); err != nil {
		return nil, err
	}
	return r.Matches(), nil
}

// A Reducer finds best matches from the pairs of one pass over a Set, so that
// a caller can use the same pass for more:
//
//	best := hamming.NewReducer(set, opt)
//	err := set.Pairs(ctx, k, opt, func(worker int, i, j uint32, distance int) {
//		best.Visit(worker, i, j, distance)
//		clusters.Union(i, j)
//	})
//	matches := best.Matches()
//
// The result does not depend on the order of the pairs.
type Reducer[F Fingerprint] struct {
	set *Set[F]
	// best[i] is the complement of the least distance<<32|document seen with
	// fingerprint i: 0 when there is none yet, so that fresh memory will do.
	best    []atomic.Uint64
	pending []pending // by worker
}

// pending holds pairs yet to be taken in. Done together, their accesses wait
// for memory at the same time.
type pending struct {
	n      int
	pairs  [128]struct{ i, j, distance uint32 }
	offers [256]offer
}

type offer struct {
	i     uint32
	match uint64
}

// NewReducer returns a Reducer that has seen no pair. Of opt, only Workers
// counts.
func NewReducer[F Fingerprint](s *Set[F], opt Options) *Reducer[F] {
	return &Reducer[F]{set: s, best: takeZero[atomic.Uint64](s.memory, s.Len()), pending: make([]pending, opt.workers())}
}

// Visit takes in a pair of fingerprints. It has the form of the function that
// [Set.Pairs] calls: worker is below Options.Workers (if that is 0,
// GOMAXPROCS), and calls for different workers may be concurrent.
func (r *Reducer[F]) Visit(worker int, i, j uint32, distance int) {
	p := &r.pending[worker]
	if p.n == len(p.pairs) {
		r.flush(p)
	}
	q := &p.pairs[p.n]
	q.i, q.j, q.distance = i, j, uint32(distance)
	p.n++
}

func (r *Reducer[F]) flush(p *pending) {
	s, pairs, offers := r.set, p.pairs[:p.n], p.offers[:2*p.n]
	for n, q := range pairs {
		offers[2*n] = offer{q.i, uint64(q.j)}
		offers[2*n+1] = offer{q.j, uint64(q.i)}
	}
	if s.starts != nil {
		for n := range offers {
			offers[n].match = uint64(s.starts[offers[n].match])
		}
	}
	for n := range offers {
		offers[n].match = ^(uint64(pairs[n/2].distance)<<32 | uint64(s.docs[offers[n].match]))
	}
	better := 0
	for _, o := range offers {
		offers[better] = o
		if o.match > r.best[o.i].Load() {
			better++
		}
	}
	for _, o := range offers[:better] {
		r.take(o)
	}
	p.n = 0
}

// take takes an offer if it is better than what there is.
func (r *Reducer[F]) take(o offer) {
	for b := &r.best[o.i]; ; {
		old := b.Load()
		if o.match <= old || b.CompareAndSwap(old, o.match) {
			return
		}
	}
}

// offer takes in that document doc is at that distance of fingerprint i.
func (r *Reducer[F]) offer(i, doc uint32, distance int) {
	r.take(offer{i, ^(uint64(distance)<<32 | uint64(doc))})
}

// results returns a Matches without a distance. It uses the memory that the
// join no longer needs, if that will do, rather than fresh pages.
func (r *Reducer[F]) results() *Matches {
	n := r.set.Documents()
	m := &Matches{}
	if p := r.set.spare.Swap(nil); p != nil && uintptr(len(*p))*unsafe.Sizeof((*p)[0]) >= 5*uintptr(n) && n > 0 {
		m.Match = unsafe.Slice((*uint32)(unsafe.Pointer(&(*p)[0])), n)
		m.Distance = unsafe.Slice((*uint8)(unsafe.Add(unsafe.Pointer(&(*p)[0]), 4*n)), n)
		clear(m.Distance)
		return m
	}
	m.Match, m.Distance = take[uint32](r.set.memory, n), takeZero[uint8](r.set.memory, n)
	return m
}

// Matches returns the best match of each document, identical ones included.
func (r *Reducer[F]) Matches() *Matches {
	s, workers := r.set, len(r.pending)
	for w := range r.pending {
		r.flush(&r.pending[w])
	}
	m := r.results()
	const chunk = 1 << 16
	each(workers, (len(m.Match)+chunk-1)/chunk, func() func(int) {
		return func(c int) {
			part := m.Match[c*chunk : min((c+1)*chunk, len(m.Match))]
			for i := range part {
				part[i] = None
			}
		}
	})
	// Most documents have no match: what they are need not be looked up.
	each(workers, (s.Len()+chunk-1)/chunk, func() func(int) {
		return func(c int) {
			lo, hi := c*chunk, min((c+1)*chunk, s.Len())
			best := r.best[lo:hi]
			if s.starts == nil {
				for i, d := range s.docs[lo:hi] {
					if b := best[i].Load(); b != 0 {
						m.Match[d], m.Distance[d] = uint32(^b), uint8(^b>>32)
					}
				}
				return
			}
			from := s.starts[lo]
			for i, to := range s.starts[lo+1 : hi+1] {
				if b := best[i].Load(); to-from > 1 {
					members := s.docs[from:to]
					for _, d := range members {
						m.Match[d] = members[0]
					}
					m.Match[members[0]] = members[1]
				} else if b != 0 {
					d := s.docs[from]
					m.Match[d], m.Distance[d] = uint32(^b), uint8(^b>>32)
				}
				from = to
			}
		}
	})
	return m
}

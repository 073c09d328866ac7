package hamming

import (
	"context"
	"sync/atomic"
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
	r := NewReducer(s, opt)
	if err := s.Pairs(ctx, k, opt, r.Visit); err != nil {
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
	workers int
}

// NewReducer returns a Reducer that has seen no pair. Of opt, only Workers
// counts.
func NewReducer[F Fingerprint](s *Set[F], opt Options) *Reducer[F] {
	return &Reducer[F]{set: s, best: makeLarge[atomic.Uint64](s.Len()), workers: opt.workers()}
}

// Visit takes in a pair of fingerprints. It may be called concurrently, and
// has the form of the function that [Set.Pairs] calls.
func (r *Reducer[F]) Visit(_ int, i, j uint32, distance int) {
	r.offer(i, ^(uint64(distance)<<32 | uint64(r.set.Smallest(int(j)))))
	r.offer(j, ^(uint64(distance)<<32 | uint64(r.set.Smallest(int(i)))))
}

func (r *Reducer[F]) offer(i uint32, match uint64) {
	for p := &r.best[i]; ; {
		old := p.Load()
		if match <= old || p.CompareAndSwap(old, match) {
			return
		}
	}
}

// Matches returns the best match of each document, identical ones included.
func (r *Reducer[F]) Matches() *Matches {
	s := r.set
	m := &Matches{Match: makeLarge[uint32](s.Documents()), Distance: makeLarge[uint8](s.Documents())}
	const chunk = 1 << 16
	each(r.workers, (len(m.Match)+chunk-1)/chunk, func() func(int) {
		return func(c int) {
			part := m.Match[c*chunk : min((c+1)*chunk, len(m.Match))]
			for i := range part {
				part[i] = None
			}
		}
	})
	// Most documents have no match: what they are need not be looked up.
	each(r.workers, (s.Len()+chunk-1)/chunk, func() func(int) {
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

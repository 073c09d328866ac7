package hamming

import (
	"context"

	"github.com/neardup/neardup/simhash/columns"
)

type (
	Uint128     = columns.Uint128
	Fingerprint = columns.Fingerprint
)

func distance[F Fingerprint](p, q *F) int { return columns.Distance(p, q) }

// Set is distinct fingerprints that are joined with themselves as one partition
// of each table: every key, its groups, and what the groups bring together.
type Set[F Fingerprint] struct {
	*columns.Lists[F]
	bits int
}

func Collapse[F Fingerprint](fps []F, o Options) (*Set[F], error) {
	l, err := columns.Collapse(fps, width[F](o), o.Workers)
	return &Set[F]{l, width[F](o)}, err
}

// Value returns the i-th smallest distinct fingerprint.
func (s *Set[F]) Value(i int) F { return s.Values()[i] }

func (s *Set[F]) index(f *F) int {
	var at [1]uint32
	s.Find([]F{*f}, at[:])
	return int(at[0])
}

// Pairs visits the pairs of distinct fingerprints within k, each once.
func (s *Set[F]) Pairs(ctx context.Context, k int, o Options, visit func(i, j uint32, distance int)) error {
	if err := checkDistance(s.bits, k); err != nil {
		return err
	}
	plan := o.plan
	if plan == nil {
		plan = choosePlan(s.bits, k, s.Len(), joiningBy(o.simd()))
	}
	if plan.k < k {
		return errPlan
	}
	joiner := newJoiner[F](o)
	var grouper columns.Grouper[F]
	for t := range plan.Tables() {
		for key, mask := range plan.Keys(t) {
			grouped, ends := grouper.Group(s.Values(), mask, columns.Everything, joiner.Target())
			err := joiner.Groups(ctx, grouped, ends, k, func(a, b *F, d int) {
				if table, first := plan.First(columns.Diff(a, b)); table == t && first == key {
					i, j := uint32(s.index(a)), uint32(s.index(b))
					visit(min(i, j), max(i, j), d)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// newIndex returns an index of fingerprints, of which some may be the same.
func newIndex[F Fingerprint](fps []F, k int, o Options) (*Index[F], error) {
	s, err := Collapse(fps, o)
	if err != nil {
		return nil, err
	}
	return NewIndex(s.Lists, k, o)
}

// members has visit called with the fingerprints of each distinct one.
func (p *Prober[F]) members(visit func(i int, doc uint32, distance int)) func(i int, at uint32, distance int) {
	return func(i int, at uint32, distance int) {
		for _, doc := range p.ix.lists.Members(int(at)) {
			visit(i, doc, distance)
		}
	}
}

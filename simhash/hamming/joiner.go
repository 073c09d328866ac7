package hamming

import (
	"context"

	"github.com/neardup/neardup/simhash/columns"
)

// A Joiner compares the members of groups. It is reusable workspace and must not
// be used concurrently.
type Joiner[F columns.Fingerprint] struct{ c comparer[F] }

// NewJoiner returns a Joiner.
func NewJoiner[F columns.Fingerprint]() *Joiner[F] { return newJoiner[F](Options{}) }

func newJoiner[F columns.Fingerprint](o Options) *Joiner[F] {
	return &Joiner[F]{c: comparer[F]{simd: o.simd()}}
}

// Target is the group size that is cheapest to compare: making groups smaller
// gains nothing.
func (j *Joiner[F]) Target() int { return j.c.groupTarget() }

// Groups visits every pair within k inside each group of values, exactly once.
// Group g is values[ends[g-1]:ends[g]]; the first begins at 0. The values of a
// group must be distinct, and the slice must have room for columns.Slack more
// behind them. Groups does not know by which key they were made. It may also visit
// a pair of two groups that stand close together, which a caller tells by the key
// ([Plan.First]).
//
// A large group is split by the bits that vary in it; the bits that all of it share
// cost nothing. When ctx is cancelled, Groups soon returns its error; it has then
// visited some of the pairs.
func (j *Joiner[F]) Groups(ctx context.Context, values []F, ends []uint32, k int, visit func(a, b *F, distance int)) error {
	if err := checkDistance(columns.Width[F](), k); err != nil {
		return err
	}
	if k == 0 || len(values) < 2 {
		return nil
	}
	c := &j.c
	c.ctx, c.k, c.emit = ctx, k, visit
	l := &c.levels[0]
	l.values = values[:len(values)+columns.Slack]
	l.group(c, ends, len(values), &scope{keys: []columns.Mask{{}}, to: 1}, 0)
	l.values, c.emit = nil, nil
	return ctx.Err()
}

package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/texts"
	"github.com/neardup/neardup/job/internal/summary"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// ErrUnlike is returned if too many documents of a sample of removals are unlike the
// documents that stay for them.
var ErrUnlike = errors.New("documents were left out that are no copies")

// A run fails when more than mostUnlike of the sample, and more than one of
// unlikeShare, are no copies: an estimate errs for some near the limit.
const (
	mostUnlike  = 2
	unlikeShare = 20
	mostNamed   = 5
)

// reread compares the texts of the sampled removals, and returns ErrUnlike if too many
// are no copies. If the distance alone decides, as in the preset classic, it only
// counts them: the distance errs often, and no bound is promised.
func reread(ctx context.Context, r *stage.Run) error {
	if !r.Job.Cleans() {
		return nil
	}
	pairs, err := state.ReadGob[[]stage.RemovedPair](r.Dir.Path(rundir.State, stage.SampledFile), stage.KindSampled)
	if err != nil || len(pairs) == 0 {
		return err
	}
	documents, err := r.Documents()
	if err != nil {
		return err
	}
	reread := texts.Open(r.StatePath(texts.RereadFolder), documents.Folder, r.Config.Execution.MemoryLimit()/4)
	look := newTextLook(&r.Config.Match)
	found := &summary.Reread{Documents: int64(len(pairs)), Jaccard: 1}
	type unlikePair struct {
		stage.RemovedPair
		data.Overlap
	}
	var below []unlikePair
	ids := map[uint64]string{}
	for _, p := range pairs {
		var x, y mapper.Text
		if err := errors.Join(ctx.Err(), reread.Read(p.Doc, &x), reread.Read(p.Kept, &y)); err != nil {
			return err
		}
		o, alike, edits := look.at(&x, &y)
		if !edits {
			found.Jaccard = min(found.Jaccard, float64(o.Jaccard))
		}
		if !alike {
			below = append(below, unlikePair{p, o})
		}
	}
	found.Below = int64(len(below))
	slices.SortStableFunc(below, func(p, q unlikePair) int { return cmp.Compare(p.Jaccard, q.Jaccard) })
	below = below[:min(len(below), mostNamed)]
	for _, p := range below {
		ids[p.Doc], ids[p.Kept] = "", ""
	}
	if err := r.FillIDs(ctx, ids); err != nil {
		return err
	}
	round := func(x float32) float64 { return math.Round(float64(x)*1000) / 1000 }
	for _, p := range below {
		found.Examples = append(found.Examples, summary.Unlike{ID: ids[p.Doc], Kept: ids[p.Kept], Jaccard: round(p.Jaccard), Containment: round(p.Containment)})
	}
	r.Sum.Reread = found
	if n := found.Below; r.Config.Match.Sketched() && n > mostUnlike && n*unlikeShare > found.Documents {
		e := found.Examples[0]
		return fmt.Errorf("%w: %d of %d that were read again, like %q, J %.3f and containment %.3f to %q: the clean dump is not to be used; raise match.limit_long and match.limit_short, or tell us of it if they are as they were",
			ErrUnlike, n, found.Documents, e.ID, e.Jaccard, e.Containment, e.Kept)
	}
	return nil
}

// textLook decides whether a text may be removed for another one.
type textLook struct {
	least  float64 // of the limits of an estimate
	verify *mapper.Verifier
	short  sketch.Short
}

func newTextLook(m *config.Match) *textLook {
	rules := m.Rules()
	least := min(rules.Long, rules.Short)
	if rules.Signatures {
		least = min(rules.EstimateLimit(0), rules.EstimateLimit(rules.LongFrom))
	}
	return &textLook{least: least, verify: mapper.NewVerifier(method.Rule(*m))}
}

// nothingLost is the share of its 5-grams from which on nothing of a text is lost
// with it, how much more the other has.
const nothingLost = 0.8

// at compares what texts have in common: they are alike if that reaches the least
// limit, if the second has nearly all of the first, if they are short and few edits
// apart, or if they settle an open pair.
func (l *textLook) at(x, y *mapper.Text) (o data.Overlap, alike, edits bool) {
	jaccard, containment := sketch.Overlap(x.Shingles, y.Shingles)
	o = data.Overlap{Jaccard: float32(jaccard), Containment: float32(containment)}
	if jaccard >= l.least || len(x.Shingles) <= len(y.Shingles) && containment >= nothingLost {
		return o, true, false
	}
	if max(len(x.Letters), len(y.Letters)) <= sketch.ShortMax {
		if verdict, _ := l.short.Judge(x.Letters, y.Letters); verdict.Same {
			return o, true, true
		}
	}
	reason, _, _ := l.verify.Settle(x, y)
	return o, reason.Same() || reason == data.Contained, false
}

package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// ErrUnlike is returned when a sample of what the clean dump leaves out is not like
// what stays for it.
var ErrUnlike = errors.New("documents were left out that are no copies")

// reread is what a sample of the documents that are left out says: they and what
// stays for them, text against text.
type reread struct {
	Documents int64    `json:"documents"` // that were read again
	Jaccard   float64  `json:"jaccard"`   // the least of character 5-grams, of those that no few edits make; 1 without any
	Below     int64    `json:"below"`     // documents that the texts say are no copies
	Examples  []unlike `json:"examples,omitempty"`
}

// unlike is a document that was left out for one that is not alike.
type unlike struct {
	ID          string  `json:"doc_id"`
	Kept        string  `json:"kept_id"`
	Jaccard     float64 `json:"jaccard"`
	Containment float64 `json:"containment"`
}

func (r *reread) print(row func(name, format string, args ...any)) {
	row("read again", "%s left out, text against text with what stays: the least J is %.2f, %s %s no %s", show.Count(r.Documents, "document"),
		r.Jaccard, show.Number(r.Below), show.Agree(r.Below, "is", "are"), map[bool]string{true: "copy", false: "copies"}[r.Below == 1])
	for _, e := range r.Examples {
		row("", "J %.3f, containment %.3f: %s for %s", e.Jaccard, e.Containment, e.ID, e.Kept)
	}
}

// Bounds of the sample: a document of rereadShare, from leastReread to mostReread.
// A run fails when more than mostUnlike of them, and more than one of unlikeShare,
// are no copies: an estimate errs for some near the limit.
const (
	rereadShare = 200
	leastReread = 16
	mostReread  = 400
	mostUnlike  = 2
	unlikeShare = 20
	mostNamed   = 5
)

// sampledFile within the state folder has the pairs of the sample.
const (
	sampledFile = "sampled.pairs"
	kindSampled = "neardup sampled 1"
)

// removedPair is a document that goes and the one of the run that stays for it.
type removedPair struct{ Doc, Kept uint64 }

// sample chooses the documents that are read again, spread evenly over those that go
// for another of the run, and asks for their texts.
func (d *decider) sample(context.Context) error {
	r := d.run
	for _, name := range []string{engine.SampledFolder, engine.RereadFolder, sampledFile} {
		if err := os.RemoveAll(r.dir.Path(rundir.State, name)); err != nil {
			return err // of an earlier attempt
		}
	}
	if !r.job.Cleans() {
		return nil
	}
	goes := func(i int) bool { return d.representatives[i] != noDocument && d.representatives[i] != uint32(i) }
	all := 0
	for i := range d.representatives {
		if goes(i) {
			all++
		}
	}
	count := min(max(int(d.documents.Len()/rereadShare), leastReread), mostReread, all)
	var pairs []removedPair
	rows := map[int][]int64{}
	at := 0
	for i := range d.representatives {
		if !goes(i) {
			continue
		}
		if at*count/all != (at+1)*count/all { // count times, evenly
			p := removedPair{d.number(uint32(i)), d.number(d.representatives[i])}
			for _, doc := range [...]uint64{p.Doc, p.Kept} {
				task := d.documents.Part(doc)
				rows[task] = append(rows[task], int64(doc-d.documents.First(task)))
			}
			pairs = append(pairs, p)
		}
		at++
	}
	for task, wanted := range rows {
		slices.Sort(wanted)
		if err := engine.WriteRows(r.job, engine.SampledFolder, task, slices.Compact(wanted)); err != nil {
			return err
		}
	}
	d.rec.Outputs = append(d.rec.Outputs, filepath.Join(rundir.State, sampledFile))
	return state.WriteGob(r.dir.Path(rundir.State, sampledFile), kindSampled, pairs)
}

// reread compares the sample, text against text, and fails if too many are no
// copies. Where the distance alone decides, as in the preset classic, it only
// counts: that errs often, and no bound is promised.
func (r *run) reread(ctx context.Context) error {
	if !r.job.Cleans() {
		return nil
	}
	pairs, err := state.ReadGob[[]removedPair](r.dir.Path(rundir.State, sampledFile), kindSampled)
	if err != nil || len(pairs) == 0 {
		return err
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	texts := engine.OpenShingles(r.dir, engine.RereadFolder, documents, r.config.Execution.MemoryLimit()/4)
	look := newTextLook(&r.config.Match)
	found := &reread{Documents: int64(len(pairs)), Jaccard: 1}
	type unlikePair struct {
		removedPair
		data.Overlap
	}
	var below []unlikePair
	ids := map[uint64]string{}
	for _, p := range pairs {
		var x, y mapper.Text
		if err := errors.Join(ctx.Err(), texts.Read(p.Doc, &x), texts.Read(p.Kept, &y)); err != nil {
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
	if err := r.idsOf(ctx, documents, ids); err != nil {
		return err
	}
	round := func(x float32) float64 { return math.Round(float64(x)*1000) / 1000 }
	for _, p := range below {
		found.Examples = append(found.Examples, unlike{ids[p.Doc], ids[p.Kept], round(p.Jaccard), round(p.Containment)})
	}
	r.sum.Reread = found
	if n := found.Below; r.config.Match.Verified() && n > mostUnlike && n*unlikeShare > found.Documents {
		e := found.Examples[0]
		return fmt.Errorf("%w: %d of %d that were read again, like %q, J %.3f and containment %.3f to %q: the clean dump is not to be used; raise match.limit_long and match.limit_short, or tell us of it if they are as they were",
			ErrUnlike, n, found.Documents, e.ID, e.Jaccard, e.Containment, e.Kept)
	}
	return nil
}

// textLook says of two texts whether the first may go for the second.
type textLook struct {
	match  *config.Match
	verify *mapper.Verifier
	short  sketch.Short
}

func newTextLook(m *config.Match) *textLook {
	return &textLook{match: m, verify: mapper.NewVerifier(engine.Rule(*m))}
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
	if jaccard >= min(l.match.LimitLong, l.match.LimitShort) || len(x.Shingles) <= len(y.Shingles) && containment >= nothingLost {
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

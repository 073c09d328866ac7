package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
)

// ErrMissed is returned if the join's result for a document differs from a
// comparison with all documents. It means a defect of neardup.
var ErrMissed = errors.New("the join missed a match")

// checked is the number of documents that are checked, however large the run. It
// costs about a fiftieth of a run's work, see probe.
const checked = 400

// sample is a document that check looks at, with the best match that check found.
type sample struct {
	doc  uint64
	view data.View
	best
}

// best is the nearest document so far.
type best struct {
	match    uint64
	distance int // Hamming distance, plus notSame if the match only contains or is contained; noDistance without a match
}

// Both are larger than any Hamming distance. notSame orders matches that contain,
// or are contained, behind those that are the same; noDistance is behind all.
const (
	notSame    = 1 << 10
	noDistance = 1 << 20
)

// offer replaces b by the match if that is better: nearer, or as near and earlier.
func (b *best) offer(doc uint64, distance int) {
	if distance < b.distance || distance == b.distance && doc < b.match {
		b.match, b.distance = doc, distance
	}
}

// check is the run's test of itself. It compares up to checked documents, spread
// evenly, with all others by brute force. It returns ErrMissed unless their best
// matches are those that the join found, but for what the bounds on hot keys cost.
func (d *decider) check(ctx context.Context) error {
	samples, err := d.samples(ctx)
	if err != nil || len(samples) == 0 {
		return err
	}
	rule, err := method.RuleOf(d.run.Dir.Path(), d.run.Config.Match)
	if err != nil {
		return err
	}
	probe := newProbe(&rule, samples)
	var mu sync.Mutex // of the samples' best
	err = d.run.EachSplit(ctx, func(task int) error {
		found := slices.Repeat([]best{{distance: noDistance}}, len(samples)) // each split finds its own
		if err := d.scan(ctx, d.documents.First(task), d.documents.First(task+1), samples, probe.clone(), found); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for i, f := range found {
			if f.distance < noDistance {
				samples[i].offer(f.match, f.distance)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var missed []miss
	for i := range samples {
		if found := d.found(samples[i].doc); found != samples[i].best {
			missed = append(missed, miss{&samples[i], found})
		}
	}
	if err := d.excuse(ctx, missed); err != nil {
		return err
	}
	d.counts.Checked = int64(len(samples))
	return nil
}

// takesPart reports whether a document takes part in matching, itself or through
// its unit.
func (d *decider) takesPart(doc uint64, r *views.Row) bool {
	// An excluded document without an index has a duplicate id, or is deleted.
	return r.Matched() && (!d.documents.Excluded(doc) || d.matched.Has(doc))
}

func (d *decider) samples(ctx context.Context) (samples []sample, err error) {
	n := d.documents.Len()
	count := min(checked, n)
	seen := uint64(0)
	take := func(doc uint64, r *views.Row) error {
		if seen < count && doc == seen*n/count {
			seen++
			if d.takesPart(doc, r) {
				s := sample{doc: doc, view: r.View, best: best{distance: noDistance}}
				s.view.Letters, s.view.Sample = slices.Clone(r.View.Letters), slices.Clone(r.View.Sample)
				samples = append(samples, s)
			}
		}
		return ctx.Err()
	}
	const columns, group = views.Fingerprint | views.Verdict, 2048 // rows that are read together
	if n <= count*group {
		err = d.documents.Scan(0, n, columns, take)
		return samples, err
	}
	for i := range count {
		if err := d.documents.Scan(i*n/count, i*n/count+1, columns, take); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// scan compares the documents numbered first to last − 1 with the samples, and puts
// the best matches into found.
func (d *decider) scan(ctx context.Context, first, last uint64, samples []sample, probe *probe, found []best) error {
	rule := *probe.rule
	verify := mapper.NewVerifier(rule)
	columns := views.Fingerprint
	if rule.Verified {
		columns |= views.Verdict
	}
	unsampled := rule
	unsampled.Containment = 0
	return d.documents.Scan(first, last, columns, func(doc uint64, r *views.Row) error {
		if doc&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !d.takesPart(doc, r) {
			return nil
		}
		probe.each(&r.View, func(i int, twice bool) {
			s, b := &samples[i], &found[i]
			distance := mapper.Distance(&s.view, &r.View)
			if distance > b.distance || doc == s.doc {
				return
			}
			candidates := &rule
			if !twice {
				candidates = &unsampled
			}
			switch verdict := d.verdict(candidates, verify, s, doc, &r.View); {
			case verdict.Same():
				b.offer(doc, distance)
			case verdict != data.NotTheSame:
				b.offer(doc, distance+notSame)
			}
		})
		return nil
	})
}

// verdict returns the verdict on a sample and another document: NotTheSame if they
// are no candidates, else what the sketches say or, if these leave it undecided, the
// texts. It states the rule directly, without any table of keys.
func (d *decider) verdict(rule *mapper.Rule, verify *mapper.Verifier, s *sample, doc uint64, v *data.View) data.Reason {
	if !rule.Candidate(&s.view, v) {
		return data.NotTheSame
	}
	reason := verify.Judge(&s.view, v).Reason
	if reason == data.Undecided {
		p, ok := d.text(d.first(s.doc), d.first(doc))
		if !ok {
			return data.ByTexts // the join missed it, whatever the texts say
		}
		return p.Evidence.Reason
	}
	return reason
}

// first returns the first document of a document's unit.
func (d *decider) first(doc uint64) uint64 {
	if i, ok := d.matched.Index(doc); ok {
		return d.number(d.units[i])
	}
	return doc
}

// miss is a sample whose best match, by check, is another one than the join found.
type miss struct {
	*sample
	found best // by the join
}

// other is the document that the sample was to be compared with.
func (m *miss) other() uint64 {
	if m.distance < noDistance {
		return m.match
	}
	return m.found.match
}

// found returns the best match that the join found for a document.
func (d *decider) found(doc uint64) best {
	if i, ok := d.matched.Index(doc); ok {
		if m, _, ok := d.match(i); ok {
			b := best{d.number(m.Doc), int(m.Distance)}
			if !m.Same {
				b.distance += notSame
			}
			return b
		}
	}
	return best{distance: noDistance}
}

// excuse returns ErrMissed unless the bounds on hot keys may have cost all that was
// missed.
func (d *decider) excuse(ctx context.Context, missed []miss) error {
	if len(missed) == 0 {
		return nil
	}
	bounded := make([]bool, len(missed))
	if d.run.Config.Match.Verified() {
		var err error
		if bounded, err = d.bounded(ctx, missed); err != nil {
			return err
		}
	}
	at := slices.Index(bounded, false)
	if at < 0 {
		return nil
	}
	m := &missed[at]
	return fmt.Errorf("%w: document %d has its best match in %d at distance %d, the join says %d at %d (matched: %t; at %d more one contains the other): this is a defect of neardup, its tables were not written",
		ErrMissed, m.doc, m.match, m.distance, m.found.match, m.found.distance, m.found.distance < noDistance, notSame)
}

// bounded reports for each miss whether a bound on hot keys may have kept its two
// documents from being compared. It counts, in one pass for all of them, the
// documents that share each of their common keys.
func (d *decider) bounded(ctx context.Context, missed []miss) ([]bool, error) {
	type value struct {
		table int
		value uint64
	}
	type print struct{ hi, lo uint64 }
	keys := mapper.NewKeyEmitter(nil, method.Rule(d.run.Config.Match))
	values, prints := map[value]int{}, map[print]int{} // the documents that have each
	shared, of := make([][]value, len(missed)), make([][2]print, len(missed))
	asked := make([]bool, len(mapper.Tables))
	reader := d.documents.Reader()
	defer reader.Close()
	for i := range missed {
		var v data.View
		if err := reader.View(missed[i].other(), &v); err != nil {
			return nil, err
		}
		for t := range mapper.Tables {
			have := slices.Clone(keys.Values(t, &missed[i].view))
			for _, key := range keys.Values(t, &v) {
				if _, both := slices.BinarySearch(have, key); both {
					shared[i] = append(shared[i], value{t, key})
					values[value{t, key}], asked[t] = 0, true
				}
			}
		}
		of[i] = [2]print{{missed[i].view.Hi, missed[i].view.Lo}, {v.Hi, v.Lo}}
		prints[of[i][0]], prints[of[i][1]] = 0, 0
	}
	err := d.documents.Each(ctx, 0, d.documents.Len(), views.Verdict, func(_ uint64, r *views.Row) error {
		at := print{r.View.Hi, r.View.Lo}
		if n, ok := prints[at]; ok && r.View.Normal {
			prints[at] = n + 1
		}
		for t := range asked {
			if !asked[t] {
				continue
			}
			for _, key := range keys.Values(t, &r.View) {
				if n, ok := values[value{t, key}]; ok {
					values[value{t, key}] = n + 1
				}
			}
		}
		return nil
	})
	bounded := make([]bool, len(missed))
	for i := range missed {
		bounded[i] = mapper.Crowded(mapper.SegmentTables, max(prints[of[i][0]], prints[of[i][1]]))
		fewest := 0 // documents of the rarest shared sample; one rare sample is enough to bring them together
		for _, key := range shared[i] {
			switch n := values[key]; {
			case key.table != mapper.Samples:
				bounded[i] = bounded[i] || mapper.Crowded(key.table, n)
			case fewest == 0 || n < fewest:
				fewest = n
			}
		}
		bounded[i] = bounded[i] || mapper.Crowded(mapper.Samples, fewest)
	}
	return bounded, err
}

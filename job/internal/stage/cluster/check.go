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
	"github.com/neardup/neardup/reducer"
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
// matches are those that the join found.
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
	for i := range samples {
		if err := d.compare(ctx, &samples[i]); err != nil {
			return err
		}
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

// compare returns ErrMissed unless the join found the same best match as check. A
// match that the bounds on hot keys may have cost is no error.
func (d *decider) compare(ctx context.Context, s *sample) error {
	match, distance, found := uint64(0), 0, false
	if i, ok := d.matched.Index(s.doc); ok {
		var m reducer.Match
		if m, _, found = d.match(i); found {
			match, distance = d.number(m.Doc), int(m.Distance)
			if !m.Same {
				distance += notSame
			}
		}
	}
	want := s.distance < noDistance
	if found == want && (!found || match == s.match && distance == s.distance) {
		return nil
	}
	if d.run.Config.Match.Verified() {
		other := s.match
		if !want {
			other = match
		}
		if bounded, err := d.bounded(ctx, s.doc, other); err != nil || bounded {
			return err
		}
	}
	return fmt.Errorf("%w: document %d has its best match in %d at distance %d, the join says %d at %d (matched: %t; at %d more one contains the other): this is a defect of neardup, its tables were not written",
		ErrMissed, s.doc, s.match, s.distance, match, distance, found, notSame)
}

// bounded reports whether a bound on hot keys may have kept documents a and b from
// being compared. It counts the documents that share each of their common keys.
func (d *decider) bounded(ctx context.Context, a, b uint64) (bool, error) {
	var of [2]data.View
	reader := d.documents.Reader()
	defer reader.Close()
	if err := errors.Join(reader.View(a, &of[0]), reader.View(b, &of[1])); err != nil {
		return false, err
	}
	rule := method.Rule(d.run.Config.Match)
	keys := mapper.NewKeyEmitter(nil, rule)
	type value struct {
		table int
		value uint64
	}
	shared := map[value]int{}
	var tables []int // of shared
	for t := range mapper.Tables {
		have := slices.Clone(keys.Values(t, &of[0]))
		for _, v := range keys.Values(t, &of[1]) {
			if slices.Contains(have, v) {
				shared[value{t, v}] = 0
				tables = append(tables, t)
			}
		}
	}
	tables = slices.Compact(tables)
	var prints [2]int
	err := d.documents.Each(ctx, 0, d.documents.Len(), views.Verdict, func(_ uint64, r *views.Row) error {
		for i := range of {
			if r.View.Normal && r.View.Hi == of[i].Hi && r.View.Lo == of[i].Lo {
				prints[i]++
			}
		}
		for _, t := range tables {
			for _, v := range keys.Values(t, &r.View) {
				if n, ok := shared[value{t, v}]; ok {
					shared[value{t, v}] = n + 1
				}
			}
		}
		return nil
	})
	bounded := mapper.Crowded(mapper.SegmentTables, max(prints[0], prints[1]))
	fewest := 0 // documents of the rarest shared sample; one rare sample is enough to bring them together
	for key, n := range shared {
		switch {
		case key.table != mapper.Samples:
			bounded = bounded || mapper.Crowded(key.table, n)
		case fewest == 0 || n < fewest:
			fewest = n
		}
	}
	return bounded || mapper.Crowded(mapper.Samples, fewest), err
}

package plan

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/mapper"
)

// Seconds of one core that documents take which share sentences, as profiles and the
// stages of runs show them (job/docs/benchmarks/plan.md).
const (
	shortSeconds     = 50e-9  // a candidate pair of short texts
	nearSeconds      = 0.6e-6 // a pair of near fingerprints
	postingSeconds   = 0.2e-6 // a sampled shingle, made and joined,
	candidateSeconds = 0.1e-6 // and a pair of documents that share one
	sampledSeconds   = 1.4e-9 // a byte of a text that is sampled
	openSeconds      = 15e-6  // a text that has to decide on a pair: its shingles,
	openByteSeconds  = 48e-9  // and for each of its bytes
	pairSeconds      = 24e-6  // a pair that texts decide,
	pairByteSeconds  = 15e-9  // and for each byte of one of them
)

// farApart is the part of the sample between two documents from which on they are no
// neighbours.
const farApart = 4

// meetings are what documents of a run have to do with each other.
type meetings struct {
	short      float64 // candidate pairs of short texts
	near       float64 // pairs of near fingerprints
	candidates float64 // pairs that share a sampled shingle
	open       float64 // pairs that the texts decide
	asked      float64 // documents of these
	shared     float64 // sampled shingles of a document
}

// meet joins the sample as a run with these settings joins its documents, and reckons
// up to n of them. Pairs of documents that share what others have too, a sentence or a
// phrase, grow with the square of the documents; but what very many have brings none
// together. Copies of a document may stand beside it, and then grow with the documents:
// pairs of neighbours count so, as far as there are more of them than of documents that
// are far apart.
func (s *sampler) meet(ctx context.Context, cfg config.Config, n float64) (meetings, error) {
	if !cfg.Match.Sketched() || len(s.views) < 2 {
		return meetings{}, ctx.Err()
	}
	var m meetings
	rule, own := method.Rule(cfg.Match), float64(len(s.views))
	times := n / own
	short := s.keys(rule, mapper.ShortTexts, times)
	m.short = short.candidates(own, n, mapper.ShortTexts)
	m.near = s.near(cfg.Match.Distance, mostNear, n)
	if !cfg.Match.Consults() {
		return m, nil
	}
	samples := s.keys(rule, mapper.Samples, times)
	m.shared, m.candidates = float64(samples.postings)/own, samples.candidates(own, n, mapper.Samples)
	open := pairsOf(len(s.views))
	var mu sync.Mutex
	err := shuffle.Views(ctx, rule, min(cfg.Features.Bits, 64), s.views, shuffle.Options{Workers: 1}, func(_ int, p data.Pair) {
		mu.Lock()
		defer mu.Unlock()
		if p.Evidence.Reason == data.Undecided {
			open.add(int(p.A), int(p.B), samples.chance(p.A, p.B))
		}
	})
	if err != nil {
		return meetings{}, err
	}
	m.open = open.grown(own, n)
	m.asked = n * -math.Expm1(-m.open/n)
	return m, nil
}

// mostNear is how many documents of the sample are compared with each other.
const mostNear = 4096

// near is how many pairs of n documents have fingerprints within a distance. Of a sample
// of more than most documents it compares so many, which are spread evenly.
func (s *sampler) near(distance, most int, n float64) float64 {
	step := (len(s.views) + most - 1) / most
	own := (len(s.views) + step - 1) / step
	p := pairsOf(own)
	for i := range own {
		for j := range i {
			if a, b := &s.views[j*step], &s.views[i*step]; a.Normal && b.Normal && mapper.Distance(a, b) <= distance {
				p.add(j, i, 1)
			}
		}
	}
	return p.grown(float64(own), n)
}

// samplePairs counts pairs of documents of the sample, which stand in order.
type samplePairs struct {
	beside    int // neighbours are less than that apart
	near, far float64
}

func pairsOf(documents int) samplePairs { return samplePairs{beside: documents / farApart} }

// add counts a pair that the run compares with this probability.
func (p *samplePairs) add(a, b int, chance float64) {
	if b-a < p.beside {
		p.near += chance
	} else {
		p.far += chance
	}
}

// grown is how many pairs there are among n documents, of own in the sample.
func (p *samplePairs) grown(own, n float64) float64 {
	apart := own - float64(p.beside)
	rate := p.far / (apart * (apart + 1) / 2) // of two documents
	neighbours := max(0, p.near-rate*(own*(own-1)-apart*(apart+1))/2)
	return neighbours*n/own + rate*n*n/2
}

// tableKeys are the keys that the sample has in a table.
type tableKeys struct {
	of       [][]uint64         // by document
	compared map[uint64]float64 // how likely all documents with a key are compared: not too many have it
	postings int
	crowded  float64     // of the postings, those whose documents are not all compared
	pairs    samplePairs // of documents with a key
}

// keys returns the keys of the sample in a table, for a run of that many times as many
// documents.
func (s *sampler) keys(rule mapper.Rule, table int, times float64) *tableKeys {
	emitter := mapper.NewKeyEmitter(rule.Tiers(), rule)
	k := &tableKeys{compared: map[uint64]float64{}, pairs: pairsOf(len(s.views))}
	documents := map[uint64][]int{}
	for i := range s.views {
		values := slices.Clone(emitter.Values(table, &s.views[i]))
		slices.Sort(values)
		k.of = append(k.of, slices.Compact(values))
		k.postings += len(values)
		for _, v := range k.of[i] {
			documents[v] = append(documents[v], i)
		}
	}
	for v, with := range documents {
		chance := atMost(mapper.MostCompared(table), len(with), times)
		k.compared[v] = chance
		if len(with) > 1 {
			k.crowded += float64(len(with)) * (1 - chance)
		}
		for i, b := range with {
			for _, a := range with[:i] {
				k.pairs.add(a, b, chance)
			}
		}
	}
	return k
}

// candidates is how many pairs the run compares of documents with a key, of n documents,
// of own in the sample.
func (k *tableKeys) candidates(own, n float64, table int) float64 {
	return k.pairs.grown(own, n) + k.crowded*n/own*mapper.CrowdedPairs(table)
}

// atMost is the probability that no more than that many documents of a run have a key
// which so many of a sample have, of a run of that many times as many documents. The
// sample is one of Poisson's, and the numbers of documents of keys follow Zipf's law,
// with a density of 1/f²; then they have a gamma distribution of shape sampled − 1 and
// scale times.
func atMost(documents, sampled int, times float64) float64 {
	if sampled < 2 {
		return 1
	}
	x := float64(documents) / times
	more, term := 0.0, math.Exp(-x)
	for i := 1; i < sampled; i++ {
		more += term
		term *= x / float64(i)
	}
	return max(0, 1-more)
}

// chance is the probability that the run compares two documents: the best that one of
// the keys gives them which they share. Without one they come by way of another table.
func (k *tableKeys) chance(a, b uint64) float64 {
	best, shared := 0.0, false
	for _, v := range k.of[a] {
		if _, ok := slices.BinarySearch(k.of[b], v); ok {
			best, shared = max(best, k.compared[v]), true
		}
	}
	if !shared {
		return 1
	}
	return best
}

// seconds is what meetings take of one core: of n documents with so many bytes of text.
func (m meetings) seconds(n, text float64) float64 {
	sampled := 0.0
	if m.shared > 0 {
		sampled = n*(m.shared*postingSeconds+text*sampledSeconds) + m.candidates*candidateSeconds
	}
	return m.short*shortSeconds + m.near*nearSeconds + sampled + m.asked*(openSeconds+text*openByteSeconds) + m.open*(pairSeconds+text*pairByteSeconds)
}

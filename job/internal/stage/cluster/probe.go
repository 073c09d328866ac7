package cluster

import (
	"math/bits"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/hamming"
	"github.com/neardup/neardup/simhash/sketch"
)

// probe finds the samples with which a document may be a candidate pair: all for
// which mapper.Rule.Candidate says so, and some more. Samples are few, and most
// documents are a candidate of none. For the built-in tables, probe looks keys up in
// a filter of bits, so that this takes less than a nanosecond a sample. A table that
// someone added is asked about every sample.
type probe struct {
	rule    *mapper.Rule
	samples []sample
	added   []mapper.Table // tables beyond the built-in ones that the rule asks for

	normal []near              // samples of normal length
	low    *hamming.Scanner    // scans the low 64 bits of normal
	shorts *shorts             // short texts; nil if there are none
	keys   map[uint64][]uint16 // samples by key
	filter []uint64            // bitmap of the leading bits of keys

	met, once, twice []uint64 // bitmaps of samples, for one document: candidates; those that share one sampled key, and two
	outline          sketch.Outline
}

// near is the fingerprint of sample number at.
type near struct {
	hi, lo uint64
	at     int
}

// A key is the hash of a value that a candidate shares with a sample, and of its
// kind: fingerprint, band number, or sampled shingle.
const (
	ofFingerprint = uint64(0)
	ofBand        = uint64(1) // and the next sketch.Bands - 1
	ofSample      = uint64(1 + sketch.Bands)

	filterBits = 1 << 19
)

func keyOf(of, value uint64) uint64 {
	return (value ^ of*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
}

func newProbe(rule *mapper.Rule, samples []sample) *probe {
	p := &probe{rule: rule, samples: samples, keys: map[uint64][]uint16{}, filter: make([]uint64, filterBits/64)}
	for _, t := range mapper.Tables[mapper.BuiltIn:] {
		if t.Asked(rule) {
			p.added = append(p.added, t)
		}
	}
	var short []shortSample
	for i := range samples {
		v := &samples[i].view
		if v.Normal {
			p.normal = append(p.normal, near{v.Hi, v.Lo, i})
		}
		if rule.ShortTexts && len(v.Letters) > 0 {
			short = append(short, shortSample{sketch.AppendOutline(nil, v.Letters), i})
		}
		p.eachKey(v, func(key uint64, _ bool) {
			if of := p.keys[key]; len(of) == 0 || of[len(of)-1] != uint16(i) {
				p.keys[key] = append(of, uint16(i))
				p.filter[key>>45/64] |= 1 << (key >> 45 % 64)
			}
		})
	}
	low := make([]uint64, len(p.normal))
	for i := range p.normal {
		low[i] = p.normal[i].lo
	}
	p.low = hamming.NewScanner(low)
	if len(short) > 0 {
		p.shorts = newShorts(short)
	}
	return p.clone()
}

// clone returns a copy for another goroutine, which shares all but the state for
// one document.
func (p *probe) clone() *probe {
	c := *p
	const words = (checked + 63) / 64
	c.met, c.once, c.twice, c.outline = make([]uint64, words), make([]uint64, words), make([]uint64, words), nil
	return &c
}

// eachKey calls yield with the keys of a document. A candidate shares one key that
// is not sampled, or two that are.
func (p *probe) eachKey(v *data.View, yield func(key uint64, sampled bool)) {
	if !p.rule.Verified {
		return
	}
	yield(keyOf(ofFingerprint, v.Lo^bits.RotateLeft64(v.Hi, 1)), false)
	if p.rule.Bands && v.Sketch != [data.SketchSize]byte{} {
		s := (*sketch.Sketch)(&v.Sketch)
		for i := range sketch.Bands {
			yield(keyOf(ofBand+uint64(i), uint64(s.Band(i))), false)
		}
	}
	if p.rule.Containment > 0 {
		for k := range len(v.Sample) / sketch.SampleKeyBytes {
			yield(keyOf(ofSample, uint64(sketch.SampleKey(v.Sample, k))), true)
		}
	}
}

// each calls yield with the samples with which the document may be a candidate
// pair. twice says whether they share two sampled keys.
func (p *probe) each(v *data.View, yield func(i int, twice bool)) {
	clear(p.met)
	clear(p.once)
	clear(p.twice)
	if v.Normal {
		p.low.Within(v.Lo, p.rule.K, func(i int) {
			n := &p.normal[i]
			if bits.OnesCount64(n.hi^v.Hi)+bits.OnesCount64(n.lo^v.Lo) <= p.rule.K {
				p.met[n.at/64] |= 1 << (n.at % 64)
			}
		})
	}
	p.eachKey(v, func(key uint64, sampled bool) {
		if p.filter[key>>45/64]>>(key>>45%64)&1 == 0 {
			return
		}
		for _, i := range p.keys[key] {
			word, bit := i/64, uint64(1)<<(i%64)
			if !sampled {
				p.met[word] |= bit
				continue
			}
			p.twice[word] |= p.once[word] & bit
			p.once[word] |= bit
		}
	})
	if p.shorts != nil && len(v.Letters) > 0 {
		p.outline = sketch.AppendOutline(p.outline[:0], v.Letters)
		p.shorts.each(p.outline, func(i int) { p.met[i/64] |= 1 << (i % 64) })
	}
	for _, t := range p.added {
		for i := range p.samples {
			if t.Brings(p.rule, &p.samples[i].view, v) {
				p.met[i/64] |= 1 << (i % 64)
			}
		}
	}
	for word, met := range p.met {
		for met |= p.twice[word]; met != 0; met &= met - 1 {
			bit := bits.TrailingZeros64(met)
			yield(word*64+bit, p.twice[word]>>bit&1 != 0)
		}
	}
}

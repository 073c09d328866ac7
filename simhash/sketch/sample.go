package sketch

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
)

// A sample is kept of a document's text to find documents that it contains or that
// contain it. A text is read as passages, each of sampleShingles shingles one behind
// the other. The sample holds those passages whose hash, of which it keeps the upper
// half, is below a bound. Whether a passage is in the sample depends on the passage
// alone, so of the passages that two documents share, both keep the same (Broder: On
// the Resemblance and Containment of Documents, 1997; FracMinHash: Irber et al.,
// Lightweight Compositional Analysis of Metagenomes, 2022). Single shingles would
// not do: most of those of an English text occur in any other.
//
// The bound depends on the text's length and halves with each level. Two samples of
// different levels are compared by the keys below the lower of their bounds.
//
// A sample stands in bytes: its keys, ascending, each SampleKeyBytes,
// little-endian.

// SampleKeyBytes is the number of bytes of a sample's key, and maxSample the
// most keys of a sample.
const (
	SampleKeyBytes = 4
	maxSample      = 255
)

// sampleShingles is the number of shingles of a passage.
const sampleShingles = 3

// A text of usual length has a key for about every 1<<sampleLevel shingles. A
// shorter text has a lower level, which gives it about sampleLeast keys or more. A
// longer one has a higher level, which gives it at most about sampleMost.
const (
	sampleLevel = 6
	sampleLeast = 32
	sampleMost  = 208 // maxSample leaves room for chance
)

// levelOf is the level of a text of so many characters in normal form.
func levelOf(length int) int {
	switch {
	case length>>sampleLevel < sampleLeast:
		return bits.Len(uint(length/sampleLeast|1)) - 1
	case length>>sampleLevel > sampleMost:
		return bits.Len(uint(length / (sampleMost + 1)))
	}
	return sampleLevel
}

// sampleBound is the bound of a level: its keys are below it.
func sampleBound(level int) uint64 { return 1 << (32 - min(level, 32)) }

// SketchAndSample is Sketch, and also appends the text's sample to sample. Length
// is that of the text in characters.
func (m *Maker) SketchAndSample(dst *Sketch, sample []byte, text []byte, length int) (shingles int, _ []byte) {
	shingles = m.sketch(dst, text, sampleBound(levelOf(length)))
	slices.Sort(m.sample)
	keys := slices.Compact(m.sample)
	for _, key := range keys[:min(len(keys), maxSample)] {
		sample = binary.LittleEndian.AppendUint32(sample, key)
	}
	return shingles, sample
}

// take adds the passages that end in the next block of shingles' hashes to the
// sample, if they are below the bound.
func (m *Maker) take(block []uint64, bound uint64) {
	const length = (sampleShingles - 1) * shingleSize // from the first shingle of a passage to its last
	m.recent = append(m.recent, block...)
	n := len(m.recent) - length
	if n <= 0 {
		return
	}
	for i, h := range m.recent[:n] {
		for j := shingleSize; j <= length; j += shingleSize {
			h = h*foldSeed + m.recent[i+j]
		}
		if x := fold(h) >> 32; x < bound {
			m.sample = append(m.sample, uint32(x))
		}
	}
	m.recent = m.recent[:copy(m.recent, m.recent[n:])]
}

// SampleKey is key i of a sample.
func SampleKey(sample []byte, i int) uint32 {
	return binary.LittleEndian.Uint32(sample[i*SampleKeyBytes:])
}

// SharedSample returns how many keys the samples of two texts share, and how many
// keys the smaller sample has, both counted at the higher of the two levels. The
// ratio estimates the texts' containment. X and y are the lengths of the texts in
// characters.
func SharedSample(a, b []byte, x, y int) (shared, fewer int) {
	n, m := sameLevel(a, b, x, y)
	for i, j := 0, 0; i < n && j < m; {
		one, other, both := order(SampleKey(a, i), SampleKey(b, j))
		i, j, shared = i+one, j+other, shared+both
	}
	return shared, min(n, m)
}

// Limits for the share of the smaller sample's keys that the larger has too, in
// parts of sampleParts. If one text contains the other, it has most of them, and
// hardly less than containedParts even if both texts have something of their own.
// Each edit spoils all passages that it is in: with a tenth of the letters edited a
// fifth of the passages is left, and only rarely less than editedParts.
const (
	sampleParts    = 20
	containedParts = 8
	editedParts    = 2
)

// AlikeSamples reports whether two samples share enough keys for one text to contain
// the other or, if edited is set, to be an edited version of it. They must share at
// least two keys in any case. X and y are the lengths of the texts in characters. The
// caller knows that the samples share at least and at most so many keys; where these
// bounds decide, AlikeSamples does not read the samples.
func AlikeSamples(a, b []byte, x, y int, edited bool, least, most int) bool {
	n, m := sameLevel(a, b, x, y)
	need, shared := needed(min(n, m), edited), 0
	if least >= need || most < need {
		return least >= need
	}
	// spareA and spareB are how many more keys of a and b may be missing in the
	// other. While neither is negative and need is not reached, both have keys left.
	spareA, spareB := n-need, m-need
	for i, j := 0, 0; shared < need && spareA >= 0 && spareB >= 0; {
		one, other, both := order(SampleKey(a, i), SampleKey(b, j))
		i, j, shared = i+one, j+other, shared+both
		spareA, spareB = spareA-one+both, spareB-other+both
	}
	return shared >= need
}

// needed is how many keys two samples that are alike share at least.
func needed(fewer int, edited bool) int {
	parts := containedParts
	if edited {
		parts = editedParts
	}
	return max(2, (parts*fewer+sampleParts-1)/sampleParts)
}

// sameLevel returns how many keys each of two samples has at the higher of their
// levels.
func sameLevel(a, b []byte, x, y int) (n, m int) {
	n, m = len(a)/SampleKeyBytes, len(b)/SampleKeyBytes
	if from, to := levelOf(x), levelOf(y); from < to {
		n = below(a, n, sampleBound(to))
	} else if to < from {
		m = below(b, m, sampleBound(from))
	}
	return n, m
}

// below is how many of the n keys of a sample are below bound.
func below(sample []byte, n int, bound uint64) int {
	return sort.Search(n, func(i int) bool { return uint64(SampleKey(sample, i)) >= bound })
}

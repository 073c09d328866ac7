package sketch

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
)

// A sample is what remains of a document's text to find those that it contains,
// or that contain it: of the hashes of its passages of sampleShingles shingles,
// one behind the other, the upper halves of those below a bound, so that of the
// passages that two documents share both keep the same (Broder: On the
// Resemblance and Containment of Documents, 1997; FracMinHash: Irber et al.,
// Lightweight Compositional Analysis of Metagenomes, 2022). Single shingles would
// not do: most of those of an English text stand in any other. The bound depends
// on the text's length and halves with each level; samples of two levels are
// compared by the keys below the lower bound.
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

// Of a text of the usual length a sample has a key for every 1<<sampleLevel
// shingles; of a shorter one more, so that it has sampleLeast characters for
// each or more keys; of a longer one fewer, to have at most sampleMost.
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

// sampleBound is what the keys of a level are below.
func sampleBound(level int) uint64 { return 1 << (32 - min(level, 32)) }

// SketchAndSample is Sketch, and appends the sample of the same text to sample;
// length is that of the text in characters.
func (m *Maker) SketchAndSample(dst *Sketch, sample []byte, text []byte, length int) (shingles int, _ []byte) {
	shingles = m.sketch(dst, text, sampleBound(levelOf(length)))
	slices.Sort(m.sample)
	keys := slices.Compact(m.sample)
	for _, key := range keys[:min(len(keys), maxSample)] {
		sample = binary.LittleEndian.AppendUint32(sample, key)
	}
	return shingles, sample
}

// take collects what the next hashes of shingles add to the sample.
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

// SharedSample returns how many keys the samples of two texts, of lengths x and
// y in characters, have in common, and how many the one of fewer has, of the
// keys of the level that both have. Their ratio estimates Containment.
func SharedSample(a, b []byte, x, y int) (shared, fewer int) {
	n, m := sameLevel(a, b, x, y)
	for i, j := 0, 0; i < n && j < m; {
		one, other, both := order(SampleKey(a, i), SampleKey(b, j))
		i, j, shared = i+one, j+other, shared+both
	}
	return shared, min(n, m)
}

// What two texts' samples share of the fewer keys, out of sampleParts: most, if
// one text contains the other; hardly less than containedParts, if either has
// something of its own, too. Each edit spoils the passages that it is in: with a
// tenth of the letters edited a fifth of the passages is left, and less than
// editedParts by mishap only.
const (
	sampleParts    = 20
	containedParts = 8
	editedParts    = 2
)

// AlikeSamples reports whether the samples of two texts, of lengths x and y in
// characters, share two keys, and so many of the fewer that one text may contain
// the other or, if edited is set, be the other, edited. They are known to share at
// least and at most so many keys: where that says it, nobody looks.
func AlikeSamples(a, b []byte, x, y int, edited bool, least, most int) bool {
	n, m := sameLevel(a, b, x, y)
	need, shared := needed(min(n, m), edited), 0
	if least >= need || most < need {
		return least >= need
	}
	// Of either sample so many keys may be none of the other. As long as they
	// are not spent, and need is not reached, keys are left of both.
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

// sameLevel is how many keys two samples have of the level that both have.
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

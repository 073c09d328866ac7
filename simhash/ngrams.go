package simhash

import (
	"math/bits"
	"slices"
)

// Grams reads the n-grams of a text; mix makes 64 even bits of their hashes.

// gramSeed sets the upper half of a 128-bit hash apart from the lower.
const gramSeed = 0xd1b54a32d192ed03

// mix is the finaliser of SplitMix64 (variant 13 of Stafford's): it is a
// bijection.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// gramHash is an n-gram's hash, of the hash of its letters.
func (a *Analyzer) gramHash(letters uint64) Fingerprint {
	f := Fingerprint{Lo: mix(letters)}
	if a.options.Bits == 128 {
		f.Hi = mix(letters ^ gramSeed)
	}
	return f
}

// sumGrams makes the fingerprint of w.text's n-grams, of which those of the
// title, its first bytes, count TitleWeight times. The text has length characters.
func (w *Workspace) sumGrams(titleEnd, length int) (Fingerprint, int) {
	a, g := w.a, &w.grams
	wide, unit := a.options.Bits == 128, a.weight == weightUnit
	var low, high slices64
	total := uint64(0)
	w.set.clear(titleEnd + length)
	read := func(text []byte) {
		g.Start(text, a.options.N)
		for grams := g.Next(); len(grams) > 0; grams = g.Next() {
			w.mixed = slices.Grow(w.mixed[:0], len(grams))
			mixed := w.mixed[:len(grams)]
			for i, h := range grams {
				mixed[i] = mix(h)
			}
			w.set.reserve(len(mixed))
			if unit { // the new ones alone
				fresh := 0
				for i, h := range mixed {
					grams[fresh], mixed[fresh] = grams[i], h
					fresh += w.set.add(h)
				}
				grams, mixed = grams[:fresh], mixed[:fresh]
			} else {
				for _, h := range mixed {
					w.set.add(h)
				}
			}
			total += uint64(len(mixed))
			low.add(mixed)
			if wide {
				for i, h := range grams {
					mixed[i] = mix(h ^ gramSeed)
				}
				high.add(mixed)
			}
		}
	}
	if titleEnd > 0 {
		read(w.text[:titleEnd])
		if times := uint64(a.options.TitleWeight); !unit && times > 1 {
			total *= times
			low.multiply(times)
			high.multiply(times)
		}
	}
	read(w.text[titleEnd:])
	f := Fingerprint{Lo: low.above(total / 2)}
	switch {
	case wide:
		f.Hi = high.above(total / 2)
	case a.options.Bits == 32:
		f.Lo &= 1<<32 - 1
	}
	return f, w.set.n
}

// hashSet counts distinct hashes: open addressing with linear probing, where
// zero is an empty slot, so that the hash 0 counts as 1.
type hashSet struct {
	slots []uint64 // a power of two
	n     int
	old   []uint64 // of grow
}

// clear empties the set, and gives it some room for that many hashes.
func (s *hashSet) clear(hashes int) {
	s.resize(2 << bits.Len(uint(min(hashes, 4096)+gramBlock)/2))
	s.n = 0
}

func (s *hashSet) resize(size int) {
	if size > cap(s.slots) {
		s.slots = make([]uint64, size)
		return
	}
	s.slots = s.slots[:size]
	clear(s.slots)
}

// reserve makes room for that many more hashes, with half of the slots empty.
func (s *hashSet) reserve(hashes int) {
	size := len(s.slots)
	for size < 2*(s.n+hashes) {
		size *= 2
	}
	if size == len(s.slots) {
		return
	}
	s.old = append(s.old[:0], s.slots...)
	s.resize(size)
	s.n = 0
	for _, h := range s.old {
		if h != 0 {
			s.add(h)
		}
	}
}

// add returns 1 if h is new, else 0. Room must be reserved. That it is new is
// not to be foreseen, so no branch asks: a slot is written either way.
func (s *hashSet) add(h uint64) int {
	if h == 0 {
		h = 1
	}
	slots := s.slots
	for i := int(h) & (len(slots) - 1); i < len(slots); i = (i + 1) & (len(slots) - 1) {
		v := slots[i]
		x := v ^ h
		if int64((v|-v)&(x|-x)) >= 0 { // v or x is 0
			slots[i] = h
			fresh := 1 - int((v|-v)>>63)
			s.n += fresh
			return fresh
		}
	}
	return 0
}

// gramFeatures appends the distinct n-grams of w.text, in no order.
func (w *Workspace) gramFeatures(dst []Feature, titleEnd int) []Feature {
	a, g := w.a, &w.grams
	index := map[uint64]int{}
	count := func(text []byte, times int) {
		g.Start(text, a.options.N)
		for grams := g.Next(); len(grams) > 0; grams = g.Next() {
			size := g.letters - len(grams) + 1
			for from, h := range grams {
				i, had := index[h]
				if !had {
					i = len(dst)
					index[h] = i
					var gram []rune
					for _, c := range g.buffer[from : from+size] {
						gram = append(gram, rune(c-1))
					}
					dst = append(dst, Feature{Text: string(gram), Hash: a.gramHash(h)})
				}
				if dst[i].Count += times; a.weight == weightUnit {
					dst[i].Weight = 1
				} else {
					dst[i].Weight = dst[i].Count
				}
			}
		}
	}
	count(w.text[:titleEnd], a.options.TitleWeight)
	count(w.text[titleEnd:], 1)
	return dst
}

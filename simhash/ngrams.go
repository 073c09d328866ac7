package simhash

import (
	"math/bits"
	"unicode/utf8"
)

// An n-gram is N successive characters of the normal form, where separators
// (spaces, punctuation, symbols) do not count: its text is those characters. A
// part of fewer characters is one n-gram.
//
// The rolling hash is the polynomial Σ (c+1)·gramBase^i over the characters
// from the last to the first, modulo 2⁶⁴; mix makes 64 even bits of it.
const gramBase = 0x9e3779b97f4a7c15

// gramSeed sets the upper half of a 128-bit hash apart from the lower.
const gramSeed = 0xd1b54a32d192ed03

// mix is the finaliser of SplitMix64 (variant 13 of Stafford's): it is a
// bijection.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (a *Analyzer) gramHash(rolled uint64) Fingerprint {
	f := Fingerprint{Lo: mix(rolled)}
	if a.options.Bits == 128 {
		f.Hi = mix(rolled ^ gramSeed)
	}
	return f
}

// gramReader reads the rolling hashes of a text's n-grams, in order.
type gramReader struct {
	classes *[0x10000]class
	text    []byte
	n       int
	leave   uint64     // gramBase^n: what the character that leaves counts
	window  [16]uint64 // the last n characters plus 1, the oldest at position at
	at      int
	have    int    // characters read
	rolled  uint64 // of n = 2, after the first character, only the last one plus 1
}

func (a *Analyzer) newGramReader(text []byte) gramReader {
	g := gramReader{classes: a.classes, text: text, n: a.options.N, leave: 1}
	for range g.n {
		g.leave *= gramBase
	}
	return g
}

// next fills dst, and returns how many it read; 0 at the end.
func (g *gramReader) next(dst []uint64) int {
	if g.n == 2 && g.have > 0 {
		return g.nextPairs(dst)
	}
	text, n, rolled, at, have := g.text, g.n, g.rolled, g.at, g.have
	k, i := 0, 0
	for i < len(text) && k < len(dst) {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = decode(text[i:])
		}
		i += size
		if r >= 0x5000 && r < 0xa000 { // ideographs throughout
		} else if uint(r) < uint(len(g.classes)) {
			if g.classes[r] == classNone {
				continue
			}
		} else if classOf(r) == classNone {
			continue
		}
		c := uint64(r) + 1
		rolled = rolled*gramBase + c - g.window[at&15]*g.leave
		g.window[at&15] = c
		if at++; at == n {
			at = 0
		}
		if have++; have >= n {
			dst[k] = rolled
			k++
		} else if n == 2 {
			g.text, g.rolled, g.have = text[i:], rolled, have
			return g.nextPairs(dst)
		}
	}
	if i == len(text) && k < len(dst) && have > 0 && have < n {
		dst[k], have = rolled, n
		k++
	}
	g.text, g.rolled, g.at, g.have = text[i:], rolled, at, have
	return k
}

// nextPairs is next for n-grams of two characters, after the first character,
// which alone is what rolled then has. Which characters separate is not to be
// foreseen, so no branch asks: a pair is written every time, and kept if its
// second character does not separate.
func (g *gramReader) nextPairs(dst []uint64) int {
	text, last, alone := g.text, g.rolled, g.have == 1
	k, i := 0, 0
	for i < len(text) && k < len(dst) {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = decode(text[i:])
		}
		i += size
		var c class
		if uint(r) < uint(len(g.classes)) {
			c = g.classes[r]
		} else {
			c = classOf(r)
		}
		next := uint64(r) + 1
		dst[k] = last*gramBase + next
		if c != classNone {
			last = next
		}
		if c != classNone {
			k++
		}
	}
	if k > 0 {
		g.have = 2
	} else if alone && i == len(text) && len(dst) > 0 {
		dst[0], g.have, k = last, 2, 1
	}
	g.text, g.rolled = text[i:], last
	return k
}

// gramBlock is how many n-grams are hashed and summed at a time.
const gramBlock = 512

// sumGrams makes the fingerprint of w.text's n-grams, of which those of the
// title, its first bytes, count TitleWeight times.
func (w *Workspace) sumGrams(titleEnd int) (Fingerprint, int) {
	a := w.a
	wide, unit := a.options.Bits == 128, a.weight == weightUnit
	var titleLow, titleHigh, low, high slices64
	var rolled, mixed [gramBlock]uint64
	total := uint64(0)
	w.set.clear(characters(w.text))
	read := func(text []byte, times uint64, low, high *slices64) {
		g := a.newGramReader(text)
		for n := g.next(rolled[:]); n > 0; n = g.next(rolled[:]) {
			w.set.reserve(n)
			if unit {
				fresh := 0
				for _, r := range rolled[:n] {
					h := mix(r)
					rolled[fresh], mixed[fresh] = r, h
					fresh += w.set.add(h)
				}
				n = fresh
			} else {
				for i, r := range rolled[:n] {
					mixed[i] = mix(r)
				}
				w.set.addAll(mixed[:n])
			}
			total += uint64(n) * times
			low.add(mixed[:n])
			if wide {
				for i, r := range rolled[:n] {
					mixed[i] = mix(r ^ gramSeed)
				}
				high.add(mixed[:n])
			}
		}
	}
	times := uint64(1)
	if !unit {
		times = uint64(a.options.TitleWeight)
	}
	read(w.text[:titleEnd], times, &titleLow, &titleHigh)
	read(w.text[titleEnd:], 1, &low, &high)
	signs := func(title, text *slices64) uint64 {
		var sums bitSums
		title.addTo(&sums)
		for i := range sums {
			sums[i] *= times
		}
		text.addTo(&sums)
		return sums.signs(total)
	}
	f := Fingerprint{Lo: signs(&titleLow, &low)}
	switch {
	case wide:
		f.Hi = signs(&titleHigh, &high)
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

// addAll adds each of the hashes.
func (s *hashSet) addAll(hashes []uint64) {
	slots, n := s.slots, s.n
	for _, h := range hashes {
		if h == 0 {
			h = 1
		}
		for i := int(h) & (len(slots) - 1); i < len(slots); i = (i + 1) & (len(slots) - 1) {
			v := slots[i]
			x := v ^ h
			if int64((v|-v)&(x|-x)) >= 0 {
				slots[i] = h
				n += 1 - int((v|-v)>>63)
				break
			}
		}
	}
	s.n = n
}

// gramFeatures appends the distinct n-grams of w.text, in no order.
func (w *Workspace) gramFeatures(dst []Feature, titleEnd int) []Feature {
	a := w.a
	index := map[uint64]int{}
	count := func(text []byte, times int) {
		var letters []rune
		for _, r := range string(text) {
			if classOf(r) != classNone {
				letters = append(letters, r)
			}
		}
		g := a.newGramReader(text)
		var one [1]uint64
		for from := 0; g.next(one[:]) == 1; from++ {
			rolled := one[0]
			gram := letters[from:min(from+a.options.N, len(letters))]
			i, had := index[rolled]
			if !had {
				i = len(dst)
				index[rolled] = i
				dst = append(dst, Feature{Text: string(gram), Hash: a.gramHash(rolled)})
			}
			if dst[i].Count += times; a.weight == weightUnit {
				dst[i].Weight = 1
			} else {
				dst[i].Weight = dst[i].Count
			}
		}
	}
	count(w.text[:titleEnd], a.options.TitleWeight)
	count(w.text[titleEnd:], 1)
	return dst
}

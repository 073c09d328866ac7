package simhash

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

// grams calls emit with the rolling hash of every n-gram of text, in order.
func (a *Analyzer) grams(text []byte, emit func(rolled uint64)) {
	n := a.options.N
	leave := uint64(1) // gramBase^n
	for range n {
		leave *= gramBase
	}
	var window [16]uint64 // the last characters, plus 1
	rolled, have, at := uint64(0), 0, 0
	for i := 0; i < len(text); {
		r, size := decode(text[i:])
		i += size
		if uint(r) < uint(len(a.classes)) {
			if a.classes[r] == classNone {
				continue
			}
		} else if classOf(r) == classNone {
			continue
		}
		c := uint64(r) + 1
		rolled = rolled*gramBase + c - window[at]*leave
		window[at] = c
		if at++; at == n {
			at = 0
		}
		if have++; have >= n {
			emit(rolled)
		}
	}
	if have > 0 && have < n {
		emit(rolled)
	}
}

// sumGrams makes the fingerprint of w.text's n-grams, of which those of the
// title, its first bytes, count TitleWeight times.
func (w *Workspace) sumGrams(titleEnd int) (Fingerprint, int) {
	a := w.a
	w.nextEpoch()
	w.hashes, w.highs, w.weights = w.hashes[:0], w.highs[:0], w.weights[:0]
	wide, unit := a.options.Bits == 128, a.weight == weightUnit
	features, total := 0, uint64(0)
	var low, high slices64
	first := func(h uint64) bool {
		slot := w.table.find(h, w.epoch)
		if slot.epoch == w.epoch {
			return false
		}
		*slot = hashSlot{hash: h, epoch: w.epoch}
		w.table.added(w.epoch)
		features++
		return true
	}
	if titleEnd > 0 {
		a.grams(w.text[:titleEnd], func(rolled uint64) {
			h, weight := a.gramHash(rolled), uint32(a.options.TitleWeight)
			if fresh := first(h.Lo); unit {
				if !fresh {
					return
				}
				weight = 1
			}
			total += uint64(weight)
			w.hashes, w.highs, w.weights = append(w.hashes, h.Lo), append(w.highs, h.Hi), append(w.weights, weight)
		})
	}
	a.grams(w.text[titleEnd:], func(rolled uint64) {
		h := a.gramHash(rolled)
		if fresh := first(h.Lo); unit && !fresh {
			return
		}
		total++
		low.add(h.Lo)
		if wide {
			high.add(h.Hi)
		}
	})
	var f Fingerprint
	var sums bitSums
	sums.add(w.hashes, w.weights)
	low.drain(&sums)
	f.Lo = sums.signs(total)
	switch {
	case wide:
		sums = bitSums{}
		sums.add(w.highs, w.weights)
		high.drain(&sums)
		f.Hi = sums.signs(total)
	case a.options.Bits == 32:
		f.Lo &= 1<<32 - 1
	}
	return f, features
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
		from := 0
		a.grams(text, func(rolled uint64) {
			gram := letters[from:min(from+a.options.N, len(letters))]
			from++
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
		})
	}
	count(w.text[:titleEnd], a.options.TitleWeight)
	count(w.text[titleEnd:], 1)
	return dst
}

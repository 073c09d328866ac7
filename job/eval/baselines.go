package eval

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// Baselines returns the methods that the field compares with, at the settings
// that their authors or users name.
func Baselines() []Method {
	return []Method{
		&Neardup{Label: "simhash", Features: features(simhash.WeightUnit, simhash.StopNone, 0), Distance: 3},
		&Neardup{Label: "simhash-top20", Features: features(simhash.WeightTFIDF, simhash.StopNone, 20), Distance: 3},
		&Shingling{Alike: 0.5},
		&MinHash{Permutations: 256, Rows: 3, Alike: 0.5},
		&LongestSentences{N: 3},
		&TopFeatures{N: 10},
		&SegmentSignature{Share: 0.5, Paragraphs: 2},
		&PunctuationContext{Alike: 0.5},
	}
}

// SmallBaselines returns the methods that compare texts pair by pair. They
// refuse more than SmallSet documents.
func SmallBaselines() []Method {
	return []Method{&Levenshtein{Alike: 0.7}, &Cosine{Alike: 0.9}, &Jaccard{Alike: 0.6}, &CommonSubstring{Alike: 0.3}}
}

// Shingling is Broder's resemblance (On the resemblance and containment of
// documents, SEQUENCES 1997) without his sampling: the exact Jaccard
// similarity of shingles, by an inverted index. Its memory is that of all
// shingles.
type Shingling struct{ Alike float64 }

// Name implements Method.
func (m *Shingling) Name() string { return "shingling" }

// Find implements Method.
func (m *Shingling) Find(ctx context.Context, l *Lab) ([]Found, error) {
	sets := make([][]uint64, len(l.corpus.Documents))
	err := l.normalized(ctx, func(i int, text []byte) { sets[i] = slices.Clip(sketch.Shingles(nil, text)) })
	if err != nil {
		return nil, err
	}
	return joined(ctx, sets, m.Alike)
}

func joined(ctx context.Context, sets [][]uint64, t float64) (found []Found, err error) {
	err = alike(ctx, sets, t, func(f Found) { found = append(found, f) })
	return found, err
}

// MinHash estimates the Jaccard similarity of shingles by the share of equal
// minima under permutations (Broder 1997), and finds candidates by bands of
// Rows minima (Indyk, Motwani 1998). With 256 permutations and 3 rows it loses
// less than 1 pair in 10,000 at a similarity of 0.5.
type MinHash struct {
	Permutations int
	Rows         int
	Alike        float64 // the least estimate of a pair
}

// Name implements Method.
func (m *MinHash) Name() string { return "minhash" }

// Find implements Method.
func (m *MinHash) Find(ctx context.Context, l *Lab) ([]Found, error) {
	n := m.Permutations
	multiply, add := make([]uint32, n), make([]uint32, n)
	for i := range n {
		h := mixed(uint64(i) + 1)
		multiply[i], add[i] = uint32(h)|1, uint32(h>>32)
	}
	signatures := make([][]uint32, len(l.corpus.Documents))
	err := l.normalized(ctx, func(i int, text []byte) {
		set := sketch.Shingles(nil, text)
		if len(set) == 0 {
			return
		}
		minima := make([]uint32, n)
		for j := range minima {
			minima[j] = math.MaxUint32
		}
		for _, h := range set {
			x := uint32(h >> 32)
			for j, v := range minima {
				minima[j] = min(v, permuted(x, multiply[j], add[j]))
			}
		}
		signatures[i] = minima
	})
	if err != nil {
		return nil, err
	}
	equal := func(a, b []uint32) (n int) {
		for i, v := range a {
			if v == b[i] {
				n++
			}
		}
		return n
	}
	var found []Found
	keys := make([]uint64, 0, len(signatures))
	for from := 0; from+m.Rows <= n; from += m.Rows {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		keys = keys[:0]
		for i, s := range signatures {
			if s == nil {
				continue
			}
			h := uint64(0)
			for _, v := range s[from : from+m.Rows] {
				h = mixed(h + uint64(v) + 1)
			}
			keys = append(keys, h>>32<<32|uint64(i))
		}
		eachGroup(keys, func(group []uint64) {
			for i, x := range group {
				a := signatures[uint32(x)]
				for _, y := range group[i+1:] {
					b := signatures[uint32(y)]
					if metBefore(a, b, from, m.Rows) {
						continue
					}
					if score := float64(equal(a, b)) / float64(n); score >= m.Alike {
						found = append(found, Found{pairOf(int32(uint32(x)), int32(uint32(y))), score})
					}
				}
			}
		})
	}
	return found, nil
}

// metBefore reports whether two signatures share a band before from.
func metBefore(a, b []uint32, from, rows int) bool {
	for i := 0; i < from; i += rows {
		if slices.Equal(a[i:i+rows], b[i:i+rows]) {
			return true
		}
	}
	return false
}

// permuted is a bijection of 32 bits.
func permuted(x, multiply, add uint32) uint32 {
	x = x*multiply + add
	return (x ^ x>>15) * 0x2c1b3c6d
}

// mixed is the finaliser of SplitMix64.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// equalKeys returns the pairs of documents of the same key; zero is no key.
func equalKeys(keys []uint64) []Found {
	var found []Found
	groups := map[uint64][]int32{}
	for i, k := range keys {
		if k == 0 {
			continue
		}
		for _, other := range groups[k] {
			found = append(found, Found{pairOf(other, int32(i)), 1})
		}
		groups[k] = append(groups[k], int32(i))
	}
	return found
}

// LongestSentences takes documents for the same whose N longest sentences are.
type LongestSentences struct{ N int }

// Name implements Method.
func (m *LongestSentences) Name() string { return "longest-sentences" }

// Find implements Method.
func (m *LongestSentences) Find(ctx context.Context, l *Lab) ([]Found, error) {
	keys := make([]uint64, len(l.corpus.Documents))
	err := l.normalized(ctx, func(i int, text []byte) {
		sentences := slices.Collect(parts(text, isSentenceEnd))
		slices.SortFunc(sentences, func(a, b []byte) int {
			return cmp.Or(cmp.Compare(utf8.RuneCount(b), utf8.RuneCount(a)), bytes.Compare(a, b))
		})
		if len(sentences) > 0 {
			keys[i] = xxh3.Hash(bytes.Join(sentences[:min(m.N, len(sentences))], []byte{'\n'}))
		}
	})
	return equalKeys(keys), err
}

// TopFeatures takes documents for the same whose N features of the highest
// tf × idf are: the MD5 of them in order of their text.
type TopFeatures struct{ N int }

// Name implements Method.
func (m *TopFeatures) Name() string { return "top-features-md5" }

// Find implements Method.
func (m *TopFeatures) Find(ctx context.Context, l *Lab) ([]Found, error) {
	a, err := simhash.New(features(simhash.WeightTFIDF, simhash.StopBuiltin, m.N))
	if err != nil {
		return nil, err
	}
	keys := make([]uint64, len(l.corpus.Documents))
	err = l.each(ctx, a, func(w *simhash.Workspace) func(int) {
		var all []simhash.Feature
		return func(i int) {
			all = w.Features(all[:0], nil, l.corpus.Documents[i].Text)
			if len(all) == 0 {
				return
			}
			slices.SortFunc(all, func(a, b simhash.Feature) int { return cmp.Compare(a.Text, b.Text) })
			h := md5.New()
			for _, f := range all {
				_, _ = h.Write(append([]byte(f.Text), 0))
			}
			sum := h.Sum(nil)
			for _, c := range sum[:8] {
				keys[i] = keys[i]<<8 | uint64(c)
			}
		}
	})
	return equalKeys(keys), err
}

// SegmentSignature takes documents for the same that have at least Paragraphs
// paragraphs in common, and those are at least Share of either's.
type SegmentSignature struct {
	Share      float64
	Paragraphs int
}

// Name implements Method.
func (m *SegmentSignature) Name() string { return "segment-signature" }

// Find implements Method.
func (m *SegmentSignature) Find(ctx context.Context, l *Lab) ([]Found, error) {
	sets := make([][]uint64, len(l.corpus.Documents))
	err := l.normalized(ctx, func(i int, text []byte) {
		sets[i] = hashes(parts(text, func(r rune) bool { return r == '\n' || r == '\r' }))
	})
	if err != nil {
		return nil, err
	}
	// A share s of both is a Jaccard similarity of at least s / (2 − s).
	all, err := joined(ctx, sets, m.Share/(2-m.Share))
	var found []Found
	for _, f := range all {
		a, b := sets[f.A], sets[f.B]
		both := sketch.Shared(a, b)
		share := float64(both) / float64(max(len(a), len(b)))
		if both >= m.Paragraphs && share >= m.Share {
			found = append(found, Found{f.Pair, share})
		}
	}
	return found, err
}

// PunctuationContext compares the sets of what stands around punctuation
// marks: the two characters on either side of each.
type PunctuationContext struct{ Alike float64 }

// Name implements Method.
func (m *PunctuationContext) Name() string { return "punctuation-context" }

// Find implements Method.
func (m *PunctuationContext) Find(ctx context.Context, l *Lab) ([]Found, error) {
	sets := make([][]uint64, len(l.corpus.Documents))
	err := l.normalized(ctx, func(i int, text []byte) {
		var characters []rune
		for _, r := range string(text) {
			if !unicode.IsSpace(r) {
				characters = append(characters, r)
			}
		}
		sets[i] = hashes(func(yield func([]byte) bool) {
			for at, r := range characters {
				if unicode.IsPunct(r) && at >= 2 && at+2 < len(characters) {
					context := string(characters[at-2:at]) + string(characters[at+1:at+3])
					if !yield([]byte(context)) {
						return
					}
				}
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return joined(ctx, sets, m.Alike)
}

func isSentenceEnd(r rune) bool {
	switch r {
	case '\n', '\r', '.', '!', '?', ';', '。', '！', '？', '；', '…':
		return true
	}
	return false
}

// parts yields the parts of a text between the characters that end one, those
// without letters left out.
func parts(text []byte, ends func(rune) bool) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for part := range bytes.FieldsFuncSeq(text, ends) {
			if part = bytes.TrimSpace(part); bytes.ContainsFunc(part, unicode.IsLetter) && !yield(part) {
				return
			}
		}
	}
}

// hashes returns the distinct hashes of parts, ascending.
func hashes(parts func(yield func([]byte) bool)) []uint64 {
	var set []uint64
	for p := range parts {
		set = append(set, xxh3.Hash(p))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

package eval

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// baselines returns the methods that the field compares with, at the settings
// that their authors or users name.
func baselines() []Method {
	return []Method{
		fingerprints("simhash", features(simhash.WeightUnit, simhash.StopNone, 0)),
		fingerprints("simhash-top20", features(simhash.WeightTFIDF, simhash.StopNone, 20)),
		shingling(0.5), minHash(), longestSentences(3), topFeatures(10), informationFingerprints(10, 0.5), segmentSignature(0.5, 2), punctuationContext(0.5),
	}
}

// smallBaselines returns the methods that compare texts pair by pair. They
// refuse more than smallSet documents.
func smallBaselines() []Method {
	return []Method{editDistance(0.7), cosine(0.9), euclid(0.75), wordJaccard(0.6), commonSubstring(0.3)}
}

// baseline is a method that is not ours. One that is tuned returns more pairs
// than it reports: those from the score on that is best on the documents at
// hand.
type baseline struct {
	name  string
	tuned bool
	find  func(ctx context.Context, l *Lab) ([]Found, error)
}

func (b baseline) Name() string                                      { return b.name }
func (b baseline) Find(ctx context.Context, l *Lab) ([]Found, error) { return b.find(ctx, l) }

// features are the default options but for weight, stop list and top.
func features(weight, stop string, top int) simhash.Options {
	o := simhash.DefaultOptions()
	o.Weight, o.Stop, o.Top = weight, stop, top
	return o
}

// fingerprints is our method by the distance alone, with other features.
func fingerprints(label string, o simhash.Options) Method {
	m := Preset(config.PresetClassic)
	m.Label, m.Features.Options = label, o
	return m
}

// joined is a method that takes documents for the same whose sets of hashes,
// made of their normal form, have at least the Jaccard similarity least.
func joined(name string, least float64, set func(text []byte) []uint64) Method {
	return baseline{name, false, func(ctx context.Context, l *Lab) ([]Found, error) {
		sets, err := l.sets(ctx, set)
		if err != nil {
			return nil, err
		}
		return l.alike(ctx, sets, limits{jaccard: least})
	}}
}

// shingling is Broder's resemblance (On the resemblance and containment of
// documents, SEQUENCES 1997) without his sampling: the exact Jaccard
// similarity of shingles, by an inverted index. Its memory is that of all
// shingles.
func shingling(least float64) Method { return joined("shingling", least, shingles) }

// shingles returns the shingles of a text in normal form.
func shingles(text []byte) []uint64 { return slices.Clip(sketch.Shingles(nil, text)) }

// MinHash has 256 permutations, in bands of 2, and reports pairs of an estimate
// of leastMinHash or more.
const (
	permutations = 256
	bandRows     = 2
	leastMinHash = 0.2
)

// minHash estimates the Jaccard similarity of shingles by the share of equal
// minima under permutations (Broder 1997), and finds candidates by bands of
// minima (Indyk, Motwani 1998). It loses less than 1 pair in 180 at a similarity
// of 0.2, and less than 1 in 10⁹ from 0.4 on. Its limit is tuned.
func minHash() Method {
	return baseline{"minhash", true, func(ctx context.Context, l *Lab) ([]Found, error) {
		signatures, err := l.signatures(ctx)
		if err != nil {
			return nil, err
		}
		var found []Found
		advance := l.options.Pass.Begin(permutations/bandRows, "bands")
		for from := 0; from < permutations && ctx.Err() == nil; from += bandRows {
			eachBucket(signatures, from, func(bucket []uint64) {
				for i, x := range bucket {
					a := signatures[uint32(x)]
					for _, y := range bucket[i+1:] {
						if score := float64(equalMinima(a, signatures[uint32(y)], from)) / permutations; score >= leastMinHash {
							found = append(found, Found{Pair: pairOf(int32(uint32(x)), int32(uint32(y))), Score: score})
						}
					}
				}
			})
			advance(1)
		}
		return found, ctx.Err()
	}}
}

// signatures returns the minima of every document's shingles under the
// permutations, nil for a document without shingles.
func (l *Lab) signatures(ctx context.Context) ([][]uint32, error) {
	var multiply, add [permutations]uint32
	for i := range multiply {
		h := mixed(uint64(i) + 1)
		multiply[i], add[i] = uint32(h)|1, uint32(h>>32)
	}
	signatures := make([][]uint32, len(l.corpus.Documents))
	err := l.normalized(ctx, func(i int, text []byte) {
		set := shingles(text)
		if len(set) == 0 {
			return
		}
		minima := make([]uint32, permutations)
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
	return signatures, err
}

// eachBucket calls visit with the documents that share the band of minima that
// begins at from: each in the lower 32 bits of an element.
func eachBucket(signatures [][]uint32, from int, visit func(bucket []uint64)) {
	keys := make([]uint64, 0, len(signatures))
	for i, s := range signatures {
		if s == nil {
			continue
		}
		h := uint64(0)
		for _, v := range s[from : from+bandRows] {
			h = mixed(h + uint64(v) + 1)
		}
		keys = append(keys, h>>32<<32|uint64(i))
	}
	slices.Sort(keys)
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n]>>32 == keys[0]>>32 {
			n++
		}
		visit(keys[:n])
		keys = keys[n:]
	}
}

// equalMinima returns how many minima two signatures have in common; 0 if they
// share a band before from, where they were found.
func equalMinima(a, b []uint32, from int) (n int) {
	band := 0 // of it
	for i, v := range a {
		if i%bandRows == 0 {
			band = 0
		}
		if v == b[i] {
			n, band = n+1, band+1
		}
		if band == bandRows && i < from {
			return 0
		}
	}
	return n
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

// equalKeys returns the pairs of documents of the same key; the empty key is
// none.
func equalKeys(keys []string) []Found {
	var found []Found
	groups := map[string][]int32{}
	for i, k := range keys {
		if k == "" {
			continue
		}
		for _, other := range groups[k] {
			found = append(found, Found{Pair: pairOf(other, int32(i)), Score: 1})
		}
		groups[k] = append(groups[k], int32(i))
	}
	return found
}

// longestSentences takes documents for the same whose n longest sentences are.
func longestSentences(n int) Method {
	return baseline{"longest-sentences", false, func(ctx context.Context, l *Lab) ([]Found, error) {
		keys := make([]string, len(l.corpus.Documents))
		err := l.normalized(ctx, func(i int, text []byte) {
			sentences := slices.Collect(parts(text, show.EndsSentence))
			slices.SortFunc(sentences, func(a, b []byte) int {
				return cmp.Or(cmp.Compare(utf8.RuneCount(b), utf8.RuneCount(a)), bytes.Compare(a, b))
			})
			keys[i] = string(bytes.Join(sentences[:min(n, len(sentences))], []byte{'\n'}))
		})
		return equalKeys(keys), err
	}}
}

// topFeatures takes documents for the same whose n features of the highest
// tf × idf are: the MD5 of them in order of their text.
func topFeatures(n int) Method {
	return baseline{"top-features-md5", false, func(ctx context.Context, l *Lab) ([]Found, error) {
		keys := make([]string, len(l.corpus.Documents))
		err := l.featured(ctx, features(simhash.WeightTFIDF, simhash.StopBuiltin, n), func(i int, all []simhash.Feature) {
			var texts []string
			for _, f := range all {
				texts = append(texts, f.Text)
			}
			slices.Sort(texts)
			if len(texts) > 0 {
				sum := md5.Sum([]byte(strings.Join(texts, "\x00")))
				keys[i] = string(sum[:])
			}
		})
		return equalKeys(keys), err
	}}
}

// informationFingerprints takes documents for the same of whose n features of
// the highest tf × idf, each hashed by itself, at least share are equal.
func informationFingerprints(n int, share float64) Method {
	return baseline{"information-fingerprints", false, func(ctx context.Context, l *Lab) ([]Found, error) {
		sets := make([][]uint64, len(l.corpus.Documents))
		err := l.featured(ctx, features(simhash.WeightTFIDF, simhash.StopBuiltin, n), func(i int, all []simhash.Feature) {
			for _, f := range all {
				sets[i] = append(sets[i], xxh3.HashString(f.Text))
			}
			slices.Sort(sets[i])
			sets[i] = slices.Compact(sets[i])
		})
		if err != nil {
			return nil, err
		}
		return l.shareEqual(ctx, sets, share, 1)
	}}
}

// segmentSignature takes documents for the same that have at least paragraphs
// paragraphs in common, and those are at least share of either's.
func segmentSignature(share float64, paragraphs int) Method {
	return baseline{"segment-signature", false, func(ctx context.Context, l *Lab) ([]Found, error) {
		sets, err := l.sets(ctx, func(text []byte) []uint64 {
			return hashes(linesOf(text))
		})
		if err != nil {
			return nil, err
		}
		return l.shareEqual(ctx, sets, share, paragraphs)
	}}
}

// shareEqual returns the pairs of sets of which at least share of either's
// hashes, and at least that many, are equal.
func (l *Lab) shareEqual(ctx context.Context, sets [][]uint64, share float64, least int) (found []Found, err error) {
	// A share s of both is a Jaccard similarity of at least s / (2 − s).
	all, err := l.alike(ctx, sets, limits{jaccard: share / (2 - share)})
	for _, f := range all {
		a, b := sets[f.A], sets[f.B]
		both := sketch.Shared(a, b)
		if s := float64(both) / float64(max(len(a), len(b))); both >= least && s >= share {
			found = append(found, Found{Pair: f.Pair, Score: s})
		}
	}
	return found, err
}

// punctuationContext compares the sets of what stands around punctuation
// marks: the two characters on either side of each.
func punctuationContext(least float64) Method {
	return joined("punctuation-context", least, func(text []byte) []uint64 {
		characters := []rune(strings.Join(strings.Fields(string(text)), ""))
		return hashes(func(yield func([]byte) bool) {
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
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// parts yields the parts of a text between the characters that end one, those
// without letters and digits left out.
func parts(text []byte, ends func(rune) bool) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for part := range bytes.FieldsFuncSeq(text, ends) {
			if part = bytes.TrimSpace(part); bytes.ContainsFunc(part, isLetterOrDigit) && !yield(part) {
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

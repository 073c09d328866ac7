package simhash

import (
	"os"
	"slices"
	"testing"
)

// TestAccuracy prints, for several options, how many of the pairs of draft and
// published text are found within a distance, by the Jaccard similarity J of
// their character 5-grams, and which share of all pairs found within it are
// such or have J ≥ 0.5, among these texts and among these and 3,000 laws, whose
// language is formulaic. It is what the defaults were chosen by:
//
//	NEARDUP_ACCURACY=1 go test -run Accuracy -v ./simhash
func TestAccuracy(t *testing.T) {
	if os.Getenv("NEARDUP_ACCURACY") == "" {
		t.Skip("set NEARDUP_ACCURACY=1 to measure the accuracy on the shared data: it takes minutes")
	}
	records := sharedRecords(t, "zh/lctt_pairs.jsonl.gz", 1<<30)
	var texts [][]byte // a pair at 2i and 2i + 1
	for _, r := range records {
		draft, isDraft := r["draft"].(string)
		published, isPublished := r["published"].(string)
		if !isDraft || !isPublished {
			t.Fatal("record without draft or published text")
		}
		texts = append(texts, []byte(draft), []byte(published))
	}
	texts = append(texts, sharedTexts(t, "zh/laws.jsonl.gz", "text", 3000)...)
	pairs := 2 * len(records)
	grams := func() [][]uint64 {
		o := DefaultOptions()
		o.Kind, o.N = KindNGrams, 5
		w := analyzer(t, o).NewWorkspace()
		sets := make([][]uint64, len(texts))
		for i, text := range texts {
			w.read(nil, text)
			set := map[uint64]struct{}{}
			w.grams.Start(w.text, o.N)
			for block := w.grams.Next(); len(block) > 0; block = w.grams.Next() {
				for _, h := range block {
					set[h] = struct{}{}
				}
			}
			for h := range set {
				sets[i] = append(sets[i], h)
			}
			slices.Sort(sets[i])
		}
		return sets
	}()
	jaccard := func(i, j int) float64 {
		a, b, both := grams[i], grams[j], 0
		n := len(a) + len(b)
		for len(a) > 0 && len(b) > 0 {
			switch {
			case a[0] < b[0]:
				a = a[1:]
			case a[0] > b[0]:
				b = b[1:]
			default:
				both++
				a, b = a[1:], b[1:]
			}
		}
		return float64(both) / float64(max(n-both, 1))
	}
	bands := []float64{0.9, 0.8, 0.7, 0.5}
	band := make([]int, len(records))
	for i := range records {
		j := jaccard(2*i, 2*i+1)
		for band[i] = 0; band[i] < len(bands) && j < bands[band[i]]; band[i]++ {
		}
	}
	distances := []int{3, 5, 8}
	known := map[[2]int]bool{}
	for _, c := range []struct {
		name   string
		change func(*Options)
	}{
		{"words tf", func(o *Options) {}},
		{"words tf, without hmm", func(o *Options) { o.HMM = false }},
		{"words tf, not simplified", func(o *Options) { o.Simplify = false }},
		{"words tf, stop none", func(o *Options) { o.Stop = StopNone }},
		{"words unit", func(o *Options) { o.Weight = WeightUnit }},
		{"words tfidf", func(o *Options) { o.Weight = WeightTFIDF }},
		{"words tfidf, stop none", func(o *Options) { o.Weight, o.Stop = WeightTFIDF, StopNone }},
		{"words sqrt-tfidf", func(o *Options) { o.Weight = WeightSqrtTFIDF }},
		{"words levels", func(o *Options) { o.Weight = WeightLevels }},
		{"words tfidf, top 20", func(o *Options) { o.Weight, o.Top = WeightTFIDF, 20 }},
		{"words tf, nouns and verbs", func(o *Options) { o.Tags = []string{"n", "v"} }},
		{"2-grams tf", func(o *Options) { o.Kind = KindNGrams }},
		{"3-grams tf", func(o *Options) { o.Kind, o.N = KindNGrams, 3 }},
		{"4-grams tf", func(o *Options) { o.Kind, o.N = KindNGrams, 4 }},
		{"5-grams unit", func(o *Options) { o.Kind, o.N, o.Weight = KindNGrams, 5, WeightUnit }},
	} {
		o := DefaultOptions()
		c.change(&o)
		w := analyzer(t, o).NewWorkspace()
		fingerprints := make([]Fingerprint, len(texts))
		for i, text := range texts {
			fingerprints[i] = w.Fingerprint(nil, text).Fingerprint
		}
		found := map[int][]int{}
		total := make([]int, len(bands)+1)
		for i := range records {
			total[band[i]]++
			h := Distance(fingerprints[2*i], fingerprints[2*i+1])
			for _, k := range distances {
				if found[k] == nil {
					found[k] = make([]int, len(bands)+1)
				}
				if h <= k {
					found[k][band[i]]++
				}
			}
		}
		var good, all [2]map[int]int // without the laws, and with them
		for i := range all {
			good[i], all[i] = map[int]int{}, map[int]int{}
		}
		for i := range fingerprints {
			for j := i + 1; j < len(fingerprints); j++ {
				h := Distance(fingerprints[i], fingerprints[j])
				if h > 8 {
					continue
				}
				alike, seen := known[[2]int{i, j}]
				if !seen {
					alike = i/2 == j/2 && j < pairs || jaccard(i, j) >= 0.5
					known[[2]int{i, j}] = alike
				}
				for _, k := range distances {
					for set := range all {
						if h > k || set == 0 && j >= pairs {
							continue
						}
						all[set][k]++
						if alike {
							good[set][k]++
						}
					}
				}
			}
		}
		for _, k := range distances {
			t.Logf("%-28s k=%d  recall J≥.9 %.3f  .8–.9 %.3f  .7–.8 %.3f  .5–.7 %.3f  precision %.3f of %d, with laws %.3f of %d", c.name, k,
				float64(found[k][0])/float64(total[0]), float64(found[k][1])/float64(total[1]),
				float64(found[k][2])/float64(total[2]), float64(found[k][3])/float64(total[3]),
				float64(good[0][k])/float64(max(all[0][k], 1)), all[0][k],
				float64(good[1][k])/float64(max(all[1][k], 1)), all[1][k])
		}
	}
}

package simhash

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/jieba"
)

func defaultDictionary(t testing.TB) *jieba.Dictionary {
	t.Helper()
	d, err := jieba.Default()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// runs are the spans of a text whose characters are written as the letters of
// their classes.
var runs = regexp.MustCompile(`w(?:[wm]|aw)*|h+|d[dm]*`)

// plainFeature is how often a feature occurs, and its factor by position.
type plainFeature struct{ count, position int }

// plainPosition is the factor of the character that many bytes into a text: by
// its quarter, which ends where a word does.
func plainPosition(normal []rune, letters []byte, offset int) int {
	size := len(string(normal))
	for q := 1; q < 4; q++ {
		end, at := size, 0
		for i, r := range normal {
			if at >= size*q/4 && letters[i] == 'n' {
				end = at
				break
			}
			at += utf8.RuneLen(r)
		}
		if offset < end {
			return 5 - q
		}
	}
	return 1
}

// plainFeatures splits and counts the slow, obvious way.
func plainFeatures(o Options, d *jieba.Dictionary, simplify map[rune]rune, title, text []byte) map[string]plainFeature {
	counts := map[string]plainFeature{}
	part := func(text []byte, times int, isTitle bool) {
		normal := []rune(normalForm(text, simplify))
		letters := make([]byte, len(normal))
		add := func(word string, at int) {
			f, seen := counts[word]
			switch {
			case seen:
			case isTitle:
				f.position = 4
			case o.Weight == WeightPosition:
				f.position = plainPosition(normal, letters, len(string(normal[:at])))
			}
			f.count += times
			counts[word] = f
		}
		for i, r := range normal {
			letters[i] = "nwhdm"[classOf(r)]
			if letters[i] == 'w' && (slices.Contains(o.Exclude, ExcludeLatin) && unicode.Is(unicode.Latin, r) || slices.Contains(o.Exclude, ExcludeDigits) && unicode.IsNumber(r)) {
				letters[i] = 'n'
			}
			if r == '\'' {
				letters[i] = 'a'
			}
		}
		if o.Kind == KindNGrams {
			var chars []rune
			for i, r := range normal {
				if strings.IndexByte("whdm", letters[i]) >= 0 {
					chars = append(chars, r)
				}
			}
			for i := 0; i == 0 || i+o.N <= len(chars); i++ {
				if len(chars) > 0 {
					add(string(chars[i:min(i+o.N, len(chars))]), 0)
				}
			}
			return
		}
		for _, at := range runs.FindAllIndex(letters, -1) {
			run := normal[at[0]:at[1]]
			switch letters[at[0]] {
			case 'w':
				add(string(run), at[0])
			case 'd':
				for i := 0; i == 0 || i+2 <= len(run); i++ {
					add(string(run[i:min(i+2, len(run))]), at[0]+i)
				}
			case 'h':
				s := []byte(string(run))
				for _, w := range d.NewCutter(o.HMM).Cut(nil, s) {
					add(string(s[w.Start:w.End]), at[0]+utf8.RuneCount(s[:w.Start]))
				}
			}
		}
	}
	if o.TitleWeight > 0 {
		part(title, o.TitleWeight, true)
	}
	part(text, 1, false)
	return counts
}

// plainFingerprint is the whole of Workspace.Fingerprint from the
// definitions, without tables.
func plainFingerprint(o Options, d *jieba.Dictionary, title, text []byte) Result {
	var simplify map[rune]rune
	if o.Simplify {
		simplify = folded()
	}
	type feature struct {
		hash          Fingerprint
		weight, score int
	}
	var features []feature
	for word, found := range plainFeatures(o, d, simplify, title, text) {
		count := found.count
		f := feature{hash: Fingerprint{Lo: xxh3.HashString(word)}}
		if o.Bits == 128 {
			h := xxh3.HashString128(word)
			f.hash = Fingerprint{Hi: h.Hi, Lo: h.Lo}
		}
		if o.Kind == KindNGrams {
			rolled := uint64(0)
			for _, r := range word {
				rolled = rolled*letterBase + uint64(r) + 1
			}
			f.hash = Fingerprint{Lo: mix(rolled)}
			if o.Bits == 128 {
				f.hash.Hi = mix(rolled ^ gramSeed)
			}
		}
		idf := d.MeanIDF()
		id, listed := d.Lookup([]byte(word))
		if han := []rune(word)[0]; classOf(han) != classHan {
			listed = false // only ideographs are looked up
			if v, ok := otherIDF(d, simplify)[word]; ok {
				idf = v
			}
		}
		if listed {
			if v, ok := d.IDF(id); ok {
				idf = v
			}
			if len(o.Tags) > 0 && !slices.ContainsFunc(o.Tags, func(tag string) bool { return strings.HasPrefix(d.Tag(id), tag) }) {
				continue
			}
		}
		if o.stops() && stopWords(d)[word] {
			continue
		}
		scaled := int(math.Round(idf * 16))
		f.score = count * scaled
		switch o.Weight {
		case WeightTF:
			f.weight = count
		case WeightUnit:
			f.weight = 1
		case WeightTFIDF:
			f.weight = f.score
		case WeightSqrtTFIDF:
			f.weight = int(math.Round(math.Sqrt(float64(count)) * float64(scaled)))
		case WeightPosition:
			f.weight = count * found.position
		}
		features = append(features, f)
	}
	slices.SortFunc(features, func(a, b feature) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.hash.Lo, b.hash.Lo))
	})
	if o.Top > 0 && len(features) > o.Top {
		features = features[:o.Top]
	}
	var sums [128]int
	for _, f := range features {
		if o.Weight == WeightLevels {
			higher := 0
			for _, g := range features {
				if g.score > f.score {
					higher++
				}
			}
			f.weight = 5 - 5*higher/len(features)
		}
		for i := range sums {
			half := f.hash.Lo
			if i >= 64 {
				half = f.hash.Hi
			}
			if half>>(i%64)&1 == 1 {
				sums[i] += f.weight
			} else {
				sums[i] -= f.weight
			}
		}
	}
	r := Result{LengthClass: LengthNormal, Features: len(features), Length: utf8.RuneCountInString(normalForm(text, simplify))}
	for i, s := range sums[:o.Bits] {
		if s > 0 {
			r.Fingerprint = flip(r.Fingerprint, i)
		}
	}
	switch {
	case r.Features == 0:
		r.LengthClass = laneEmpty
	case r.Features < o.IgnoreBelow:
		r.LengthClass, r.Fingerprint = laneEmpty, Fingerprint{}
	case r.Features < o.MinFeatures:
		r.LengthClass = laneShort
	}
	return r
}

// otherIDF are the idf of the words that are not of ideographs, in normal form.
func otherIDF(d *jieba.Dictionary, simplify map[rune]rune) map[string]float64 {
	key := idfKey{d, simplify != nil}
	if words, ok := otherIDFs.Load(key); ok {
		return words.(map[string]float64)
	}
	words := map[string]float64{}
	for id := range int32(d.Len()) {
		v, ok := d.IDF(id)
		if !ok || !strings.ContainsFunc(d.Word(id), func(r rune) bool { return classOf(r) != classHan }) {
			continue
		}
		word := normalForm([]byte(d.Word(id)), simplify)
		if _, ok := words[word]; !ok {
			words[word] = v
		}
	}
	otherIDFs.Store(key, words)
	return words
}

type idfKey struct {
	d        *jieba.Dictionary
	simplify bool
}

var otherIDFs sync.Map

// stopWords are those of the dictionary, and the short list.
var stopWords = func() func(d *jieba.Dictionary) map[string]bool {
	words := map[string]bool{}
	var once sync.Once
	return func(d *jieba.Dictionary) map[string]bool {
		once.Do(func() {
			for _, w := range strings.Fields(builtinStop) {
				words[w] = true
			}
			for id := range int32(d.Len()) {
				if d.IsStop(id) {
					words[normalForm([]byte(d.Word(id)), nil)] = true
				}
			}
		})
		return words
	}
}()

func (o Options) stops() bool { return o.Stop == StopBuiltin && o.Kind == KindWords }

// analyzers caches what takes some time to make.
var analyzers sync.Map

func analyzer(t interface {
	Helper()
	Fatal(...any)
}, o Options) *Analyzer {
	t.Helper()
	key := fmt.Sprint(o)
	if a, ok := analyzers.Load(key); ok {
		return a.(*Analyzer)
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	analyzers.Store(key, a)
	return a
}

// variety are options that together use every branch.
func variety() []Options {
	var all []Options
	add := func(change func(*Options)) {
		o := DefaultOptions()
		change(&o)
		all = append(all, o)
	}
	add(func(*Options) {})
	add(func(o *Options) { o.Weight, o.Bits, o.TitleWeight, o.Stop = WeightTFIDF, 128, 3, StopNone })
	add(func(o *Options) { o.Weight, o.Bits, o.Simplify, o.Stop = WeightSqrtTFIDF, 32, false, StopNone })
	add(func(o *Options) { o.Weight, o.Top, o.TitleWeight, o.Stop = WeightTFIDF, 5, 0, StopNone })
	add(func(o *Options) { o.Weight, o.Stop, o.TitleWeight = WeightLevels, StopBuiltin, 2 })
	add(func(o *Options) { o.Weight, o.Tags, o.HMM, o.Bits = WeightUnit, []string{"n", "v"}, false, 128 })
	add(func(o *Options) { o.Weight, o.TitleWeight, o.Exclude = WeightPosition, 2, []string{ExcludeDigits} })
	add(func(o *Options) {
		o.Weight, o.Top, o.TitleWeight, o.Exclude = WeightPosition, 20, 0, []string{ExcludeDigits, ExcludeLatin}
	})
	add(func(o *Options) { o.IgnoreBelow, o.MinFeatures, o.Exclude = 3, 5, []string{ExcludeLatin} })
	add(func(o *Options) { o.Kind, o.TitleWeight = KindNGrams, 4 })
	add(func(o *Options) { o.Kind, o.N, o.Bits, o.Weight, o.TitleWeight = KindNGrams, 5, 128, WeightUnit, 2 })
	add(func(o *Options) { o.Kind, o.N, o.Bits, o.TitleWeight = KindNGrams, 3, 32, 0 })
	add(func(o *Options) { o.Kind, o.N, o.Bits, o.TitleWeight = KindNGrams, 16, 128, 7 })
	return all
}

var phrases = []string{
	"近似重复", "文档", "的检测", "，", "。", " ", "\n", "我来到北京清华大学", "南京市長江大橋", "乾隆", "邓小平", "魑魅魍魉",
	"Near-duplicate", "don't", "Don’t", "'quoted'", "AT&T", "2007", "3.14", "ＡＢＣ", "é", "e\u0301", "ß",
	"カタカナ", "ひらがな", "ー", "ﾊﾟ", "สวัสดี", "ภาษาไทย", "한국어", "ລາວ", "ខ្មែរ", "မြန်မာ", "々", "〇",
	"\x00", "\xff", "\xe4\xb8", "\u200b", "\u0301", "🤔", "\U00020000\U00020001", "…", "㎏", "龥", "一", "䶵",
}

func drawText(t *rapid.T, label string) []byte {
	parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(phrases), rapid.StringN(0, 3, -1)), 0, 40).Draw(t, label)
	return []byte(strings.Join(parts, ""))
}

func checkFingerprint(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, d *jieba.Dictionary, o Options, w *Workspace, title, text []byte) {
	t.Helper()
	got, want := w.Fingerprint(title, text), plainFingerprint(o, d, title, text)
	if got != want {
		t.Fatalf("%+v\ntitle %q\ntext %q:\n got %v\nwant %v", o, title, text, got, want)
	}
}

func TestFingerprintIsThePlainOne(t *testing.T) {
	d := defaultDictionary(t)
	for i, o := range variety() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := analyzer(t, o).NewWorkspace()
			rapid.Check(t, func(t *rapid.T) {
				checkFingerprint(t, d, o, w, drawText(t, "title"), drawText(t, "text"))
			})
		})
	}
}

func TestFingerprintOfRealTexts(t *testing.T) {
	d := defaultDictionary(t)
	n := 6
	if testing.Short() {
		n = 1
	}
	texts := append(sharedTexts(t, "zh/lctt_pairs.jsonl.gz", "draft", n), sharedTexts(t, "en/reuters21578.jsonl.gz", "text", 3*n)...)
	for _, o := range variety() {
		w := analyzer(t, o).NewWorkspace()
		for _, text := range texts {
			checkFingerprint(t, d, o, w, text[:min(len(text), 30)], text)
		}
	}
}

func FuzzFingerprint(f *testing.F) {
	for i := range len(phrases) - 3 {
		f.Add(uint8(i), []byte(phrases[i]), []byte(strings.Join(phrases[i:], "")))
	}
	d := defaultDictionary(f)
	all := variety()
	workspaces := make([]*Workspace, len(all)) // a worker tests one input at a time
	f.Fuzz(func(t *testing.T, choice uint8, title, text []byte) {
		i := int(choice) % len(all)
		if workspaces[i] == nil {
			workspaces[i] = analyzer(t, all[i]).NewWorkspace()
		}
		checkFingerprint(t, d, all[i], workspaces[i], title, text)
	})
}

// Features explains the fingerprint: its hashes and weights sum to it.
func TestFeaturesSumToTheFingerprint(t *testing.T) {
	d := defaultDictionary(t)
	for i, o := range variety() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := analyzer(t, o).NewWorkspace()
			rapid.Check(t, func(t *rapid.T) {
				title, text := drawText(t, "title"), drawText(t, "text")
				features := w.Features(nil, title, text)
				r := w.Fingerprint(title, text)
				if r.Features != len(features) {
					t.Fatalf("%d features, want %d", len(features), r.Features)
				}
				var sums [128]int
				for n, f := range features {
					if n > 0 && (f.Weight > features[n-1].Weight || f.Weight == features[n-1].Weight && f.Text <= features[n-1].Text) {
						t.Fatalf("feature %v after %v", f, features[n-1])
					}
					for i := range sums {
						if flip(f.Hash, i) != (Fingerprint{f.Hash.Hi | flip(Fingerprint{}, i).Hi, f.Hash.Lo | flip(Fingerprint{}, i).Lo}) {
							sums[i] += f.Weight
						} else {
							sums[i] -= f.Weight
						}
					}
				}
				var sum Fingerprint
				for i, s := range sums[:o.Bits] {
					if s > 0 {
						sum = flip(sum, i)
					}
				}
				if sum != r.Fingerprint && r.Features >= o.IgnoreBelow {
					t.Fatalf("features sum to %v, fingerprint is %v", sum, r.Fingerprint)
				}
				if o.Top > 0 || len(o.Tags) > 0 || o.stops() {
					return
				}
				var simplify map[rune]rune
				if o.Simplify {
					simplify = folded()
				}
				counts := map[string]int{}
				for _, f := range features {
					counts[f.Text] += f.Count
				}
				want := map[string]int{}
				for word, f := range plainFeatures(o, d, simplify, title, text) {
					want[word] = f.count
				}
				if !maps.Equal(counts, want) {
					t.Fatalf("features %v, want %v", counts, want)
				}
			})
		})
	}
}

// unknowing cuts as jieba does and gives every word the id −1.
func unknowing(t *testing.T) Extra {
	c := defaultDictionary(t).NewCutter(true)
	return Extra{Cut: func(dst []jieba.Word, text []byte) []jieba.Word {
		n := len(dst)
		dst = c.Cut(dst, text)
		for i := range dst[n:] {
			dst[n+i].ID = -1
		}
		return dst
	}}
}

func TestWordsWithoutIDs(t *testing.T) {
	checkSegmenter(t, unknowing(t))
}

// checkSegmenter compares a segmenter that cuts as the default one does with
// that.
func checkSegmenter(t *testing.T, s Extra) {
	t.Helper()
	own, other := analyzer(t, DefaultOptions()), newAnalyzer(t, nil, s)
	a, b := own.NewWorkspace(), other.NewWorkspace()
	texts := [][]byte{[]byte(strings.Join(phrases, "")), bytes.Repeat([]byte("清华大学"), maxRun/10)}
	for _, text := range append(texts, realTexts(t)...) {
		if got, want := b.Fingerprint(nil, text), a.Fingerprint(nil, text); got != want {
			t.Errorf("%v, want %v for %.40q", got, want, text)
		}
	}
}

// The runs of a text of more codes than are cut together, with and without
// separators, and around a run that is too long, are those of nextSpan.
func TestManyCodes(t *testing.T) {
	own, other := analyzer(t, DefaultOptions()), newAnalyzer(t, nil, unknowing(t))
	a, b := own.NewWorkspace(), other.NewWorkspace()
	if a.coder == nil || b.coder != nil {
		t.Fatal("the default segmenter takes codes, and the other one does not")
	}
	for _, text := range []string{
		strings.Repeat("我来到北京，", maxCodes/4),
		strings.Repeat("京。", maxCodes),
		strings.Repeat("南京市x長江\U00020000。大橋 abc 清华", maxCodes/8),
		"前，" + strings.Repeat("\U00020000清华", maxRun/10+1) + "后，" + strings.Repeat("江大橋", maxRun/9),
		strings.Repeat("魑魅，", maxCodes/3) + strings.Repeat("清华大学", maxRun/12+3) + "，" + strings.Repeat("魍魉，", maxCodes),
	} {
		if got, want := a.Fingerprint([]byte(text), []byte(text)), b.Fingerprint([]byte(text), []byte(text)); got != want {
			t.Errorf("%v, want %v for %.40q", got, want, text)
		}
	}
}

// realTexts are some shared ones, or none.
func realTexts(t *testing.T) (texts [][]byte) {
	t.Run("shared", func(t *testing.T) {
		texts = append(sharedTexts(t, "zh/blogs.jsonl.gz", "text", 30), sharedTexts(t, "zh/laws.jsonl.gz", "text", 30)...)
	})
	return texts
}

const goldenText = `近似重复文档的检测（near-duplicate detection）是网页去重的基础。它把每个文档变成一个64位的指纹，
再比较指纹之间的汉明距離；Manku 等人在 2007 年的论文里这样做。Google's crawler doesn't fetch twice what it has seen.
カタカナとひらがな、ภาษาไทย ก็ได้。`

// A change of these values is a change of the function: fingerprints in
// libraries of earlier nights no longer compare. Then Options.String needs a
// new version, too.
func TestGolden(t *testing.T) {
	want := []string{
		"5f5e1781bcc09d00 48 178 normal",
		"d1056ec87a4454160b4ddd19ac32d82e 64 178 normal",
		"b780d800 65 178 normal",
		"1a4fdeb1ad7a8822 5 178 short",
		"5f5c17a1bc829c00 48 178 normal",
		"d115a6d85a5054df08cdc84be80ed06c 39 178 normal",
		"1fde1fc1bcc0d50a 46 178 normal",
		"5aee9f81bcdab849 20 178 normal",
		"5d561709bc80d400 39 178 normal",
		"430716d1c5a30940 140 178 normal",
		"207ae51290bc8591cb39dda7d8fcf12f 150 178 normal",
		"f47d6058 149 178 normal",
		"3c9c41e97dbba740c92aec2a0040d0f4 137 178 normal",
	}
	for i, o := range variety() {
		r := analyzer(t, o).NewWorkspace().Fingerprint([]byte("檢測 Duplicates"), []byte(goldenText))
		got := fmt.Sprintf("%s %d %d %v", r.Fingerprint.Hex(o.Bits), r.Features, r.Length, r.LengthClass)
		if i >= len(want) || got != want[i] {
			t.Errorf("%+v:\n%q,", o, got)
		}
	}
}

// The order of the sentences does not matter to words, nor do letter case,
// width and script variant.
func TestFingerprintDoesNotDependOnOrder(t *testing.T) {
	w := analyzer(t, DefaultOptions()).NewWorkspace()
	sentences := strings.SplitAfter(goldenText, "。")
	want := w.Fingerprint(nil, []byte(goldenText)).Fingerprint
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.Permutation(sentences).Draw(t, "sentences"), "")
		if rapid.Bool().Draw(t, "upper case") {
			text = strings.ToUpper(text)
		}
		if rapid.Bool().Draw(t, "full width") {
			text = strings.Map(func(r rune) rune {
				if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
					return r - '!' + '！'
				}
				return r
			}, text)
		}
		if got := w.Fingerprint(nil, []byte(text)).Fingerprint; got != want {
			t.Fatalf("%v for %q, want %v", got, text, want)
		}
	})
}

func TestLengthClassesOfDocuments(t *testing.T) {
	o := DefaultOptions()
	o.MinFeatures = 3
	w := analyzer(t, o).NewWorkspace()
	for _, c := range []struct {
		text string
		want string
	}{
		{"", laneEmpty},
		{"，。 \x00\u200b…", laneEmpty},
		{"hello hello hello", laneShort},
		{"the of and", laneEmpty},
		{"three more words", laneShort},
		{"four really meaningful words", LengthNormal},
	} {
		r := w.Fingerprint(nil, []byte(c.text))
		if r.LengthClass != c.want || (r.LengthClass == laneEmpty) != (r.Fingerprint == Fingerprint{}) {
			t.Errorf("%q is %v with fingerprint %v, want %v", c.text, r.LengthClass, r.Fingerprint, c.want)
		}
	}
}

// Documents of every kind between two readings of one do not change it, not
// even when the epoch wraps.
func TestWorkspaceForgets(t *testing.T) {
	for _, o := range variety() {
		w := analyzer(t, o).NewWorkspace()
		texts := [][]byte{[]byte(goldenText), nil, []byte("x"), bytes.Repeat([]byte("千字文 abc "), 3000), []byte(strings.Join(phrases, " "))}
		var want []Result
		for _, text := range texts {
			want = append(want, w.Fingerprint(text, text))
		}
		w.epoch = math.MaxUint32 - 2
		for i := range 3 * len(texts) {
			n := i * 7 % len(texts)
			if got := w.Fingerprint(texts[n], texts[n]); got != want[n] {
				t.Fatalf("%+v: document %d: %v, want %v", o, n, got, want[n])
			}
		}
	}
}

func TestFingerprintDoesNotAllocate(t *testing.T) {
	title := []byte("近似重复文档 e\u0301")
	text := bytes.Repeat([]byte(goldenText+"é e\u0301…㎏ ﷺ"), 20)
	for _, o := range variety() {
		w := analyzer(t, o).NewWorkspace()
		w.Fingerprint(title, text)
		if n := testing.AllocsPerRun(20, func() { w.Fingerprint(title, text) }); n != 0 {
			t.Errorf("%+v: %v allocations, want none", o, n)
		}
	}
}

func TestAnalyzerIsConcurrent(t *testing.T) {
	for _, o := range variety()[:7] {
		a := analyzer(t, o)
		want := a.NewWorkspace().Fingerprint(nil, []byte(goldenText))
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				w := a.NewWorkspace()
				for i := range 50 {
					w.Fingerprint([]byte("标题"), []byte(goldenText[i:]))
					if got := w.Fingerprint(nil, []byte(goldenText)); got != want {
						t.Errorf("%+v: %v, want %v", o, got, want)
						return
					}
				}
			})
		}
		wait.Wait()
	}
}

// A run of ideographs longer than maxRun is cut there, between characters.
func TestLongRuns(t *testing.T) {
	w := analyzer(t, DefaultOptions()).NewWorkspace()
	text := []byte("ab" + strings.Repeat("龘𠀀", maxRun/3))
	n := 0
	for _, f := range w.Features(nil, nil, text) {
		if !utf8.ValidString(f.Text) {
			t.Fatalf("feature %q is not UTF-8", f.Text)
		}
		n += f.Count * utf8.RuneCountInString(f.Text)
	}
	if want := utf8.RuneCount(text); n != want {
		t.Errorf("features have %d characters, want %d", n, want)
	}
}

func TestCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		if got, want := characters([]byte(s)), utf8.RuneCountInString(s); got != want {
			t.Fatalf("%d characters in %q, want %d", got, s, want)
		}
	})
}

func TestNormalizeIsExported(t *testing.T) {
	w := analyzer(t, DefaultOptions()).NewWorkspace()
	if got := w.Normalize([]byte("x"), []byte("ＧＯ\x00語言")); string(got) != "xgo语言" {
		t.Errorf("normal form %q", got)
	}
	if got := w.Normalize(nil, nil); !reflect.DeepEqual(got, []byte(nil)) {
		t.Errorf("normal form of nothing: %q", got)
	}
}

// Normal is the text's normal form, title left out, for words and n-grams and
// however the documents before it looked.
func TestNormalIsOfTheLastText(t *testing.T) {
	for _, o := range []Options{variety()[0], variety()[3], variety()[6]} {
		a := analyzer(t, o)
		w, other := a.NewWorkspace(), a.NewWorkspace()
		if got := w.Normal(); got != nil {
			t.Errorf("%+v: %q before the first document", o, got)
		}
		rapid.Check(t, func(t *rapid.T) {
			title, text := drawText(t, "title"), drawText(t, "text")
			r := w.Fingerprint(title, text)
			want := other.Normalize(nil, text)
			if got := w.Normal(); !bytes.Equal(got, want) {
				t.Fatalf("%+v: normal form %q of %q, want %q", o, got, text, want)
			}
			if n := utf8.RuneCount(w.Normal()); n != r.Length {
				t.Fatalf("%+v: normal form of %d characters, length %d", o, n, r.Length)
			}
			w.Features(nil, title, text)
			if got := w.Normal(); !bytes.Equal(got, want) {
				t.Fatalf("%+v: normal form %q of %q after Features, want %q", o, got, text, want)
			}
		})
	}
}

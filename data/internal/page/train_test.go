package page

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"flag"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/data/charset"
)

var update = flag.Bool("update", false, "train the model again and write it")

// sample is a page whose main text is known.
type sample struct {
	url, kind, truth string
	with, without    []string // of a page of which some lines are known, not the truth
	html             []byte
	learned          bool // the model is trained on it
}

// The sets of pages: NAME.warc.gz beside its truth. The model learns from those
// whose licences allow it; the others only say what it is worth.
var sets = []struct {
	pages, truth string
	kind         string // of pages whose truth names none
	learned      bool
}{
	{"wcxb-dev.warc.gz", "wcxb-dev.truth.jsonl.gz", "", true},
	{"news-dev.warc.gz", "news-dev.truth.jsonl.gz", news, true},
	{"forums-dev.warc.gz", "forums-dev.truth.jsonl.gz", forums, true},
	{"snippets-dev.warc.gz", "snippets-dev.truth.jsonl.gz", snippets, true},
	{"cctv-dev.warc.gz", "cctv-dev.bodies.jsonl.gz", chinese, false},
	{"mixed-dev.warc.gz", "mixed-dev.truth.jsonl.gz", "", false},
}

// Kinds of pages beside those that the sets name.
const (
	news     = "news"     // of the set of many languages
	chinese  = "chinese"  // of one site
	forums   = "forums"   // threads of the set of forums
	snippets = "snippets" // a page of which some lines are known to be main text, or not
	shell    = "shell"    // a page whose main text was taken out
)

// sharedPath is where a file of the shared pages is, if it is there.
func sharedPath(name string) string {
	return filepath.Join(cmp.Or(os.Getenv("NEARDUP_SHARED"), filepath.Join("..", "..", "..", "..", "shared")), "data", "html", name)
}

// gunzip reads a file of the shared pages; the test is skipped without it.
func gunzip(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(sharedPath(name))
	if err != nil {
		t.Skipf("needs the pages with truth: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// responses calls yield with the pages of an archive that is sound.
func responses(t testing.TB, b []byte, yield func(url string, body []byte)) {
	for len(b) > 0 {
		head, rest, ok := bytes.Cut(b, []byte("\r\n\r\n"))
		if !ok {
			return
		}
		field := func(name string) string {
			_, v, _ := strings.Cut(string(head), "\r\n"+name+": ")
			v, _, _ = strings.Cut(v, "\r\n")
			return v
		}
		n, err := strconv.Atoi(field("Content-Length"))
		if err != nil {
			t.Fatal(err)
		}
		if field("WARC-Type") == "response" {
			_, body, _ := bytes.Cut(rest[:n], []byte("\r\n\r\n"))
			yield(field("WARC-Target-URI"), body)
		}
		b = bytes.TrimLeft(rest[n:], "\r\n")
	}
}

// samples reads the pages with truth that are wanted: those to learn from, or all
// that are there.
func samples(t testing.TB, all bool) (found []sample) {
	type row struct {
		URL, Set, Type, Text, Body string
		With, Without              []string
	}
	var decoder charset.Decoder
	for _, set := range sets {
		if !all && !set.learned {
			continue
		}
		if _, err := os.Stat(sharedPath(set.truth)); all && err != nil {
			t.Logf("without the set: %v", err)
			continue
		}
		truth := map[string]row{}
		for line := range bytes.Lines(gunzip(t, set.truth)) {
			var r row
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			truth[r.URL] = r
		}
		responses(t, gunzip(t, set.pages), func(url string, body []byte) {
			r, ok := truth[url]
			if !ok || set.kind == chinese && len(r.Body) < 90 { // a page of a video
				return
			}
			html, _ := decoder.Decode(body, charset.Hint{HTML: true})
			kind := set.kind
			if kind == "" {
				kind = r.Set + r.Type
			}
			found = append(found, sample{url, kind, r.Text + r.Body, r.With, r.Without, bytes.Clone(html), set.learned})
		})
	}
	if len(found) == 0 {
		t.Skip("needs pages with truth")
	}
	return found
}

// site is that of the page, as far as its markup or its address tells; the sets
// have made-up addresses.
func (s *sample) site() string {
	if m := canonical.FindSubmatch(s.html); m != nil {
		return strings.TrimPrefix(string(m[1]), "www.")
	}
	_, rest, _ := strings.Cut(s.url, "://")
	host, path, _ := strings.Cut(rest, "/")
	switch host {
	case "postlight.example", "articles.example", "evaluation.example", "forums.example":
		host, _, _ = strings.Cut(path, "/")
	case "fundus.example":
		country, rest, _ := strings.Cut(path, "/")
		publisher, _, _ := strings.Cut(rest, "/")
		return country + "/" + publisher
	case "wcxb.example", "readability.example":
		return s.url
	}
	return strings.TrimPrefix(host, "www.")
}

var canonical = regexp.MustCompile(`(?i)<(?:link[^>]*rel=["']?canonical|meta[^>]*og:url)[^>]*(?:href|content)=["']?https?://([^/"'>]+)`)

// strip takes blocks out of the page, as if the page had been sent without them.
func (x *Extractor) strip(unwanted func(i int) bool) {
	moved, kept := make([]int32, 0, len(x.blocks)+1), 0
	for i, k := range x.blocks {
		moved = append(moved, int32(kept))
		if !unwanted(i) {
			x.blocks[kept] = k
			kept++
			continue
		}
		for at := k.node; at >= 0; at = x.nodes[at].parent {
			x.nodes[at].mass -= k.mass
			x.nodes[at].linked -= k.linked
		}
	}
	moved = append(moved, int32(kept))
	x.blocks = x.blocks[:kept]
	for i := range x.nodes {
		n := &x.nodes[i]
		n.first, n.end = moved[n.first], moved[n.end]
	}
}

// parseShell reads a page without its main text: what is left where scripts are
// to fetch that.
func (x *Extractor) parseShell(html []byte, truth string) {
	x.Parse(html)
	label, _ := labels(x, truth)
	x.strip(func(i int) bool { return label[i] < 0 || label[i] > 0.2 })
}

// tokens are the words of a text, and its Han characters.
func tokens(text string) (words []string) {
	from := -1
	for i, r := range text {
		han := unicode.Is(unicode.Han, r)
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || unicode.Is(unicode.M, r)
		if from >= 0 && (!letter || han) {
			words = append(words, strings.ToLower(text[from:i]))
			from = -1
		}
		if han {
			words = append(words, string(r))
		} else if letter && from < 0 {
			from = i
		}
	}
	if from >= 0 {
		words = append(words, strings.ToLower(text[from:]))
	}
	return words
}

// compare returns F1, precision and recall of a multiset of words by the truth.
func compare(a, b []string) (v [3]float64) {
	if len(a)+len(b) == 0 {
		return [3]float64{1, 1, 1}
	}
	count := map[string]int{}
	for _, w := range b {
		count[w]++
	}
	both := 0
	for _, w := range a {
		if count[w] > 0 {
			count[w]--
			both++
		}
	}
	return [3]float64{2 * float64(both) / float64(len(a)+len(b)), float64(both) / float64(max(len(a), 1)), float64(both) / float64(max(len(b), 1))}
}

// aligned marks the words of a that a longest common subsequence with b has:
// Hyyrö, "Bit-parallel LCS-length computation revisited" (2004), with its rows kept.
func aligned(a, b []uint32, ids int) []bool {
	found := make([]bool, len(a))
	w := (len(b) + 63) / 64
	match := make([][]uint64, ids)
	for j, id := range b {
		if match[id] == nil {
			match[id] = make([]uint64, w)
		}
		match[id][j/64] |= 1 << (j % 64)
	}
	rows := make([]uint64, (len(a)+1)*w)
	for i := range w {
		rows[i] = ^uint64(0)
	}
	for i, id := range a {
		last, row := rows[i*w:(i+1)*w], rows[(i+1)*w:(i+2)*w]
		if match[id] == nil {
			copy(row, last)
			continue
		}
		carry := uint64(0)
		for j, s := range last {
			u := s & match[id][j]
			sum := s + u + carry
			if sum < s || carry == 1 && sum == s {
				carry = 1
			} else {
				carry = 0
			}
			row[j] = sum | s&^u
		}
	}
	set := func(i, j int) bool { return rows[i*w+j/64]>>(j%64)&1 == 1 }
	for i, j := len(a), len(b); i > 0 && j > 0; {
		if set(i, j-1) {
			j--
			continue
		}
		i--
		if i > 0 && !set(i, j-1) {
			continue
		}
		j--
		found[i] = true
	}
	return found
}

const gram = 4

// labels gives each block the share of it that the truth has, -1 for none, and
// its weight: by its words, and by those of the page.
func labels(x *Extractor, truth string) (label, weight []float32) {
	ids := map[string]uint32{}
	number := func(words []string) (out []uint32) {
		for _, w := range words {
			id, ok := ids[w]
			if !ok {
				id = uint32(len(ids))
				ids[w] = id
			}
			out = append(out, id)
		}
		return out
	}
	want := number(tokens(truth))
	key := func(words []uint32) string {
		var b []byte
		for _, w := range words {
			b = append(b, byte(w), byte(w>>8), byte(w>>16))
		}
		return string(b)
	}
	grams, lines := map[string]bool{}, map[string]bool{}
	for i := 0; i+gram <= len(want); i++ {
		grams[key(want[i:i+gram])] = true
	}
	for line := range strings.Lines(truth) {
		lines[key(number(tokens(line)))] = true
	}
	var all []uint32
	var blocks [][]uint32
	for i := range x.blocks {
		words := number(tokens(string(x.text[x.blocks[i].start:x.blocks[i].end])))
		blocks = append(blocks, words)
		all = append(all, words...)
	}
	found := aligned(all, want, len(ids))
	page := max(1, float64(len(all)))
	for _, words := range blocks {
		n := len(words)
		here := 0
		for _, f := range found[:n] {
			if f {
				here++
			}
		}
		found = found[n:]
		v := float32(-1)
		switch {
		case n >= gram:
			same := 0
			for i := 0; i+gram <= n; i++ {
				if grams[key(words[i:i+gram])] {
					same++
				}
			}
			v = float32(same) / float32(n-gram+1)
			if here*10 > n*9 {
				v = max(v, float32(here)/float32(n))
			}
		case n > 0:
			v = 0
			if lines[key(words)] && here*2 > n {
				v = 1
			} else if here == n {
				v = 0.9
			}
		}
		label = append(label, v)
		weight = append(weight, float32(float64(min(n, 200)+2)/math.Pow(page, 0.75)))
	}
	return label, weight
}

// marked gives the blocks with one of the lines a label, and a weight, as labels
// does; the others are not known.
func marked(x *Extractor, with, without []string) (label, weight []float32) {
	has := func(text string, lines []string) bool {
		for _, l := range lines {
			if strings.Contains(text, l) {
				return true
			}
		}
		return false
	}
	page := 0
	for i := range x.blocks {
		page += len(tokens(string(x.blockText(i))))
	}
	with, without = folded(with), folded(without)
	for i := range x.blocks {
		text := string(x.blockText(i))
		v := float32(-1)
		switch {
		case has(text, with):
			v = 1
		case has(text, without):
			v = 0
		}
		label = append(label, v)
		n := len(tokens(text))
		weight = append(weight, float32(snippetWeight*float64(min(n, 200)+2)/math.Pow(max(1, float64(page)), 0.75)))
	}
	return label, weight
}

// snippetWeight is what a line that is known counts more than one of a page of
// which all is known.
const snippetWeight = 1

// folded are the lines with the white space that blocks have.
func folded(lines []string) (out []string) {
	for _, l := range lines {
		if l = strings.Join(strings.Fields(l), " "); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// options are those of the model.
var options = trainOptions{Trees: 240, Rate: 0.1, Features: 0.5, Rows: 0.7, Penalty: 0.5, MinLeaf: 0.2, Seed: 1}

// Trees of the second look, and of the models whose word it learns from.
const (
	secondTrees = 160
	halfTrees   = 120
)

// learned is a page to train on.
type learned struct {
	sample
	features      []uint8
	stride        int
	label, weight []float32
}

// One page in so many is learned again as a shell, and one in Han characters.
const (
	shellStep = 4
	hanStep   = 5
)

// learn reads the pages to train on.
func learn(t testing.TB) (set []learned) {
	var x Extractor
	add := func(s sample) {
		x.fill()
		l := learned{sample: s, features: bytes.Clone(x.features), stride: x.stride}
		if s.kind == snippets {
			l.label, l.weight = marked(&x, s.with, s.without)
		} else {
			l.label, l.weight = labels(&x, s.truth)
		}
		set = append(set, l)
	}
	for i, s := range samples(t, false) {
		x.Parse(s.html)
		add(s)
		if i%shellStep == 0 && s.kind != snippets {
			x.parseShell(s.html, s.truth)
			add(sample{url: s.url, html: s.html, kind: shell, learned: true})
		}
		if i%hanStep == 2 && s.kind != snippets {
			s.html, s.truth = inHan(s.html), string(inHan([]byte(s.truth)))
			x.Parse(s.html)
			add(s)
		}
	}
	return set
}

// inHan writes a page's English text in Han characters, two for a word of
// usual length, without spaces and with full-width punctuation: what the model
// says of it tells whether it has learned English or pages.
func inHan(html []byte) []byte {
	out := make([]byte, 0, len(html)+len(html)/4)
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '\'' }
	for i := 0; i < len(html); {
		c := html[i]
		n := 1
		switch {
		case c == '<':
			n = max(bytes.IndexByte(html[i:], '>')+1, 1)
			for _, raw := range []string{"script", "style"} {
				if len(html) > i+7 && foldEqual(html[i+1:i+1+len(raw)], raw) {
					n = len(html) - i - len(skipRaw(html[i+n:], []byte(raw)))
				}
			}
			out = append(out, html[i:i+n]...)
		case c == '&':
			for i+n < len(html) && n < 10 && html[i+n] != ';' && html[i+n] != ' ' && html[i+n] != '<' {
				n++
			}
			out = append(out, html[i:i+n]...)
		case letter(c):
			for i+n < len(html) && letter(html[i+n]) {
				n++
			}
			h := uint32(2166136261)
			for j, w := range html[i : i+n] {
				h = (h ^ uint32(w|0x20)) * 16777619
				if j%4 == 0 {
					out = utf8.AppendRune(out, rune(0x4e00+h>>8%5000))
				}
			}
			if i+n+1 < len(html) && html[i+n] == ' ' && letter(html[i+n+1]) {
				n++
			}
		case c == ',' || c == '!' || c == '?' || c == ':' || c == ';' || c == '(' || c == ')':
			out = utf8.AppendRune(out, rune(c)+0xfee0)
		case c == '.' && i+1 < len(html) && (html[i+1] <= ' ' || html[i+1] == '<'):
			out = append(out, "。"...)
		default:
			out = append(out, c)
		}
		i += n
	}
	return out
}

// gather makes one table of the first features of the pages that are kept.
func gather(set []learned, features feature, keep func(page int) bool) trainData {
	d := trainData{Columns: make([][]uint8, features)}
	for p := range set {
		if !keep(p) {
			continue
		}
		s := &set[p]
		for i, label := range s.label {
			weight := s.weight[i]
			switch { // of what is no main text, of which there is most, some blocks alone
			case label < 0:
				continue
			case label == 0 && s.kind != snippets:
				step := 2
				if s.features[int(fMass)*s.stride+i] < lg(proseMass) {
					step = 6
				}
				if i%step != 0 {
					continue
				}
				weight *= float32(step)
			}
			d.Labels = append(d.Labels, label)
			d.Weights = append(d.Weights, weight)
			for f := range d.Columns {
				d.Columns[f] = append(d.Columns[f], s.features[f*s.stride+i])
			}
		}
	}
	return d
}

// trainFirst trains the first look of pages.
func trainFirst(set []learned) *forest {
	return train(gather(set, featureCount, func(int) bool { return true }), options)
}

// trainSecond trains the second look. What the first says of a page is said by
// one that has not learned of its site: each half of the sites is judged by a
// model of the other half.
func trainSecond(set []learned) *forest {
	set = slices.Clone(set)
	half := make([]int, len(set))
	for p := range set {
		half[p] = int(hashOf(set[p].site()+" half")>>5) & 1
	}
	o := options
	o.Trees = halfTrees
	var firsts [2]*forest
	for h := range firsts {
		firsts[h] = train(gather(set, featureCount, func(page int) bool { return half[page] != h }), o)
	}
	var x Extractor
	for p := range set {
		s := &set[p]
		if s.kind == shell {
			x.parseShell(s.html, s.truth)
		} else {
			x.Parse(s.html)
		}
		x.fill()
		x.score(firsts[half[p]])
		x.fillSecond()
		s.features = bytes.Clone(x.features)
	}
	o.Trees = secondTrees
	return train(gather(set, secondCount, func(int) bool { return true }), o)
}

// TestModel trains the first trees of the first look again and compares them;
// if NEARDUP_LAB is set, all of the second. With -update it trains and writes all.
func TestModel(t *testing.T) {
	if errModel != nil && !*update {
		t.Fatal(errModel)
	}
	if testing.Short() {
		t.Skip("trains for seconds")
	}
	set := learn(t)
	if *update {
		for name, m := range map[string]*forest{"model.bin": trainFirst(set), "second.bin": trainSecond(set)} {
			b, err := m.encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	whole := options
	options.Trees = 3
	again := trainFirst(set)
	options = whole
	if model.first.size() != options.Trees || !model.first.begins(again) {
		t.Errorf("model.bin has %d trees and is not what is trained now: run go generate", model.first.size())
	}
	if model.second.size() != secondTrees {
		t.Errorf("second.bin has %d trees: run go generate", model.second.size())
	}
	if os.Getenv("NEARDUP_LAB") != "" && !model.second.begins(trainSecond(set)) {
		t.Error("second.bin is not what is trained now: run go generate")
	}
}

// scores are F1, precision and recall by kind of page.
type scores map[string][][3]float64

func (s scores) add(kind, got, truth string) {
	s[kind] = append(s[kind], compare(tokens(got), tokens(truth)))
}

func (s scores) mean(kind string) (m [3]float64) {
	for _, v := range s[kind] {
		for i := range m {
			m[i] += v[i] / float64(len(s[kind]))
		}
	}
	return m
}

func (s scores) log(t *testing.T) {
	for _, k := range slices.Sorted(maps.Keys(s)) {
		m := s.mean(k)
		t.Logf("%-16s %4d pages  F1 %.3f  precision %.3f  recall %.3f", k, len(s[k]), m[0], m[1], m[2])
	}
}

// Of pages that are said to have no main text, so many have one of so many
// characters: lists of links, in which the truth sees more than menus.
const fewLost, mostLost = 100, 4

// The main text is that of the truth, nearly. Some of these pages the model was
// trained on: TestCrossValidation says what it is worth on others of their kind.
func TestQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 400 MB of pages")
	}
	var x Extractor
	s, none, lost := scores{}, map[string]int{}, 0
	for _, p := range samples(t, true) {
		if p.kind == snippets {
			continue
		}
		x.Parse(p.html)
		s.add(p.kind, string(x.AppendMain(nil)), p.truth)
		if x.None() == "" {
			continue
		}
		none[p.kind]++
		if shown := compare(tokens(string(x.AppendVisible(nil))), tokens(p.truth)); x.None() != Error && utf8.RuneCountInString(p.truth) >= fewLost && shown[2] > 0.5 {
			lost++
			t.Logf("%s is said to be a %s, and has %q", p.url, x.None(), p.truth)
		}
	}
	s.log(t)
	t.Log("pages without a main text:", none, "of which the page has one:", lost)
	if lost > mostLost {
		t.Errorf("%d pages with a main text are said to have none", lost)
	}
	for kind, floor := range map[string]float64{
		"article": 0.94, "forum": 0.79, forums: 0.84, "listing": 0.75, "collection": 0.66, "product": 0.66, "documentation": 0.92, "service": 0.82, news: 0.94,
		chinese: 0.96, "l3s-gn1": 0.94, "ir-news": 0.94, "dragnet": 0.89, "cleanportaleval": 0.95, "cleaneval": 0.92,
	} {
		if v := s.mean(kind)[0]; len(s[kind]) > 0 && v < floor {
			t.Errorf("F1 of %q is %.3f, less than %.2f", kind, v, floor)
		}
	}
}

func hashOf(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

// foldOf is the fifth that a page is judged in: pages of one site are in one.
func foldOf(s *sample) int { return int(hashOf(s.site())>>3) % folds }

const folds = 5

// TestCrossValidation measures, if NEARDUP_LAB is set, what the model is worth
// on sites that it was not trained on: five models, each trained on four fifths
// of the sites and judged by the rest, as they are and in Han characters.
func TestCrossValidation(t *testing.T) {
	if os.Getenv("NEARDUP_LAB") == "" {
		t.Skip("trains five models: set NEARDUP_LAB=1")
	}
	set := learn(t)
	var x Extractor
	s, h := scores{}, scores{}
	for fold := range folds {
		others := slices.DeleteFunc(slices.Clone(set), func(l learned) bool { return foldOf(&l.sample) == fold })
		trained := looks{trainFirst(others), trainSecond(others)}
		for i := range set {
			p := &set[i]
			if foldOf(&p.sample) != fold || p.kind == shell || p.kind == snippets {
				continue
			}
			main := func(html []byte) string {
				x.Parse(html)
				x.judge(trained)
				return string(x.appendChosen(nil))
			}
			s.add(p.kind, main(p.html), p.truth)
			if p.kind != news && p.kind != forums {
				// The same page in Han characters, by its own words.
				h.add(p.kind, main(inHan(p.html)), string(inHan([]byte(p.truth))))
			}
		}
	}
	s.log(t)
	t.Log("the English pages in Han characters:")
	h.log(t)
}

// BenchmarkExtractor is extraction alone, without charset and archive.
func BenchmarkExtractor(b *testing.B) {
	for _, kind := range []string{"english", chinese} {
		var pages [][]byte
		bytes := 0
		for i, p := range samples(b, true) {
			if i%8 == 0 && p.kind != news && (p.kind == chinese) == (kind == chinese) {
				pages = append(pages, p.html)
				bytes += len(p.html)
			}
		}
		b.Run(kind, func(b *testing.B) {
			var x Extractor
			var text []byte
			b.SetBytes(int64(bytes))
			for b.Loop() {
				for _, html := range pages {
					x.Parse(html)
					text = x.AppendMain(text[:0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(pages)), "µs/page")
		})
	}
}

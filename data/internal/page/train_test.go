package page

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "train the model again and write it")

// sample is a page whose main text is known.
type sample struct {
	url, kind, truth string
	html             []byte
}

// chinese is the kind of the pages of a Chinese news site; of those the model is
// trained on one of chineseStep, as they are all alike.
const (
	chinese     = "chinese"
	chineseStep = 5
)

// gunzip reads a file of the shared pages; the test is skipped without it.
func gunzip(t testing.TB, name string) []byte {
	t.Helper()
	shared := cmp.Or(os.Getenv("NEARDUP_SHARED"), filepath.Join("..", "..", "..", "..", "shared"))
	f, err := os.Open(filepath.Join(shared, "data", "html", name))
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

// samples reads the pages with truth: of the English set all, of the Chinese
// one each stepth of those with an article.
func samples(t testing.TB, step int) (all []sample) {
	type row struct{ URL, Type, Text, Body string }
	for _, set := range []struct{ pages, truth string }{{"wcxb-dev.warc.gz", "wcxb-dev.truth.jsonl.gz"}, {"cctv-dev.warc.gz", "cctv-dev.bodies.jsonl.gz"}} {
		truth := map[string]row{}
		for line := range bytes.Lines(gunzip(t, set.truth)) {
			var r row
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			truth[r.URL] = r
		}
		n := 0
		responses(t, gunzip(t, set.pages), func(url string, body []byte) {
			r := truth[url]
			if r.Body != "" {
				n++
				if len(r.Body) < 90 || step == 0 || n%step != 0 {
					return
				}
				all = append(all, sample{url, chinese, r.Body, bytes.ToValidUTF8(body, []byte("\uFFFD"))})
			} else if r.Type != "" {
				all = append(all, sample{url, r.Type, r.Text, bytes.ToValidUTF8(body, []byte("\uFFFD"))})
			}
		})
	}
	return all
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

// f1 is that of two multisets of words.
func f1(a, b []string) float64 {
	if len(a)+len(b) == 0 {
		return 1
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
	return 2 * float64(both) / float64(len(a)+len(b))
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

// options are those of the model.
var options = trainOptions{Trees: 200, Rate: 0.1, Features: 0.5, Rows: 0.7, Penalty: 0.5, MinLeaf: 0.2, Seed: 1}

// learned is a page to train on.
type learned struct {
	sample
	features      []uint8
	stride        int
	label, weight []float32
}

// learn reads the pages to train on.
func learn(t testing.TB) (set []learned) {
	var x Extractor
	for _, s := range samples(t, chineseStep) {
		x.Parse(s.html)
		x.fill()
		l := learned{sample: s, features: bytes.Clone(x.features), stride: x.stride}
		l.label, l.weight = labels(&x, s.truth)
		set = append(set, l)
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

// gather makes one table of the pages that are kept.
func gather(set []learned, keep func(page int) bool) trainData {
	d := trainData{Columns: make([][]uint8, featureCount)}
	for p := range set {
		if !keep(p) {
			continue
		}
		s := &set[p]
		for i, label := range s.label {
			if label < 0 {
				continue
			}
			d.Labels = append(d.Labels, label)
			d.Weights = append(d.Weights, s.weight[i])
			for f := range d.Columns {
				d.Columns[f] = append(d.Columns[f], s.features[f*s.stride+i])
			}
		}
	}
	return d
}

// TestModel trains the first trees of the model again and compares them. With
// -update it trains and writes all.
func TestModel(t *testing.T) {
	if errModel != nil && !*update {
		t.Fatal(errModel)
	}
	if testing.Short() {
		t.Skip("trains for seconds")
	}
	all := gather(learn(t), func(int) bool { return true })
	o := options
	if *update {
		b, err := train(all, o).encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("model.bin", b, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	o.Trees = 3
	again := train(all, o)
	if model.size() != options.Trees || !model.begins(again) {
		t.Errorf("model.bin has %d trees and is not what is trained now: run go generate", model.size())
	}
}

// scores are F1 by kind of page.
type scores struct {
	sum map[string]float64
	n   map[string]int
}

func (s *scores) add(kind string, v float64) {
	if s.sum == nil {
		s.sum, s.n = map[string]float64{}, map[string]int{}
	}
	s.sum[kind] += v
	s.n[kind]++
}

// mean is that of a kind; "" means all but the Chinese pages.
func (s *scores) mean(kind string) float64 {
	if kind != "" {
		return s.sum[kind] / float64(s.n[kind])
	}
	sum, n := 0.0, 0
	for k := range s.sum {
		if k != chinese {
			sum += s.sum[k]
			n += s.n[k]
		}
	}
	return sum / float64(n)
}

func (s *scores) log(t *testing.T) {
	for _, k := range slices.Sorted(maps.Keys(s.sum)) {
		t.Logf("%-14s %4d pages  %.3f", k, s.n[k], s.mean(k))
	}
	t.Logf("all but %s %.4f", chinese, s.mean(""))
}

// The main text is that of the truth, nearly. Most of these pages the model was
// trained on: TestCrossValidation says what it is worth on others.
func TestQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 260 MB of pages")
	}
	var x Extractor
	var s scores
	for _, p := range samples(t, 1) {
		x.Parse(p.html)
		s.add(p.kind, f1(tokens(string(x.AppendMain(nil))), tokens(p.truth)))
	}
	s.log(t)
	for kind, floor := range map[string]float64{"": 0.87, "article": 0.95, chinese: 0.93, "forum": 0.78, "listing": 0.75, "collection": 0.7, "product": 0.68, "documentation": 0.94, "service": 0.87} {
		if v := s.mean(kind); v < floor {
			t.Errorf("F1 of %q is %.3f, less than %.2f", kind, v, floor)
		}
	}
}

// TestCrossValidation measures, if NEARDUP_LAB is set, what the model is worth
// on pages that it was not trained on: five models, each trained on four fifths
// and judged by the rest, as they are and in Han characters.
func TestCrossValidation(t *testing.T) {
	if os.Getenv("NEARDUP_LAB") == "" {
		t.Skip("trains five models: set NEARDUP_LAB=1")
	}
	const folds = 5
	set := learn(t)
	var x Extractor
	var s, h scores
	for fold := range folds {
		in := func(page int) bool { return int(uint32(page)*2654435761>>8)%folds == fold }
		trained := train(gather(set, func(page int) bool { return !in(page) }), options)
		for i, p := range set {
			if in(i) {
				x.Parse(p.html)
				s.add(p.kind, f1(tokens(string(x.appendMain(nil, trained))), tokens(p.truth)))
				if p.kind != chinese {
					// The same page in Han characters, by its own words.
					x.Parse(inHan(p.html))
					h.add(p.kind, f1(tokens(string(x.appendMain(nil, trained))), tokens(string(inHan([]byte(p.truth))))))
				}
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
		for _, p := range samples(b, 20) {
			if (p.kind == chinese) == (kind == chinese) {
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

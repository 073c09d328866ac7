package eval

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// sharedData returns the folder of the shared test data, or skips the test.
func sharedData(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("NEARDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("shared data not found at %s", dir)
	}
	return dir
}

// shared calls f with the fields of each record of a gzipped JSONL file.
func shared(t testing.TB, name string, f func(field func(string) string)) {
	t.Helper()
	in, err := os.Open(filepath.Join(sharedData(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var record map[string]any
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		f(func(name string) string {
			s, _ := record[name].(string)
			return s
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func (c *Corpus) add(id, text string) {
	c.Documents = append(c.Documents, Document{ID: id, Text: []byte(text)})
}

// errorPage is what 130 of the blogs are: one site's page for what is not
// there, 8,000 pairs of them.
const errorPage = "这不是您要查找的页面"

// mix is the drafts and their published edits among laws, blogs and news, with
// or without the error pages.
func mix(t testing.TB, errorPages bool) *Corpus {
	t.Helper()
	c := &Corpus{}
	var pairs []labels.Pair
	shared(t, "zh/lctt_pairs.jsonl.gz", func(field func(string) string) {
		p := labels.Pair{A: field("id") + "#draft", B: field("id") + "#published", Answer: labels.Yes}
		c.add(p.A, field("draft"))
		c.add(p.B, field("published"))
		pairs = append(pairs, p)
	})
	for _, name := range []string{"zh/laws.jsonl.gz", "zh/blogs.jsonl.gz", "en/reuters21578.jsonl.gz"} {
		shared(t, name, func(field func(string) string) {
			if errorPages || !strings.Contains(field("text"), errorPage) {
				c.add(name+":"+field("id"), field("text"))
			}
		})
	}
	if err := c.Label(pairs); err != nil {
		t.Fatal(err)
	}
	return c
}

// laboratory skips a test of minutes unless it is asked for.
func laboratory(t testing.TB) {
	t.Helper()
	if os.Getenv("NEARDUP_LAB") == "" {
		t.Skip("measures for minutes: set NEARDUP_LAB=1 to run it")
	}
}

// goal is what a preset is to reach on the held-out half.
type goal struct {
	method        *Neardup
	precision, f1 float64
	recall        map[float64]float64 // by the lower bound of the similarity band
}

// The presets reach their goals on the half of the pairs that no threshold was
// chosen by, and report nothing dissimilar.
func TestGoals(t *testing.T) {
	laboratory(t)
	t.Run("mix", func(t *testing.T) { testGoals(t, "the mix, held-out half", true) })
	t.Run("no error pages", func(t *testing.T) { testGoals(t, "without the error pages, held-out half", false) })
}

func testGoals(t *testing.T, title string, errorPages bool) {
	l := newLab(t, mix(t, errorPages), Options{Half: 1})
	report := l.Report(title)
	measure := func(m Method) *Result {
		r, err := l.Measure(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		report.Results = append(report.Results, r)
		return r
	}
	measure(Preset(config.PresetClassic))
	minhash := measure(minHash())
	for _, g := range []goal{
		{Preset(config.PresetBalanced), 0.99, 0.965, map[float64]float64{0.9: 0.995, 0.8: 0.97, 0.7: 0.90}},
		{Preset(config.PresetThorough), 0.995, minhash.F1, map[float64]float64{0.9: 0.999, 0.8: 0.995, 0.7: 0.95, 0.6: 0.88}},
	} {
		r := measure(g.method)
		if r.Precision.Value < g.precision || r.F1 < g.f1 || r.Dissimilar > 0 {
			t.Errorf("%s: precision %.4f, F1 %.4f, %d dissimilar; want %.3f, %.4f, 0", r.Method, r.Precision.Value, r.F1, r.Dissimilar, g.precision, g.f1)
		}
		for _, b := range r.Bands {
			if want := g.recall[b.Low]; b.All.Value < want || b.Labelled.Value < want {
				t.Errorf("%s: recall %.4f of %s, %.4f of the labelled; want %.3f", r.Method, b.All.Value, b.Name(), b.Labelled.Value, want)
			}
		}
	}
	wide := Preset(config.PresetBalanced)
	wide.Label, wide.Match.Distance = "balanced, k=6", 6
	measure(wide)
	for _, m := range baselines() {
		if m.Name() != minhash.Method && errorPages {
			measure(m)
		}
	}
	if errorPages {
		unstopped, err := Parse("k=3+stop=none")
		if err == nil {
			report.Sweeps, err = l.Sweeps(t.Context(), []Method{Preset(config.PresetClassic), unstopped}, 8)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := report.WriteText(t.Output(), message.English); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("NEARDUP_LAB_OUT"); dir != "" && errorPages {
		write := func(name string, f func(*os.File) error) {
			out, err := os.Create(filepath.Join(dir, name))
			if err == nil {
				err = f(out)
			}
			if err == nil {
				err = out.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		write("accuracy.json", func(f *os.File) error { return report.WriteJSON(f) })
		write("accuracy.html", func(f *os.File) error { return report.WriteHTML(f, message.English) })
	}
}

// On Reuters-21578 the presets find every pair with J ≥ 0.9, and report none
// with J < 0.3.
func TestReuters(t *testing.T) {
	if testing.Short() {
		t.Skip("compares 19,043 news items: not with -short")
	}
	c := &Corpus{}
	shared(t, "en/reuters21578.jsonl.gz", func(field func(string) string) { c.add(field("id"), field("text")) })
	l := newLab(t, c, Options{Alike: 0.9, Half: AllPairs})
	for _, m := range []*Neardup{Preset(config.PresetBalanced), Preset(config.PresetThorough)} {
		r, err := l.Measure(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if r.Recall.Of < 380 || r.Recall.Have != r.Recall.Of || r.Dissimilar > 0 {
			t.Errorf("%s finds %d of %d pairs with J ≥ 0.9, and %d with J < 0.3", m.Name(), r.Recall.Have, r.Recall.Of, r.Dissimilar)
		}
	}
}

// Short texts with planted edits of up to a fifth of their characters, by how
// many of the titles have one. Pairs of two titles of the input count as wrong
// unless their letters are equal: it is not known which of them are right.
func TestShortTitles(t *testing.T) {
	laboratory(t)
	c := &Corpus{}
	shared(t, "zh/weibo_titles.jsonl.gz", func(field func(string) string) { c.add(field("id"), field("text")) })
	originals := len(c.Documents)
	for _, strengths := range [][]Planned{{{"typos", 0.2}}, {{"typos", 0.1}, {"typos", 0.15}, {"typos", 0.2}}} {
		for _, share := range []int{10, 4, 1} {
			c, err := Plant(c, Planting{Edits: strengths, Count: originals / share, Seed: 2026})
			if err != nil {
				t.Fatal(err)
			}
			l := newLab(t, c, Options{Half: AllPairs, Alike: 1})
			found, err := Preset(config.PresetBalanced).Find(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			planted, equal, natural, other := 0, 0, 0, 0
			for _, f := range found {
				switch truth := l.truth[f.Pair]; {
				case truth.by&TruthLabel != 0:
					planted++
				case f.Score == 1:
					equal++
				case int(f.B) < originals:
					natural++
				default:
					other++
				}
			}
			recall := float64(planted) / float64(len(c.Labelled))
			precision := float64(planted+equal) / float64(len(found))
			fmt.Fprintf(t.Output(), "edits %v: %d planted in %d: recall %.4f, precision %.4f: %d pairs, %d planted, %d equal, %d others of two titles of the input, %d of a planted one and another\n",
				strengths, len(c.Labelled), originals, recall, precision, len(found), planted, equal, natural, other)
			if recall < 0.9 || share <= 4 && precision < 0.98 {
				t.Errorf("recall %.4f, precision %.4f", recall, precision)
			}
		}
	}
}

// BenchmarkDocument measures what the sketch adds to the fingerprint.
func BenchmarkDocument(b *testing.B) {
	var texts [][]byte
	shared(b, "zh/blogs.jsonl.gz", func(field func(string) string) {
		if len(texts) < 500 {
			texts = append(texts, []byte(field("text")))
		}
	})
	a, err := simhash.New(Preset(config.PresetBalanced).Features.Options)
	if err != nil {
		b.Fatal(err)
	}
	var size int64
	var normal [][]byte
	w := a.NewWorkspace()
	for _, text := range texts {
		size += int64(len(text))
		normal = append(normal, w.Normalize(nil, text))
	}
	for _, name := range []string{"fingerprint", "fingerprint+sketch", "sketch"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			var maker sketch.Maker
			var s sketch.Sketch
			for b.Loop() {
				for i, text := range texts {
					if strings.HasPrefix(name, "fingerprint") {
						w.Fingerprint(nil, text)
					}
					if strings.HasSuffix(name, "sketch") {
						maker.Sketch(&s, normal[i])
					}
				}
			}
		})
	}
}

package review

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

// record is a document of a test's input.
type record struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// finished runs neardup over documents.
func finished(t testing.TB, dir, name string, docs []record, set func(*config.Config)) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, d := range docs {
		if err := enc.Encode(d); err != nil {
			t.Fatal(err)
		}
	}
	in, out := filepath.Join(dir, name+".jsonl"), filepath.Join(dir, name)
	if err := os.WriteFile(in, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	if set != nil {
		set(&cfg)
	}
	if _, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg, Engine: local.New(2)}); err != nil {
		t.Fatal(err)
	}
	return out
}

// crawl makes texts of words, each with an edited copy: the later, the more of
// its words are others. The edits run from none to what no limit takes.
func crawl(n int) (docs []record) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range n {
		words := make([]string, 120)
		for j := range words {
			words[j] = fmt.Sprintf("w%x", r.Uint32())
		}
		edited := slices.Clone(words)
		for j := range i * 40 / n {
			edited[(j*37+i)%len(edited)] = fmt.Sprintf("e%x", r.Uint32())
		}
		docs = append(docs, record{fmt.Sprintf("http://a.example/%d", i), "title <b>", strings.Join(words, " ")},
			record{fmt.Sprintf("http://b.example/%d", i), "title <b>", strings.Join(edited, " ")})
	}
	return docs
}

// Every pair is in one stratum: those of the run in the first round, those that
// only the wider search has in the second, and each is counted once.
func TestStrataAreAllPairs(t *testing.T) {
	docs := crawl(120)
	for _, preset := range config.Presets() {
		for _, all := range []bool{true, false} {
			run := finished(t, t.TempDir(), "run", docs, func(c *config.Config) {
				if err := c.Set(config.SettingPreset, preset); err != nil {
					t.Fatal(err)
				}
				c.Match.AllPairs = all
			})
			d, err := New(t.Context(), run, Options{Count: 60, Seed: 1, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			var found, missed int64
			drawn := map[string]int{}
			for _, s := range d.Strata {
				switch {
				case s.Round == 2:
					missed += s.Pairs
				case s.Name != StratumChain:
					found += s.Pairs
				}
			}
			for _, p := range d.Pairs {
				drawn[p.Stratum]++
				a, b := strings.TrimPrefix(p.A, "http://a.example/"), strings.TrimPrefix(p.B, "http://b.example/")
				if a != b {
					t.Errorf("%s: %s and %s are no copies", preset, p.A, p.B)
				}
			}
			for _, s := range d.Strata {
				if s.Drawn != drawn[s.Name] || int64(s.Drawn) > s.Pairs {
					t.Errorf("%s: %+v, drawn are %d", preset, s, drawn[s.Name])
				}
			}
			// Each document has one copy: the pairs of the table of matches are
			// those of all pairs.
			want := int64(0)
			matches, err := bestOf(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			for a, b := range matches {
				if matches[b] != a || a < b {
					want++
				}
			}
			if found != want || found+missed > 120 || missed == 0 || len(d.Pairs) > 60 || d.Widened == "" {
				t.Errorf("%s, all pairs %t: %d found, %d in the tables, %d missed, %d drawn, wider by %s", preset, all, found, want, missed, len(d.Pairs), d.Widened)
			}
			again, err := New(t.Context(), run, Options{Count: 60, Seed: 1, Workers: 1})
			if err != nil || !slices.EqualFunc(again.Pairs, d.Pairs, func(x, y Pair) bool { return x.A == y.A && x.B == y.B }) {
				t.Errorf("%s: the same seed draws other pairs, %v", preset, err)
			}
			narrow, err := New(t.Context(), run, Options{Count: 60, Seed: 2, Narrow: true})
			if err != nil || slices.ContainsFunc(narrow.Strata, func(s Stratum) bool { return s.Round == 2 }) || narrow.Widened != "" {
				t.Errorf("%s: %+v, %v", preset, narrow, err)
			}
		}
	}
}

// The texts of a pair of an earlier night are read from its run, while that is
// there; then the night is named.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	docs := crawl(30)
	var first, second []record
	for i, d := range docs {
		if i%2 == 0 {
			first = append(first, d)
		} else {
			second = append(second, d)
		}
	}
	second = append(second, first[0]) // returns under its own id
	run := ""
	for i, night := range [][]record{first, second} {
		run = finished(t, dir, fmt.Sprintf("night%d", i), night, func(c *config.Config) {
			c.Library = config.Library{Path: filepath.Join(dir, "library"), Night: fmt.Sprintf("2026-11-0%d", i+1)}
		})
	}
	d, err := New(t.Context(), run, Options{Count: 40, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, d := range docs {
		texts[d.ID] = d.Text
	}
	read := func() (history, here int, gone string) {
		items, err := d.Read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range items {
			second := &items[i].Second
			if items[i].First.Text != texts[items[i].A] {
				t.Errorf("%s: %q", items[i].A, items[i].First.Text)
			}
			if items[i].Stratum != StratumHistory {
				continue
			}
			if history++; second.Gone != nil {
				gone = second.Gone.Error()
			} else if here++; second.Text != texts[strings.TrimPrefix(second.ID, "2026-11-01/")] || second.Night != "2026-11-01" {
				t.Errorf("%+v", second)
			}
		}
		return history, here, gone
	}
	if history, here, gone := read(); history < 5 || here != history {
		t.Errorf("%d of %d texts of the earlier night: %s", here, history, gone)
	}
	if err := os.RemoveAll(filepath.Join(dir, "night0")); err != nil {
		t.Fatal(err)
	}
	if history, here, gone := read(); here != 0 || history < 5 || !strings.Contains(gone, "night 2026-11-01: its run directory is gone") {
		t.Errorf("%d of %d texts of a night that is gone: %s", here, history, gone)
	}
	var page bytes.Buffer
	items, err := d.Read(t.Context(), nil)
	if err == nil {
		err = d.WriteHTML(&page, items, "ada", message.Chinese)
	}
	if err != nil || !strings.Contains(page.String(), "night 2026-11-01: its run directory is gone") {
		t.Errorf("%v", err)
	}
}

// A page needs nothing else, runs no script but its own, and hostile texts are
// text.
func TestPage(t *testing.T) {
	d := &Draw{Run: "run <x>", Pairs: []Pair{{A: `a"><script>alert(1)</script>`, B: "b\u202e", Stratum: StratumNear, Distance: 2}, {A: "c", B: "d", Stratum: StratumWide, Distance: -1}}}
	items := []Item{
		{&d.Pairs[0], Document{ID: d.Pairs[0].A, Title: "<img src=x>", Text: "one </script><script>alert(2)</script> two"}, Document{ID: d.Pairs[0].B, Text: "one \u202e two"}},
		{&d.Pairs[1], Document{ID: "c", Text: "same text"}, Document{ID: "d", Text: "same text", Cut: true}},
	}
	var b bytes.Buffer
	if err := d.WriteHTML(&b, items, `me"`, message.English); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Count(page, "<script") != 2 || strings.Contains(page, "<img") || strings.Contains(page, "\u202e two") {
		t.Error("the page lets through what a document holds")
	}
	_, own, _ := strings.Cut(page, "<script>")
	own, _, _ = strings.Cut(own, "</script>")
	digest := show.ScriptDigest(own)
	if !strings.Contains(strings.ReplaceAll(page, "&#43;", "+"), "script-src '"+digest+"'") {
		t.Errorf("the page's script has the digest %s, its policy another", digest)
	}
	if regexp.MustCompile(`(src|href)="?(https?:)?//`).MatchString(page) {
		t.Error("the page needs the network")
	}
	if strings.Count(page, `class="en"`) != strings.Count(page, `class="zh"`) || !strings.Contains(page, "The two texts are identical") {
		t.Error("the page does not say the same in both languages")
	}
}

// draws is a draw with so many pairs in strata of those sizes.
func draws(strata ...Stratum) *Draw {
	d := &Draw{Strata: strata}
	for _, s := range strata {
		for i := range s.Drawn {
			e := 0.3 + 0.5*float64(i)/float64(s.Drawn)
			d.Pairs = append(d.Pairs, Pair{A: fmt.Sprint(s.Name, i), B: fmt.Sprint("x", s.Name, i), Stratum: s.Name, Verdict: "sketches alike", Estimate: &e, Length: 1000})
		}
	}
	return d
}

// votes has a reader say yes to the first pairs of each stratum.
func votes(d *Draw, who string, yes map[string]int) (rows []labels.Row) {
	seen := map[string]int{}
	for _, p := range d.Pairs {
		a := labels.No
		if seen[p.Stratum] < yes[p.Stratum] {
			a = labels.Yes
		}
		seen[p.Stratum]++
		rows = append(rows, labels.Row{A: p.B, B: p.A, Answer: a, Who: who})
	}
	return rows
}

// Strata count by what they have, not by what was read of them.
func TestFigures(t *testing.T) {
	d := draws(Stratum{StratumNear, 1, 100, 50}, Stratum{StratumReason + "sketches alike", 1, 9900, 20}, Stratum{StratumContained, 1, 500, 10}, Stratum{StratumBelow, 2, 200, 40}, Stratum{StratumWide, 2, 1000, 10})
	rows := votes(d, "ada", map[string]int{StratumNear: 25, StratumReason + "sketches alike": 20, StratumContained: 5, StratumBelow: 30, StratumWide: 0})
	rows = append(rows, labels.Row{A: "not", B: "drawn", Answer: labels.Yes, Who: "ada"})
	f := d.Judge(rows)
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	if !near(f.Precision.Value, (100*0.5+9900)/10000) || f.Precision.Of != 70 || f.Strangers != 1 || f.Read != 130 {
		t.Errorf("precision %+v, %d unknown, %d read", f.Precision, f.Strangers, f.Read)
	}
	if !near(f.Recall.Value, 9950/(9950+150.0)) || !near(f.Missed, 150) || f.Recall.Low >= f.Recall.Value || f.Recall.High <= f.Recall.Value {
		t.Errorf("recall %+v, %f missed", f.Recall, f.Missed)
	}
	if want := eval.NewShare(25, 50); f.Strata[0].Right != want {
		t.Errorf("%+v", f.Strata[0])
	}
	low, high := eval.Wilson(f.Precision.Value, 1/(0.01*0.01/50+0.99*0.99/20))
	if !near(f.Precision.Low, low) || !near(f.Precision.High, high) {
		t.Errorf("%+v, want %f to %f", f.Precision, low, high)
	}
	nothing := d.Judge(nil)
	if nothing.Precision.Of != 0 || nothing.Precision.High != 1 || nothing.Recall.High != 1 || nothing.Read != 0 {
		t.Errorf("%+v", nothing)
	}
	for _, l := range []message.Language{message.English, message.Chinese} {
		var b bytes.Buffer
		if err := f.WriteText(&b, l); err != nil || strings.Contains(b.String(), "%!") || !strings.Contains(b.String(), "0.9950") {
			t.Errorf("%s, %v", b.String(), err)
		}
		if err := nothing.WriteText(&b, l); err != nil || strings.Contains(b.String(), "%!") {
			t.Errorf("%s, %v", b.String(), err)
		}
	}
}

// The interval of a stratified share covers the truth about as often as it says.
func TestStratifiedCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const rounds = 2000
	covered := 0
	truth := []float64{0.6, 0.97}
	pairs := []int64{500, 4000}
	for range rounds {
		var strata []StratumFigure
		for i, p := range truth {
			s := StratumFigure{Stratum: Stratum{Name: StratumNear, Round: 1, Pairs: pairs[i]}}
			for range 60 {
				if r.Float64() < p {
					s.Yes++
				} else {
					s.No++
				}
			}
			s.Right = eval.NewShare(s.Yes, s.Yes+s.No)
			strata = append(strata, s)
		}
		want := (truth[0]*500 + truth[1]*4000) / 4500
		if e := stratified(strata, (*Stratum).claims); e.Low <= want && want <= e.High {
			covered++
		}
	}
	if share := float64(covered) / rounds; share < 0.94 {
		t.Errorf("the interval covers %.3f", share)
	}
}

func TestReadersDisagree(t *testing.T) {
	d := draws(Stratum{StratumNear, 1, 100, 40})
	rows := votes(d, "ada", map[string]int{StratumNear: 30})
	rows = append(rows, votes(d, "lin", map[string]int{StratumNear: 20})...)
	f := d.Judge(rows)
	// Of 40 pairs they agree on 20 yes and 10 no; by chance on ¾·½ + ¼·½ = ½.
	if a := f.Agreement; a.Agreed.Have != 30 || a.Agreed.Of != 40 || a.Kappa == nil || math.Abs(*a.Kappa-0.5) > 1e-9 || len(a.Disputed) != 10 {
		t.Errorf("%+v", a)
	}
	if s := f.Strata[0]; s.Yes != 20 || s.No != 10 || s.Unsure != 10 || len(f.Readers) != 2 {
		t.Errorf("%+v", s)
	}
	var b bytes.Buffer
	if err := f.WriteText(&b, message.English); err != nil || !strings.Contains(b.String(), "kappa 0.50") || strings.Count(b.String(), "ada yes lin no") != 10 {
		t.Errorf("%s, %v", b.String(), err)
	}
}

// The limit that is suggested is the best of all, found by trying them.
func TestSuggest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []point
		for range rapid.IntRange(20, 60).Draw(t, "points") {
			points = append(points, point{float64(rapid.IntRange(20, 90).Draw(t, "at")) / 100, rapid.Float64Range(1, 20).Draw(t, "weight"), rapid.Bool().Draw(t, "right")})
		}
		m := config.Default().Match
		c, enough := best("match.limit_long", points, m)
		if !enough {
			return
		}
		p, r := at(points, m.LimitLong)
		most := eval.F1(p, r)
		for k := 20; k <= 90; k++ {
			p, r := at(points, float64(k)/100)
			most = max(most, eval.F1(p, r))
		}
		got := eval.F1(c.Precision, c.Recall)
		if c.set && math.Abs(got-most) > 1e-9 || !c.set && most > eval.F1(p, r)+leastGain+1e-9 {
			t.Fatalf("%+v has F1 %f, the best is %f", c, got, most)
		}
	})
	// Readers take what is alike from .45 on: the limit of long texts goes there,
	// and the file says so and can be read.
	d := draws(Stratum{StratumNear, 1, 40, 40}, Stratum{StratumBelow, 2, 40, 40})
	var rows []labels.Row
	for _, p := range d.Pairs {
		a := labels.No
		if *p.Estimate >= 0.55 {
			a = labels.Yes
		}
		rows = append(rows, labels.Row{A: p.A, B: p.B, Answer: a})
	}
	s := d.Suggest(rows, config.Default())
	if len(s.Changes) != 1 || s.Changes[0].Setting != "match.limit_long" || s.Changes[0].Precision != 1 || s.Changes[0].Recall != 1 || !slices.Equal(s.TooFew, []string{"match.limit_short"}) {
		t.Fatalf("%+v", s)
	}
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tuned.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(path, config.Default())
	if err != nil || math.Abs(cfg.Match.LimitLong-0.55) > 0.02 || cfg.Match.LimitShort != config.Default().Match.LimitShort || !strings.Contains(string(text), "# was 0.47") {
		t.Errorf("%s: %v, %v", text, cfg.Match, err)
	}
	classic, err := config.Default().WithPreset(config.PresetClassic)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Pairs {
		d.Pairs[i].Distance = int32(i % 7)
		rows[i].Answer = labels.Yes
		if i%7 > 5 {
			rows[i].Answer = labels.No
		}
	}
	if s = d.Suggest(rows, classic); len(s.Changes) != 1 || s.Changes[0].Setting != "match.distance" || s.Changes[0].Is != "5" {
		t.Errorf("%+v", s)
	}
}

// Keys alone judge; what was judged is not shown again; each verdict is in the
// file at once.
func TestTerminal(t *testing.T) {
	d := draws(Stratum{StratumNear, 1, 100, 5})
	items := make([]Item, len(d.Pairs))
	for i := range d.Pairs {
		items[i] = Item{&d.Pairs[i], Document{ID: d.Pairs[i].A, Text: "a text"}, Document{ID: d.Pairs[i].B, Text: "another text"}}
	}
	path := filepath.Join(t.TempDir(), "mine.csv")
	read := func(who, keys string) string {
		var out bytes.Buffer
		s := Screen{Keys: strings.NewReader(keys), Out: &out, Cells: 80, Language: message.English, Who: who, Path: path}
		if err := s.Read(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	has := func(want ...labels.Answer) {
		t.Helper()
		rows, err := labels.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]labels.Answer{}
		for _, p := range labels.Merge(rows) {
			got[p.A] = p.Answer
		}
		for i, a := range want {
			if got[d.Pairs[i].A] != a {
				t.Errorf("pair %d: %v, want %v", i, got[d.Pairs[i].A], a)
			}
		}
	}
	read("ada", "yxn\x1b[Ckq") // an x and arrows judge nothing
	has(labels.Yes, labels.No, labels.None)
	if out := read("ada", "？un"); !strings.Contains(out, "Pair 3 of 5, 2 judged") {
		t.Errorf("%s", out)
	}
	has(labels.Yes, labels.No, labels.No, labels.None)
	if out := read("ada", "yy"); !strings.Contains(out, "That was the last pair") {
		t.Errorf("%s", out)
	}
	has(labels.Yes, labels.No, labels.No, labels.Yes, labels.Yes)
	if out := read("lin", "n"); !strings.Contains(out, "Pair 1 of 5, 0 judged") {
		t.Errorf("%s", out)
	}
	has(labels.Unsure, labels.No)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	alike := []Item{{&Pair{A: "c", B: "d"}, Document{ID: "c", Text: "the same\ntext"}, Document{ID: "d", Text: "the same\ntext"}}}
	var equal bytes.Buffer
	s := Screen{Keys: strings.NewReader("q"), Out: &equal, Cells: 80, Language: message.English, Path: path + "1", Who: "kim"}
	if err := s.Read(t.Context(), alike); err != nil || !strings.Contains(equal.String(), "identical in the part shown.\r\n\r\nthe same\r\ntext\r\n") || !strings.Contains(equal.String(), "judged\r\nc\r\nd\r\n") {
		t.Errorf("two texts that are identical: %q, %v", equal.String(), err)
	}
	s = Screen{Keys: strings.NewReader("y"), Out: &bytes.Buffer{}, Cells: 80, Path: path, Who: "kim"}
	if err := s.Read(ctx, items); err == nil {
		t.Error("it goes on")
	}
	long := Item{&d.Pairs[0], Document{ID: "long", Text: strings.Repeat("A sentence of its own. Another one. ", 100)}, Document{ID: "other", Text: strings.Repeat("Something else here. ", 100)}}
	var out bytes.Buffer
	s = Screen{Keys: strings.NewReader("  q"), Out: &out, Cells: 60, Lines: 20, Language: message.Chinese, Path: path + "2", Who: "kim"}
	if err := s.Read(t.Context(), []Item{long}); err != nil || strings.Count(out.String(), "\x1b[2J") != 3 {
		t.Errorf("%v: %q", err, out.String())
	}
	for _, screen := range strings.Split(out.String(), "\x1b[2J")[1:] {
		if n := strings.Count(screen, "\n"); n > 20 {
			t.Errorf("%d lines on a screen of 20", n)
		}
	}
}

package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words are drawn for texts that no two documents share by chance.
var words = strings.Fields(`图书馆 新闻 记者 昨天 下午 城市 交通 天气 经济 发展 学校 老师 学生 科技 公司 产品 市场 价格 上涨 下降 医院 医生
	病人 研究 发现 世界 国家 政府 会议 讨论 决定 项目 工程 建设 完成 开始 结束 比赛 冠军 球队 球员 电影 导演 演员 音乐 歌手 旅游 景点 酒店 美食 餐厅
	文化 历史 传统 艺术 展览 作品 作者 读者 出版 网络 平台 用户 数据 安全 问题 解决 方法 技术 系统 服务 管理 部门 工作 人员 群众 社会 生活 环境 保护`)

func prose(r *rand.Rand, sentences int) string {
	var b strings.Builder
	for range sentences {
		for range 6 + r.IntN(8) {
			b.WriteString(words[r.IntN(len(words))])
			if r.IntN(6) == 0 {
				fmt.Fprintf(&b, "%d", r.IntN(1000))
			}
		}
		b.WriteString("。")
	}
	return b.String()
}

// originals are documents without a near-duplicate.
func originals(n int) *Corpus {
	r := rand.New(rand.NewPCG(5, 6))
	c := &Corpus{}
	for i := range n {
		c.Documents = append(c.Documents, Document{ID: fmt.Sprintf("d%03d", i), Text: []byte(prose(r, 10+r.IntN(60)))})
	}
	return c
}

func planted(t *testing.T, strength float64) *Corpus {
	t.Helper()
	c, err := Plant(originals(60), Planting{Edits: atStrength(strength, paperEdits()...), Count: 45, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// paperEdits are those of the sources' protocol.
func paperEdits() (all []Edit) {
	for _, p := range PaperProtocol(0).Edits {
		all = append(all, p.Edit)
	}
	return all
}

// atStrength plans edits at one strength.
func atStrength(strength float64, edits ...Edit) []Planned {
	var all []Planned
	for _, e := range edits {
		all = append(all, Planned{e, strength})
	}
	return all
}

func newLab(t *testing.T, c *Corpus, o Options) *Lab {
	t.Helper()
	l, err := New(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, l)
	return l
}

// closed closes the laboratory at the end, and looks whether its folder is gone.
func closed(t *testing.T, l *Lab) {
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(l.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", l.dir, err)
		}
	})
}

func TestAlikeAgainstAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []uint64 {
			s := rapid.SliceOfN(rapid.Uint64Range(0, 25), 0, 20).Draw(t, "set")
			for i := range s {
				s[i] *= 0x9e3779b97f4a7c15 // hashes are spread
			}
			slices.Sort(s)
			return slices.Compact(s)
		}), 0, 25).Draw(t, "sets")
		limit := limits{
			jaccard:     rapid.SampledFrom([]float64{0.1, 1. / 3, 0.5, 0.8, 1}).Draw(t, "jaccard"),
			containment: rapid.SampledFrom([]float64{0, 0, 0.3, 0.8, 1}).Draw(t, "containment"),
		}
		var want []Found
		for a := range sets {
			for b := a + 1; b < len(sets); b++ {
				j, c := jaccardOf(sets[a], sets[b]), containmentOf(sets[a], sets[b])
				if j >= limit.jaccard || limit.containment > 0 && c >= limit.containment {
					want = append(want, Found{Pair: Pair{int32(a), int32(b)}, Score: j})
				}
			}
		}
		var elements, total int64
		for _, set := range sets {
			elements += int64(len(set))
		}
		var units []string
		var done atomic.Int64
		l := Lab{options: Options{Workers: 3, Pass: func(n int64, unit string) func(int64) {
			if done.Load() != total {
				t.Errorf("%s begins at %d of %d", unit, done.Load(), total)
			}
			total += n
			units = append(units, unit)
			return func(n int64) { done.Add(n) }
		}}}
		got, err := l.alike(context.Background(), sets, limit)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", limit, got, want)
		}
		if done.Load() != total || total < 3*elements || !slices.Equal(units, []string{"features counted", "features ranked", "features compared"}) {
			t.Fatalf("%d of %d elements are told of, in %q", done.Load(), total, units)
		}
	})
}

// A measurement against counts made with sets.
func TestMeasureCounts(t *testing.T) {
	c := planted(t, 0.3)
	halves := []int{AllPairs, 1}
	if testing.Short() {
		halves = halves[1:]
	}
	for _, half := range halves {
		l := newLab(t, c, Options{Half: half, Examples: 1})
		w := mustNormalizer(t).NewWorkspace()
		shingled := make([][]uint64, len(c.Documents))
		for i := range shingled {
			shingled[i] = l.shingles(w, int32(i))
		}
		truth, labelled := map[Pair]bool{}, map[Pair]bool{}
		in := func(p Pair) bool { return half == AllPairs || halfOf(c.Documents[p.A].ID) == half }
		for a := range c.Documents {
			for b := a + 1; b < len(c.Documents); b++ {
				p := Pair{int32(a), int32(b)}
				if in(p) && jaccardOf(shingled[a], shingled[b]) >= 0.5 {
					truth[p] = true
				}
			}
		}
		for _, p := range c.Labelled {
			if in(p) {
				truth[p], labelled[p] = true, true
			}
		}
		for _, m := range append([]Method{Preset(config.PresetClassic), Preset(config.PresetBalanced), Preset(config.PresetThorough)}, baselines()...) {
			found, err := m.Find(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			r, err := l.Measure(t.Context(), known{m.Name(), found})
			if err != nil {
				t.Fatal(err)
			}
			reported, right, have := 0, 0, 0
			for _, f := range found {
				if !in(f.Pair) {
					continue
				}
				reported++
				if truth[f.Pair] {
					right++
				}
				if labelled[f.Pair] {
					have++
				}
				if f.A >= f.B || f.Score < 0 || f.Score > 1 {
					t.Errorf("%s reports %+v", m.Name(), f)
				}
			}
			if r.Pairs != reported || r.Precision.Have != right || r.Recall.Have != have || r.Recall.Of != len(labelled) {
				t.Errorf("%s, half %d: %d pairs, %d right, %d of %d; want %d, %d, %d of %d", m.Name(), half,
					r.Pairs, r.Precision.Have, r.Recall.Have, r.Recall.Of, reported, right, have, len(labelled))
			}
			all := 0
			for _, b := range r.Bands {
				all += b.All.Of
			}
			if all != len(truth) {
				t.Errorf("%s: bands hold %d true pairs, want %d", m.Name(), all, len(truth))
			}
			if n := len(r.Curve); n > 0 {
				if last := r.Curve[n-1]; last.Pairs != r.Pairs || math.Abs(last.F1-r.F1) > 1e-9 || r.Best.F1 < last.F1 {
					t.Errorf("%s: the curve ends at %+v, best %+v", m.Name(), last, r.Best)
				}
			}
		}
	}
}

// known is a method whose pairs are known.
type known struct {
	name  string
	found []Found
}

func (k known) Name() string                                { return k.name }
func (k known) Find(context.Context, *Lab) ([]Found, error) { return k.found, nil }

func mustNormalizer(t *testing.T) *simhash.Analyzer {
	t.Helper()
	a, err := normalizer()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What light edits leave is found, and nothing else.
func TestPresetsFindPlantedDuplicates(t *testing.T) {
	l := newLab(t, planted(t, 0.05), Options{Half: AllPairs})
	for _, m := range []Method{Preset(config.PresetBalanced), Preset(config.PresetThorough)} {
		r, err := l.Measure(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if r.Precision.Value < 1 || r.Recall.Value < 0.95 {
			t.Errorf("%s: precision %v, recall %v", m.Name(), r.Precision, r.Recall)
		}
	}
}

// Explain gives the verdict that the method gives, for every pair.
func TestExplainAgreesWithFind(t *testing.T) {
	c := planted(t, 0.45)
	for i, s := range []string{"图书馆新馆正式对读者开放", "图书馆的新馆正式对读者开放", "", "……"} {
		c.Documents = append(c.Documents, Document{ID: fmt.Sprint("short", i), Text: []byte(s)})
	}
	l := newLab(t, c, Options{})
	for _, m := range []*Neardup{Preset(config.PresetClassic), Preset(config.PresetBalanced), Preset(config.PresetThorough)} {
		found, err := m.Find(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		same := map[Pair]bool{}
		for _, f := range found {
			same[f.Pair] = !f.Contained
		}
		pairs := slices.Clone(c.Labelled)
		for i := 0; i < len(c.Documents); i += 4 {
			pairs = append(pairs, Pair{int32(i / 2), int32(i)})
		}
		n := int32(len(c.Documents))
		pairs = append(pairs, Pair{n - 4, n - 3}, Pair{n - 2, n - 1})
		x, err := newExplainer(m)
		if err != nil {
			t.Fatal(err)
		}
		agreed := 0
		for _, p := range pairs {
			if p.A == p.B {
				continue
			}
			e := x.explain(&c.Documents[p.A], &c.Documents[p.B])
			if e.Verdict.Same != same[p] {
				t.Errorf("%s: %v explained as %+v, found %v", m.Name(), p, e.Verdict, same[p])
			}
			if same[p] {
				agreed++
			}
			if (e.Distance <= e.K) && len(e.Segments) == 0 {
				t.Errorf("%s: %v at distance %d has no segment in common", m.Name(), p, e.Distance)
			}
		}
		if agreed < 10 {
			t.Errorf("%s: only %d pairs to explain", m.Name(), agreed)
		}
	}
}

// Title and summary of short news are shown, and not compared.
func TestExplainHeadline(t *testing.T) {
	text := prose(rand.New(rand.NewPCG(2, 1)), 20)
	a, b := &Document{ID: "a", Text: []byte(text), Headline: []byte("One title\nOne summary\n")}, &Document{ID: "b", Text: []byte(text)}
	e, err := Explain(Preset(config.PresetBalanced), a, b)
	if err != nil {
		t.Fatal(err)
	}
	if e.Jaccard != 1 || e.A.Length != e.B.Length || e.A.Headline != len("One title\nOne summary") || e.B.Headline != 0 {
		t.Errorf("J %.2f, %+v, %+v", e.Jaccard, e.A, e.B)
	}
	rows := e.Rows()
	want := []show.Row{{First: []show.Piece{{Op: show.Left, Text: "One title"}}}, {First: []show.Piece{{Op: show.Left, Text: "One summary"}}}}
	if got := rows[max(0, len(rows)-2):]; !reflect.DeepEqual(got, want) {
		t.Errorf("the last rows are %+v, want %+v", got, want)
	}
	for _, l := range []message.Language{message.English, message.Chinese} {
		var out, page strings.Builder
		if err := errors.Join(e.WriteText(&out, l), e.WriteHTML(&page, l)); err != nil {
			t.Fatal(err)
		}
		if want := l.Text("%d and %d characters of title and summary", 21, 0); !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
		if want := "<tr><td>" + l.Text("title and summary left out") + "<td>21<td>0</tr>"; !strings.Contains(page.String(), want) || !strings.Contains(page.String(), "One summary") {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
}

func TestExplainText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	text := prose(r, 20)
	a, b := &Document{ID: "a", Text: []byte(text)}, &Document{ID: "b", Text: []byte(text + "另外一个结尾。")}
	e, err := Explain(Preset(config.PresetBalanced), a, b)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := e.WriteText(&out, message.English); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"verdict      the same: sketches alike", "limit 0.55", "only second", "结尾 0/1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	blob, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"method":"balanced","a":{"id":"a","fingerprint":"` + e.A.Fingerprint, `"length_class":"normal"`, `"verdict":{"same":true,"reason":"sketches alike"}`, `"only_a":[]`} {
		if !strings.Contains(string(blob), want) {
			t.Errorf("no %s in %s", want, blob)
		}
	}
	if e.WeightShared <= 0.9 || e.WeightShared >= 1 || len(e.OnlyA) != 0 {
		t.Errorf("weight in common %v, only first %v", e.WeightShared, e.OnlyA)
	}
}

func TestPlant(t *testing.T) {
	if testing.Short() {
		t.Skip("it plants 120 of each edit, twice")
	}
	c := originals(40)
	w := mustNormalizer(t).NewWorkspace()
	jaccard := func(a, b []byte) float64 {
		return jaccardOf(sketch.Shingles(nil, w.Normalize(nil, a)), sketch.Shingles(nil, w.Normalize(nil, b)))
	}
	for _, stated := range Edits() {
		e := stated.Name
		mean := map[float64]float64{}
		for _, strength := range []float64{0, 0.1, 0.5} {
			p := Planting{Edits: atStrength(strength, e), Count: 40, Seed: 3}
			out, err := Plant(c, p)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := Plant(c, p)
			if len(out.Documents) != 80 || len(out.Labelled) != 40 {
				t.Fatalf("%s: %d documents, %d labelled", e, len(out.Documents), len(out.Labelled))
			}
			for i, q := range out.Labelled {
				a, b := out.Documents[q.A], out.Documents[q.B]
				if b.ID != a.ID+"#"+string(e) || !bytes.Equal(b.Text, again.Documents[again.Labelled[i].B].Text) {
					t.Fatalf("%s: %s planted as %s, not the same twice", e, a.ID, b.ID)
				}
				mean[strength] += jaccard(a.Text, b.Text) / 40
			}
		}
		if mean[0] < 0.999 {
			t.Errorf("%s of strength 0 leaves J = %.3f", e, mean[0])
		}
		if e == "mirror" || e == "script" || e == "entities" { // the normal form undoes them, or may
			if e != "entities" && mean[0.5] < 0.99 {
				t.Errorf("%s leaves J = %.3f", e, mean[0.5])
			}
			continue
		}
		if !(mean[0.5] < mean[0.1] && mean[0.1] < 0.999) {
			t.Errorf("%s: J = %.3f at 0.1, %.3f at 0.5", e, mean[0.1], mean[0.5])
		}
	}
	for _, p := range []Planting{
		{Edits: atStrength(0.1, "nonsense"), Count: 1}, {Count: 1}, {Edits: atStrength(1.1, "drop")}, {Edits: atStrength(math.NaN(), "drop")},
		{Edits: atStrength(0, "drop"), Count: 41}, {Edits: atStrength(0, "drop"), Count: -1},
	} {
		if _, err := Plant(c, p); !errors.Is(err, errPlanting) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"一句。另一句！":                        {"一句。", "另一句！"},
		"见 https://a.cn/x.html。版本 3.14，": {"见 https://a.cn/x.html。", "版本 3.14，"},
		"It is. It was? Yes\nno.":        {"It is.", " It was?", " Yes\n", "no."},
		"":                               nil,
	} {
		if got := show.Sentences(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzPlant(f *testing.F) {
	f.Add([]byte("一句话。另一句话！"), []byte("a\xff b"), 0.3, uint64(1))
	f.Fuzz(func(t *testing.T, a, b []byte, strength float64, seed uint64) {
		c := &Corpus{Documents: []Document{{ID: "a", Text: a}, {ID: "b", Text: b}}}
		for _, e := range Edits() {
			out, err := Plant(c, Planting{Edits: atStrength(strength, e.Name), Count: 2, Seed: seed})
			if err != nil {
				if strength >= 0 && strength <= e.Most {
					t.Fatal(err)
				}
				continue
			}
			if len(out.Documents) != 4 || len(out.Labelled) != 2 {
				t.Fatalf("%s: %d documents", e.Name, len(out.Documents))
			}
		}
	})
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		have, of  int
		low, high float64
	}{{8, 10, 0.4902, 0.9433}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {0, 0, 0, 1}, {500, 1000, 0.4691, 0.5309}} {
		s := NewShare(c.have, c.of)
		if math.Abs(s.Low-c.low) > 5e-5 || math.Abs(s.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.have, c.of, s.Low, s.High, c.low, c.high)
		}
	}
}

func TestCorpus(t *testing.T) {
	var c Corpus
	var d data.Document // used again for the next
	for _, id := range []string{"doc1", "doc3", "doc1"} {
		d.ID, d.Text = append(d.ID[:0], id...), append(d.Text[:0], "文字"...)
		if err := c.Add(&d); err != nil {
			t.Fatal(err)
		}
	}
	if c.Skipped != 1 || len(c.Documents) != 2 || c.Documents[0].ID != "doc1" {
		t.Fatalf("%+v", c)
	}
	if err := c.Label([]labels.Pair{{A: "doc3", B: "doc1", Answer: labels.Yes}, {A: "doc1", B: "doc3", Answer: labels.Yes}, {A: "doc1", B: "doc1", Answer: labels.Yes}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Labelled, []Pair{{0, 1}}) {
		t.Errorf("labelled %v", c.Labelled)
	}
	if err := c.Label([]labels.Pair{{A: "doc1", B: "nobody", Answer: labels.No}}); !errors.Is(err, errUnknownID) {
		t.Errorf("an unknown id: %v", err)
	}
}

func TestReport(t *testing.T) {
	c := planted(t, 0.4)
	c.Documents[0].Text = append([]byte("<script>alert(1)</script>"), c.Documents[0].Text...)
	l := newLab(t, c, Options{Beside: TruthAll})
	report := l.Report("planted & found")
	for _, m := range []Method{Preset(config.PresetClassic), punctuationContext(0.01)} {
		r, err := l.Measure(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		report.Results = append(report.Results, r)
	}
	var err error
	if report.Sweeps, err = l.Sweeps(t.Context(), []Method{Preset(config.PresetClassic)}, 4); err != nil {
		t.Fatal(err)
	}
	var text, html, blob bytes.Buffer
	for _, err := range []error{report.WriteText(&text, message.English), report.WriteHTML(&html, message.English), report.WriteJSON(&blob)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"planted & found: 105 documents", "classic", "J ≥ 0.9", "right at this distance", "classic, k = 4", "precision / recall / F1 by truth  labelled", "inverse purity", "as either, J < 0.50"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	page := html.String()
	for _, no := range []string{"<script", "http://", "https://", "<link", "@import", "ZgotmplZ", "NaN", "Inf"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %s", no)
		}
	}
	for _, want := range []string{"planted &amp; found", "<polyline", "punctuation-context, F1", "classic, k = 4", "recall: share of the wanted pairs", "inverse purity", "</html>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	var back Report
	if err := json.Unmarshal(blob.Bytes(), &back); err != nil || back.Results[0].F1 != report.Results[0].F1 {
		t.Errorf("JSON: %v", err)
	}
	empty := Report{Title: "nothing"}
	if err := errors.Join(empty.WriteText(io.Discard, message.English), empty.WriteHTML(io.Discard, message.English)); err != nil {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	for _, name := range append(Names(), "k=8", "balanced+strip-boilerplate=off", "balanced+bits=128+k=31", "classic+ngram=3+min-features=8+top=0") {
		m, err := Parse(name)
		if err != nil || m.Name() != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	want := Preset(config.PresetThorough)
	want.Label, want.Match.Distance, want.Match.Bands, want.Match.ShortTexts = "thorough+k=6+limit=0.5+limit-short=0.7+border=0+bands=off+short-texts=off+bits=32+weight=unit+stop=none+top=20", 6, false, false
	want.Match.LimitLong, want.Match.LimitShort, want.Match.Border = 0.5, 0.7, 0
	want.Features.Bits, want.Features.Weight, want.Features.Stop, want.Features.Top = 32, simhash.WeightUnit, simhash.StopNone, 20
	if got, err := Parse(want.Label); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, %v", want.Label, got, err)
	}
	for _, name := range []string{
		"", "k=16", "k=3x", "k=-1", "k=", "magic", "+bands=off", "minhash+bands=off", "k=3+top=0+top=0", "balanced+", "balanced+k=6+",
		"balanced+k", "balanced+k=16", "balanced+limit=2", "balanced+limit=NaN", "classic+limit=0.5", "balanced+bands=some", "balanced+bits=7",
		"balanced+weight=heavy", "balanced+magic=1", "balanced+k=1+k=2",
	} {
		if m, err := Parse(name); err == nil {
			t.Errorf("%q is %v", name, m)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{{Alike: -1}, {Alike: 1.5}, {Alike: math.NaN()}, {Half: 2}, {Half: -2}} {
		if _, err := New(t.Context(), &Corpus{}, o); err == nil {
			t.Errorf("%+v passes", o)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, planted(t, 0.1), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The same corpus gives the same result, with any number of workers.
func TestMeasureIsDeterministic(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures several times")
	}
	c := planted(t, 0.4)
	var first []byte
	for _, workers := range []int{1, 4} {
		l := newLab(t, c, Options{Workers: workers, Examples: 2})
		report := l.Report("twice")
		for _, m := range append([]Method{Preset(config.PresetClassic), Preset(config.PresetBalanced), Preset(config.PresetThorough)}, baselines()...) {
			r, err := l.Measure(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			r.Seconds = 0
			report.Results = append(report.Results, r)
		}
		var out bytes.Buffer
		if err := report.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = out.Bytes()
		} else if !bytes.Equal(first, out.Bytes()) {
			t.Error("another number of workers, another report")
		}
	}
}

// What a label says no to is wrong, whatever J says, and what it is unsure of
// counts for nothing.
func TestLabelsThatSayNo(t *testing.T) {
	text := strings.Repeat("昨天下午三点，市图书馆新馆正式对读者开放，首日接待了两千多人。", 3)
	c := &Corpus{}
	for i, more := range []string{"", "编辑甲。", "编辑乙。", "编辑丙。"} { // all alike
		c.add(string(rune('a'+i)), text+more)
	}
	c.add("e", "城市交通部门宣布，从下周一起调整早晚高峰的公交线路，并且增加地铁班次，以缓解拥堵。")
	say := func(a, b string, answer labels.Answer) labels.Pair {
		return labels.Pair{A: a, B: b, Answer: answer, Kind: "read"}
	}
	if err := c.Label([]labels.Pair{say("a", "b", labels.Yes), say("c", "a", labels.No), say("b", "c", labels.Unsure), say("a", "e", labels.Yes), say("a", "2026-11-01/b", labels.Yes), say("2026-11-01_late/b", "a", labels.No)}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"2026-11-01", "2026-13-01/b", "1/b"} {
		if err := c.Label([]labels.Pair{say("a", id, labels.Yes)}); err == nil {
			t.Errorf("%s, which no document has, is taken for one of an earlier night", id)
		}
	}
	l := newLab(t, c, Options{Half: AllPairs, Beside: TruthLabel | TruthJaccard})
	found := []Found{}
	for a := range int32(4) {
		for b := a + 1; b < 4; b++ {
			found = append(found, Found{Pair: Pair{a, b}, Score: 1})
		}
	}
	r, err := l.compare(found, false)
	if err != nil {
		t.Fatal(err)
	}
	// Of six reported pairs ac is wrong, and bc is not judged.
	if r.Precision.Of != 5 || r.Precision.Have != 4 || r.Recall.Of != 2 || r.Recall.Have != 1 {
		t.Errorf("precision %+v, recall %+v", r.Precision, r.Recall)
	}
	// By labels alone the pairs without one are not judged either; by J alone no
	// label says anything.
	if d := r.Definitions[0]; d.Precision.Of != 2 || d.Precision.Have != 1 || d.Recall.Of != 2 {
		t.Errorf("labelled: %+v", d)
	}
	if d := r.Definitions[1]; d.Precision.Of != 6 || d.Precision.Have != 6 {
		t.Errorf("J: %+v", d)
	}
	report := l.Report("labels")
	if report.Denied != 1 || report.Unsure != 1 || report.Labelled != 2 || !strings.Contains(report.Summary(message.English), "1 labelled as not the same, 1 as unsure; 2 with a document of an earlier night left out") || c.Kinds[Pair{0, 2}] != "read" {
		t.Errorf("%s, %v", report.Summary(message.English), c.Kinds)
	}
	if r.Examples[0].A != "a" || r.Examples[0].B != "c" && !r.Examples[0].Missed {
		t.Errorf("%+v", r.Examples)
	}
}

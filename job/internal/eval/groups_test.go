package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
)

// Groups of one kind hold every pair once, and add up to the whole.
func TestGroupsAddUp(t *testing.T) {
	c := planted(t, 0.3)
	for i := range c.Documents {
		c.Documents[i].Category = fmt.Sprint("category ", i%2)
	}
	l := newLab(t, c, Options{Half: AllPairs})
	r, err := l.Measure(t.Context(), Preset(config.PresetBalanced))
	if err != nil {
		t.Fatal(err)
	}
	type sums struct{ pairs, right, wanted, have int }
	got := map[string]sums{}
	for _, g := range r.Groups {
		s := got[g.By]
		got[g.By] = sums{s.pairs + g.Precision.Of, s.right + g.Precision.Have, s.wanted + g.Recall.Of, s.have + g.Recall.Have}
	}
	want := sums{r.Precision.Of, r.Precision.Have, r.Recall.Of, r.Recall.Have}
	for _, by := range []string{byLength, byLanguage, byCategory} {
		if got[by] != want {
			t.Errorf("by %s: %+v, want %+v", by, got[by], want)
		}
	}
	if e := got[byEdit]; e.wanted != want.wanted || e.have != want.have || e.pairs != 0 {
		t.Errorf("by edit: %+v", e)
	}
}

// A sweep says at each distance what the method at that distance measures.
func TestSweepAgainstMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("measures at each distance")
	}
	l := newLab(t, planted(t, 0.4), Options{Half: AllPairs, Examples: 1})
	m := Preset(config.PresetClassic)
	sweeps, err := l.Sweeps(t.Context(), []Method{m}, 9)
	if err != nil {
		t.Fatal(err)
	}
	if len(sweeps) != 1 || len(sweeps[0].Points) != 10 || sweeps[0].Method != m.Name() {
		t.Fatalf("%+v", sweeps)
	}
	for k, p := range sweeps[0].Points {
		m.Match.Distance = k
		r, err := l.Measure(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if p.Pairs != r.Pairs || p.Precision != r.Precision || p.Recall != r.Recall || p.F1 != r.F1 {
			t.Errorf("at %d: %+v, want %+v", k, p, r.Figures)
		}
	}
}

// Methods that differ in the distance alone are swept once.
func TestSweeps(t *testing.T) {
	l := newLab(t, originals(10), Options{Half: AllPairs})
	eight, err := Parse("k=8")
	if err != nil {
		t.Fatal(err)
	}
	sweeps, err := l.Sweeps(t.Context(), []Method{Preset(config.PresetClassic), eight, shingling(0.5), Preset(config.PresetBalanced), Preset(config.PresetThorough)}, 2)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range sweeps {
		names = append(names, s.Method)
	}
	if got := strings.Join(names, " "); got != "classic" {
		t.Errorf("swept %s", got)
	}
}

func TestProtocol(t *testing.T) {
	c := originals(60)
	for i := range c.Documents {
		c.Documents[i].Category = string("abcd"[i%4])
	}
	p := PaperProtocol(1)
	if p.Categories != 5 || p.Documents != 2000 || p.Duplicates != 500 || len(p.Edits) != 11 {
		t.Errorf("%+v", p)
	}
	p.Categories, p.Documents, p.Duplicates = 3, 16, 4
	out, err := p.Apply(c)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, d := range out.Documents {
		count[d.Category]++
	}
	if len(count) != 3 || count["a"] != 16 || len(out.Labelled) != 12 || len(out.Kinds) != 12 {
		t.Errorf("%v documents by category, %d labelled", count, len(out.Labelled))
	}
	for _, q := range out.Labelled {
		a, b := out.Documents[q.A], out.Documents[q.B]
		if !strings.HasPrefix(b.ID, a.ID+"#") || a.Category != b.Category || out.Kinds[q] == "" {
			t.Errorf("labelled %s and %s, by %q", a.ID, b.ID, out.Kinds[q])
		}
	}
	for _, bad := range []protocol{{}, {Categories: 5, Documents: 10}, {Categories: 2, Documents: 100, Duplicates: 2}, {Categories: 1, Documents: 4, Duplicates: 3}} {
		if _, err := bad.Apply(c); err == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}

func TestParsePlanned(t *testing.T) {
	for s, want := range map[string]Planned{"drop": {"drop", 0.1}, "drop=0.25": {"drop", 0.25}, "mirror=0": {"mirror", 0}} {
		got, err := ParsePlanned(s)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", s, got, err)
		}
		if again, err := ParsePlanned(got.String()); err != nil || again != got {
			t.Errorf("%s reads back as %v, %v", got, again, err)
		}
	}
	for _, s := range []string{"", "dropp", "drop=", "drop=x", "drop=2", "drop=NaN"} {
		if p, err := ParsePlanned(s); err == nil {
			t.Errorf("%q is %v", s, p)
		}
	}
}

// Rewording turns words and clauses round and keeps what else there is.
func TestRewordAndScript(t *testing.T) {
	c := &Corpus{Documents: []Document{
		{ID: "zh", Text: []byte("因为天气很好，所以我们可以开始比赛。图书馆的记者发现了问题！")},
		{ID: "en", Text: []byte("The company said that profit rose. Many people use it, and they like it.")},
	}}
	out, err := Plant(c, Planting{Edits: atStrength(1, "reword"), Count: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	text := string(out.Documents[2].Text) + string(out.Documents[3].Text)
	for _, want := range []string{"由于天气很好", "我们能够着手比赛", "firm", "employ"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	out, err = Plant(c, Planting{Edits: atStrength(1, "script"), Count: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	text = string(out.Documents[2].Text) + string(out.Documents[3].Text)
	for _, want := range []string{"氣很好", "圖書", "發現", "The company said that profit rose."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	back, err := Plant(&Corpus{Documents: out.Documents[2:]}, Planting{Edits: atStrength(1, "script"), Count: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := mustNormalizer(t).NewWorkspace()
	for _, p := range back.Labelled {
		a, b := w.Normalize(nil, back.Documents[p.A].Text), w.Normalize(nil, back.Documents[p.B].Text)
		if string(a) != string(b) {
			t.Errorf("%s and back: %s", a, b)
		}
	}
}

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/mapper"
)

// A table that was added is asked too: what it alone brings together is probed.
func TestProbeOfAddedTable(t *testing.T) {
	const own = 5 // a length that brings documents together
	mapper.Tables = append(mapper.Tables, mapper.Table{
		Name:   "own",
		Asked:  func(r *mapper.Rule) bool { return r.Bands },
		Brings: func(_ *mapper.Rule, a, b *data.View) bool { return a.Length == own && b.Length == own },
	})
	t.Cleanup(func() { mapper.Tables = mapper.Tables[:mapper.BuiltIn] })
	rule := method.Rule(config.Default().Match)
	samples := make([]sample, checked)
	for i := range samples {
		v := &samples[i].view
		v.Lo, v.Normal, v.Length, v.Sketch[0] = uint64(i)*0x9e3779b97f4a7c15, true, uint32(i), 1
		for b := range v.Sketch {
			v.Sketch[b] = byte(i*31 + b)
		}
	}
	document := data.View{Lo: 0xffff_0000_ffff_0000, Normal: true, Length: own}
	var got []int
	newProbe(&rule, samples).each(&document, func(i int, _ bool) { got = append(got, i) })
	if !slices.Contains(got, own) || len(got) > 3 {
		t.Errorf("samples %v, want %d", got, own)
	}
	classic := rule
	classic.Bands = false
	newProbe(&classic, samples).each(&document, func(i int, _ bool) {
		if i == own {
			t.Error("a table that the rule does not ask for")
		}
	})
}

// A probe yields all samples that are not told apart from a document by the rule and
// the verdict.
func TestProbeIsTheRule(t *testing.T) {
	for _, preset := range []string{config.PresetClassic, config.PresetBalanced, config.PresetThorough} {
		cfg, err := config.Default().WithPreset(preset)
		if err != nil {
			t.Fatal(err)
		}
		analyzer, release, err := method.NewAnalyzer(cfg.Features)
		if err != nil {
			t.Fatal(err)
		}
		f := mapper.NewFingerprinter(analyzer.NewWorkspace(), cfg.Match.Verified(), nil)
		f.Samples = cfg.Match.Containment > 0
		rule := method.Rule(cfg.Match)
		verify := mapper.NewVerifier(rule)
		met := 0
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.SampledFrom([]int{4, 12, 40, 120}).Draw(t, "words")
			words := rapid.SliceOfN(rapid.IntRange(0, 400), n, n).Draw(t, "words")
			view := func(name string) (v data.View) {
				of := slices.Clone(words[rapid.SampledFrom([]int{0, 0, 0, len(words) / 2}).Draw(t, name+" from"):])
				for range rapid.IntRange(0, 2).Draw(t, name+" edits") {
					of[rapid.IntRange(0, len(of)-1).Draw(t, name+" at")] = rapid.IntRange(0, 400).Draw(t, name+" word")
				}
				var text strings.Builder
				for _, w := range of {
					fmt.Fprintf(&text, "w%d ", w*w)
				}
				var row data.FingerprintRow
				f.Fingerprint(&data.Document{ID: []byte(name), Text: []byte(text.String())}, "", &row)
				mapper.View(&row, &v)
				v.Letters, v.Sample = slices.Clone(v.Letters), slices.Clone(v.Sample)
				return v
			}
			samples := make([]sample, rapid.IntRange(1, 5).Draw(t, "samples"))
			for i := range samples {
				samples[i].view = view(fmt.Sprint("sample ", i))
			}
			document := view("document")
			got := map[int]bool{}
			newProbe(&rule, samples).each(&document, func(i int, twice bool) { got[i] = twice })
			for i := range samples {
				if !rule.Candidate(&samples[i].view, &document) || verify.Judge(&samples[i].view, &document).Reason == data.NotTheSame {
					continue
				}
				met++
				twice, ok := got[i]
				unsampled := rule
				unsampled.Containment = 0
				if !ok || !twice && !unsampled.Candidate(&samples[i].view, &document) {
					t.Fatalf("sample %d is a candidate of the document: probed %t, by samples %t", i, ok, twice)
				}
			}
		})
		if met == 0 {
			t.Fatalf("%s: %d candidates: the test shows nothing", preset, met)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}

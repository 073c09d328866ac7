package mapper

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

func drawBits(t *rapid.T) int { return rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits") }

// drawTiers draws a layout for each tier of the rule.
func drawTiers(t *rapid.T, rule *Rule, bits int) Tiers {
	tiers := rule.Tiers()
	for i := range tiers {
		layout, err := simhash.NewLayout(bits, tiers[i].K)
		if rapid.Bool().Draw(t, "of a model") {
			layout, err = simhash.ChooseLayout(bits, tiers[i].K, rapid.Uint64Range(0, 1<<33).Draw(t, "documents"))
		}
		if err != nil {
			t.Fatal(err)
		}
		tiers[i].Layout = layout
	}
	return tiers
}

// tiersOf3 are the tiers of a rule of distance 3 for 64 bits: four tables.
func tiersOf3() Tiers {
	tiers := (&Rule{K: 3}).Tiers()
	if err := tiers.Choose(64, []uint64{1}); err != nil {
		panic(err)
	}
	return tiers
}

// drawFingerprint draws one of few values with few bits flipped, so that
// near-duplicates are frequent.
func drawFingerprint(t *rapid.T, bits int) simhash.Fingerprint {
	f := simhash.Fingerprint{Lo: rapid.SampledFrom([]uint64{0, ^uint64(0), 0x0123456789abcdef}).Draw(t, "base")}
	if bits == 128 {
		f.Hi = ^f.Lo
	}
	for range rapid.IntRange(0, 7).Draw(t, "flips") {
		if b := rapid.IntRange(0, bits-1).Draw(t, "bit"); b < 64 {
			f.Lo ^= 1 << b
		} else {
			f.Hi ^= 1 << (b - 64)
		}
	}
	if bits == 32 {
		f.Lo &= 1<<32 - 1
	}
	return f
}

func drawRule(t *rapid.T) Rule {
	k := rapid.IntRange(0, 8).Draw(t, "k")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return Rule{K: k}
	case 1, 2:
		return Rule{K: k + rapid.IntRange(0, 4).Draw(t, "more"), Verified: true, ByLength: true}
	}
	return Rule{
		K: k, Verified: true, Bands: rapid.IntRange(0, 3).Draw(t, "bands") > 0, ShortTexts: rapid.IntRange(0, 3).Draw(t, "short texts") > 0,
		Rules: rapid.SampledFrom([]sketch.Rules{sketch.Balanced(), sketch.Thorough(), {}, {Containment: 0.5}}).Draw(t, "rules"),
	}
}

// drawDocument draws one of few fingerprints, sketches and short texts, so that
// documents come together, alike and unlike, in every way.
func drawDocument(t *rapid.T, bits int) data.View {
	f := drawFingerprint(t, bits)
	v := data.View{
		Hi: f.Hi, Lo: f.Lo,
		Length: rapid.SampledFrom([]uint32{50, 1000, 0, 200, 499, 500}).Draw(t, "length"),
		Normal: rapid.IntRange(0, 3).Draw(t, "length_class") > 0,
	}
	if rapid.IntRange(0, 9).Draw(t, "empty") > 0 {
		v.Sketch[39] = 1
		for i := range rapid.IntRange(0, 30).Draw(t, "unlike") { // 8 bits of the 320 each
			v.Sketch[i] = 0xff
		}
		for b := range sketch.Bands {
			v.Sketch[40+3*b] = byte(rapid.IntRange(0, 3).Draw(t, "band"))
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "short") == 0 {
		v.Letters = []byte(rapid.SampledFrom([]string{"新闻头条今天", "新闻头条明天", "新闻头条今天早上好", "第1页第2页第3页", "第1页第2页第4页", "ab",
			longText, longText[:90] + "x" + longText[91:], longText[5:], "x" + longText[1:10] + longText[11:], longText[100:]}).Draw(t, "letters"))
	}
	if !few(&v, &v) && rapid.Bool().Draw(t, "sampled") {
		v.Sample = drawSample(t)
	}
	return v
}

// drawSample draws a sample of few keys of all levels.
func drawSample(t *rapid.T) (sample []byte) {
	for level := range 8 {
		key := uint32(1) << (31 - level)
		for range 2 {
			if rapid.IntRange(0, 2).Draw(t, "has") > 0 {
				key++
			}
		}
		sample = append(sample, binary.LittleEndian.AppendUint32(nil, key)...)
	}
	for i := len(sample) - 4; i > 0; i -= 4 { // ascending
		for j := 0; j < i; j += 4 {
			if binary.LittleEndian.Uint32(sample[j:]) > binary.LittleEndian.Uint32(sample[i:]) {
				a, b := [4]byte(sample[i:]), [4]byte(sample[j:])
				copy(sample[i:], b[:])
				copy(sample[j:], a[:])
			}
		}
	}
	return sample
}

// drawUnits draws documents of which no two are equal; without verification
// they are nothing but fingerprints of normal length.
func drawUnits(t *rapid.T, bits int, verified bool) (units []data.View) {
	for _, v := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) data.View { return drawDocument(t, bits) }), 0, 30).Draw(t, "documents") {
		if !verified {
			v = data.View{Hi: v.Hi, Lo: v.Lo, Normal: true}
		}
		if !slices.ContainsFunc(units, func(u data.View) bool { return u.Equal(&v) }) {
			units = append(units, v)
		}
	}
	return units
}

func viewer(views []data.View) func(uint64, *data.View) error {
	return func(doc uint64, v *data.View) error {
		*v = views[doc]
		return nil
	}
}

func TestFingerprinterMakesViews(t *testing.T) {
	analyzer, err := simhash.New(simhash.Options{Bits: 64, Kind: simhash.KindNGrams, N: 2, Weight: simhash.WeightTF, Stop: simhash.StopNone, MinFeatures: 16})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFingerprinter(analyzer.NewWorkspace(), true, nil)
	var row data.FingerprintRow
	var v data.View
	f.Fingerprint(&data.Document{ID: []byte("a"), Text: []byte("Ｎews，头条 2026!")}, "in", &row)
	View(&row, &v)
	if string(row.Letters) != "news头条2026" || len(row.Sketch) != data.SketchSize || v.Sketch == [data.SketchSize]byte{} || v.Normal {
		t.Fatalf("got %+v, view %+v", row, v)
	}
	var maker sketch.Maker
	var want sketch.Sketch
	long := strings.Repeat("一个超过一百六十个字的文本不是短文本因此没有字母而只有草图这样的文本要靠指纹和草图的各个带来相遇再由草图来确认它们是否相同", 3)
	maker.Sketch(&want, []byte(long))
	f.Fingerprint(&data.Document{ID: []byte("b"), Text: []byte(long)}, "in", &row)
	View(&row, &v)
	if len(row.Letters) > 0 || v.Sketch != [data.SketchSize]byte(want) || !v.Normal {
		t.Fatalf("got %+v, view %+v", row, v)
	}
	f.Fingerprint(&data.Document{ID: []byte("c"), Text: []byte("?!")}, "in", &row)
	if len(row.Letters) > 0 || len(row.Sketch) > 0 {
		t.Fatalf("got %+v", row)
	}
	headline := "短新闻的标题\n以及摘要\n"
	short := data.Document{ID: []byte("d"), Text: []byte(headline + long), Body: len(headline)}
	f.Fingerprint(&data.Document{ID: []byte("d"), Text: []byte(long)}, "in", &row)
	body := row
	body.Sketch = bytes.Clone(row.Sketch)
	if f.Fingerprint(&short, "in", &row); !reflect.DeepEqual(row, body) || string(f.Text(&short)) != long {
		t.Fatalf("title and summary are compared: got %+v, want %+v", row, body)
	}
	NewFingerprinter(analyzer.NewWorkspace(), false, nil).Fingerprint(&data.Document{ID: []byte("a"), Text: []byte(long)}, "in", &row)
	if len(row.Sketch) > 0 {
		t.Fatalf("a sketch that nobody asked for: %+v", row)
	}
}

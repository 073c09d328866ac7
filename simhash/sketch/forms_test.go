package sketch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// formsOf counts the forms of texts, each of a turn by a counter of its own.
func formsOf(t testing.TB, turns ...[]string) *Forms {
	t.Helper()
	all := NewFormCounter()
	for _, texts := range turns {
		c := NewFormCounter()
		for _, text := range texts {
			c.Add([]byte(text))
		}
		b, err := c.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := all.Merge(b); err != nil {
			t.Fatal(err)
		}
	}
	return all.Forms()
}

func apart(f *Forms, a, b string) bool { return f.Apart([]rune(a), []rune(b)) }

func TestForms(t *testing.T) {
	poems := []string{"含有山字的古诗词", "含有舟字的古诗词", "含有树字的古诗词", "带有红字的古诗词"}
	cities := []string{"郑州疫情防控", "徐州疫情防控", "济宁疫情防控", "南宁疫情防控"}
	numbers := []string{"如何评价漫画一人之下第693话的剧情", "如何评价漫画一人之下第694话的剧情", "如何评价漫画一人之下第695话的剧情"}
	wordings := []string{"没有和自己喜欢的人在一起有多遗憾", "没有和自己喜欢的人在一起到底有多遗憾", "和领导在一起怎么办", "和领导在一起怎么破"}
	phrases := []string{"经历一个又因为一个技术突破时", "经历一个又但是一个技术突破时", "经历一个又如果只是一个技术突破时", "经历一个又因为公司当一个技术突破时", "经历一个又它至少一个技术突破时"}
	f := formsOf(t, slices.Concat(poems, cities, numbers, wordings, phrases))
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{poems[0], poems[1], true},
		{poems[0], poems[3], true},             // with a wider slot
		{"第几集的古诗词", "第几回的故事", false},           // two slots
		{cities[0], cities[1], true},           // but for 郑 and 徐: the slot is wider than what differs
		{"青岛疫情防控", cities[2], true},            // a text that was not counted
		{cities[0], cities[0], false},          // equal
		{numbers[0], numbers[1], false},        // digits are no slot
		{wordings[0], wordings[1], false},      // two texts are no form
		{wordings[2], wordings[3], false},      // nor these
		{"含有山字的古诗词", "含有字的古诗词", true},          // nothing in the slot
		{"含有山字的古诗词", "含有山字的古诗", false},         // elsewhere
		{phrases[0], phrases[3], true},         // what the slot has more begins as the other
		{phrases[1], phrases[2], true},         // what stands in the slots ends alike
		{phrases[0], "经历一个又因为啊一个技术突破时", false}, // a letter more is a wording
		{"", "", false}, {"山", "", false},      // nothing to say
		{poems[0], strings.Repeat("山", 160), false}, // nothing in common
	} {
		if got := apart(f, test.a, test.b); got != test.want {
			t.Errorf("%q and %q apart: %t, want %t", test.a, test.b, got, test.want)
		}
		if apart(f, test.a, test.b) != apart(f, test.b, test.a) {
			t.Errorf("%q and %q: the order decides", test.a, test.b)
		}
	}
	var none *Forms
	if apart(none, poems[0], poems[1]) || apart(new(Forms), poems[0], poems[1]) || none.Len() != 0 {
		t.Error("no forms know one")
	}
}

// Texts that come again, in one turn or in several, are one text; the texts of a
// form may be spread over turns, as long as two of them come in one.
func TestFormsOfTurns(t *testing.T) {
	texts := []string{"含有山字的古诗词", "含有舟字的古诗词", "含有树字的古诗词"}
	again := formsOf(t, slices.Concat(texts[:2], texts[:2]), texts[:2], texts[1:2])
	if again.Len() != 0 {
		t.Errorf("%d forms of two texts", again.Len())
	}
	once := formsOf(t, texts)
	for _, turns := range [][][]string{{texts[:2], texts[1:]}, {texts[1:], texts[:2]}, {texts[:2], texts}} {
		if spread := formsOf(t, turns...); once.Len() == 0 || !slices.Equal(spread.frames, once.frames) {
			t.Errorf("%d forms of texts that were counted in turns, %d of all at once", spread.Len(), once.Len())
		}
	}
}

// A text of more letters has fewer frames counted; its form is found all the same.
func TestFormsOfLongerTexts(t *testing.T) {
	for _, length := range []int{38, 42, 61, 100, 150} {
		for at := 0; at <= length; at += 7 {
			var texts []string
			frame := []rune(strings.Repeat("天地玄黄宇宙洪荒日月盈昃辰宿列张", 10))[:length]
			for _, slot := range []string{"南京", "乌鲁木齐", "石家庄", "平顶山市"} {
				texts = append(texts, string(frame[:at])+slot+string(frame[at:]))
			}
			f := formsOf(t, texts)
			for _, other := range texts[1:] {
				if !apart(f, texts[0], other) {
					t.Errorf("%q and %q are of one form", texts[0], other)
				}
			}
		}
	}
}

// The forms of a few texts are those that the definition says, read word for word.
func TestFormsAgainstDefinition(t *testing.T) {
	short := rapid.StringOfN(rapid.SampledFrom([]rune("ab大1")), 1, 9, -1)
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(short, 1, 30).Draw(t, "texts")
		count := map[string]map[string]bool{}
		for _, text := range texts {
			letters := []rune(text)
			for head := range letters {
				for tail := 0; head+tail < len(letters); tail++ {
					slot := string(letters[head : len(letters)-tail])
					if len([]rune(slot)) > slotMost(len(letters)) {
						continue
					}
					if !strings.ContainsFunc(slot, func(r rune) bool { return !unicode.IsDigit(r) }) {
						slot = "1"
					}
					frame := string(letters[:head]) + "|" + string(letters[len(letters)-tail:])
					if count[frame] == nil {
						count[frame] = map[string]bool{}
					}
					count[frame][slot] = true
				}
			}
		}
		want := 0
		for _, slots := range count {
			if len(slots) >= formTexts {
				want++
			}
		}
		c := NewFormCounter()
		for _, text := range texts {
			c.Add([]byte(text))
		}
		if got := c.Forms().Len(); got != want {
			t.Fatalf("%d forms, want %d", got, want)
		}
	})
}

// What is counted is bounded, in the table and beyond, and what is beyond the
// bounds does not depend on the order.
func TestFormsAreBounded(t *testing.T) {
	var texts []string
	for i := range 400 {
		for j := range 5 {
			texts = append(texts, fmt.Sprintf("%c%c第几回的故事%c", 0x4e00+i, 0x5e00+7*i, 0x6e00+j))
		}
	}
	count := func(texts []string, most int) *FormCounter {
		c := NewFormCounter()
		c.most = most
		for _, text := range texts {
			c.Add([]byte(text))
		}
		c.endStretch()
		return c
	}
	all := count(texts, 1<<20).Forms()
	if all.Len() < 400 {
		t.Fatalf("%d forms, want at least 400", all.Len())
	}
	few := count(texts, 500)
	if len(few.shared) > 500 || few.Forms().Len() == 0 {
		t.Errorf("%d frames that are shared, %d forms", len(few.shared), few.Forms().Len())
	}
	slices.Reverse(texts)
	if back := count(texts, 500); !slices.Equal(back.Forms().frames, few.Forms().frames) {
		t.Error("the order decides which forms there are room for")
	}
}

func TestFormsBinary(t *testing.T) {
	f := formsOf(t, []string{"含有山字的古诗词", "含有舟字的古诗词", "含有树字的古诗词"})
	b, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Forms
	if err := back.UnmarshalBinary(b); err != nil || !slices.Equal(back.frames, f.frames) {
		t.Errorf("%d forms come back as %d: %v", f.Len(), back.Len(), err)
	}
	for name, b := range map[string][]byte{"cut": b[:len(b)-1], "in another order": append(slices.Clone(b[8:]), b[:8]...)} {
		if err := back.UnmarshalBinary(b); !errors.Is(err, errForms) || back.Len() != f.Len() {
			t.Errorf("%s: %v, %d forms", name, err, back.Len())
		}
	}
	if err := NewFormCounter().Merge(make([]byte, formBytes-1)); !errors.Is(err, errForms) {
		t.Errorf("a cut count: %v", err)
	}
}

func BenchmarkFormCounter(b *testing.B) {
	var texts [][]byte
	for i := range 20000 {
		texts = append(texts, fmt.Appendf(nil, "%c%c%c今天说了什么%c%c", 0x4e00+i%1000, 0x4e00+i%777, 0x4e00+i%1301, 0x4e00+i%511, 0x4e00+i%91))
	}
	for b.Loop() {
		c := NewFormCounter()
		for _, text := range texts {
			c.Add(text)
		}
		c.Forms()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(texts)), "ns/text")
}

// Of texts that share a frame each is near the other, whatever stands in its slot.
func TestFormFilterMissesNone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	letters := func(n int) []rune {
		text := make([]rune, n)
		for i := range text {
			text[i] = rune(0x4e00 + r.IntN(2000))
		}
		return text
	}
	draws := 2000
	if testing.Short() {
		draws = 200
	}
	for range draws {
		head, tail := letters(r.IntN(70)), letters(r.IntN(70))
		around := len(head) + len(tail)
		slot := func() string {
			n := 1 + r.IntN(16)
			for n > slotMost(around+n) {
				n--
			}
			return string(slices.Concat(head, letters(n), tail))
		}
		a, b := slot(), slot()
		var f FormFilter
		f.Add([]byte(a))
		if !f.Near([]byte(b)) {
			t.Fatalf("%q is not near %q", b, a)
		}
	}
	var f FormFilter
	if f.Knows() || f.Near([]byte("含有山字的古诗词")) {
		t.Error("a filter that knows nothing")
	}
	if f.Add([]byte("含有“山”字的古诗词有哪些")); f.Near([]byte("郑州今天下大雨了吗")) {
		t.Error("texts that share neither beginning nor end are near")
	}
}
